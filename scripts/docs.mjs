// Writes docs/rules/ from the descriptions beside the rules: `node scripts/docs.mjs`, or `--check` to see whether it is current.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import esbuild from 'esbuild';

const folder = 'docs/rules';
const work = mkdtempSync(join(tmpdir(), 'parallelism-layout-docs-'));
const bundle = join(work, 'layout.mjs');
await esbuild.build({
  entryPoints: ['layout/index.ts'],
  bundle: true,
  format: 'esm',
  platform: 'browser',
  outfile: bundle,
});
const { RULES, ruleMarkdown, rulesMarkdown } = await import(pathToFileURL(bundle).href);
rmSync(work, { recursive: true });

const pages = new Map([
  ['README.md', rulesMarkdown(RULES)],
  ...RULES.map((rule) => [`${rule.code}.md`, ruleMarkdown(rule)]),
]);
mkdirSync(folder, { recursive: true });
if (process.argv.includes('--check')) {
  const stale = [...pages].filter(
    ([name, text]) => !readdirSync(folder).includes(name) || readFileSync(join(folder, name), 'utf8') !== text,
  );
  const orphans = readdirSync(folder).filter((name) => !pages.has(name));
  if (stale.length + orphans.length > 0) {
    console.error(
      `docs/rules is not current: ${[...stale.map(([name]) => name), ...orphans].join(', ')}. Run \`npm run docs\`.`,
    );
    process.exitCode = 1;
  }
} else {
  for (const name of readdirSync(folder).filter((name) => !pages.has(name))) {
    rmSync(join(folder, name));
  }
  for (const [name, text] of pages) {
    writeFileSync(join(folder, name), text);
  }
}
