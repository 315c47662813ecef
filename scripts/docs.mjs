// Writes what is made of descriptions in the code: docs/rules/ of those beside the rules, schemas/layout.schema.json of that of
// the keys. `node scripts/docs.mjs`, or `--check` to see whether they are current.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importSource } from './source.mts';

const folder = 'docs/rules';
const { formatMarkdown, groupsMarkdown, layoutSchema, RULES, ruleMarkdown, rulesMarkdown } =
  await importSource('layout/index.ts');

const pages = new Map([
  ['README.md', rulesMarkdown(RULES)],
  ...RULES.map((rule) => [`${rule.code}.md`, ruleMarkdown(rule)]),
]);
const files = new Map([
  ...[...pages].map(([name, text]) => [join(folder, name), text]),
  ['docs/format.md', formatMarkdown()],
  ['docs/groups.md', groupsMarkdown()],
  ['schemas/layout.schema.json', `${JSON.stringify(layoutSchema(), null, 2)}\n`],
]);
mkdirSync(folder, { recursive: true });
const orphans = readdirSync(folder)
  .filter((name) => !pages.has(name))
  .map((name) => join(folder, name));
if (process.argv.includes('--check')) {
  const stale = [...files].filter(([path, text]) => !existsSync(path) || readFileSync(path, 'utf8') !== text);
  if (stale.length + orphans.length > 0) {
    console.error(`Not current: ${[...stale.map(([path]) => path), ...orphans].join(', ')}. Run \`npm run docs\`.`);
    process.exitCode = 1;
  }
} else {
  for (const path of orphans) {
    rmSync(path);
  }
  for (const [path, text] of files) {
    writeFileSync(path, text);
  }
}
