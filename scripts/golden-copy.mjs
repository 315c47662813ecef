// Refreshes test/golden/data: from each golden file beside the project a spread of cases, up to a size that git holds well.
// usage: node scripts/golden-copy.mjs [../shared/golden]
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MAX_BYTES = 64 * 1024;
const MAX_CASE = 8 * 1024;
const from = process.argv[2] ?? '../shared/golden';
const to = 'test/golden/data';

mkdirSync(to, { recursive: true });
for (const name of readdirSync(from).filter((file) => file.endsWith('.jsonl'))) {
  const byTag = new Map();
  for (const line of readFileSync(join(from, name), 'utf8').trim().split('\n')) {
    const tag = JSON.parse(line).id.replace(/\d+/g, '');
    byTag.set(tag, [...(byTag.get(tag) ?? []), line]);
  }
  const kept = [];
  let bytes = 0;
  for (let round = 0; [...byTag.values()].some((lines) => lines.length > round); round++) {
    for (const lines of byTag.values()) {
      const line = lines[round];
      if (line && line.length < MAX_CASE && bytes + line.length < MAX_BYTES) {
        kept.push(line);
        bytes += line.length;
      }
    }
  }
  writeFileSync(join(to, name), `${kept.sort().join('\n')}\n`);
  console.log(`${name}: ${kept.length} cases, ${Math.round(bytes / 1024)} KB`);
}
