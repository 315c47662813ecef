// Keeps the texts that people see ready for translation: `node scripts/l10n.mjs`, or `--check` to see whether they are current.
// Texts of the manifest are written into package.json in English; this moves them to package.nls.json. Those of the code go from
// their `vscode.l10n.t` to l10n/bundle.l10n.json. The settings of clusters stay where `scripts/schemas.mjs` generates them; what
// the language server says is in English, as the errors of Megatron-LM are that it quotes.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getL10nJson } from '@vscode/l10n-dev';

const MANIFEST = 'package.json';
const MANIFEST_TEXTS = 'package.nls.json';
const CODE_TEXTS = 'l10n/bundle.l10n.json';

/** Keys of the manifest whose values people see. */
const SEEN = new Set([
  'title',
  'shortTitle',
  'category',
  'description',
  'markdownDescription',
  'enumDescriptions',
  'altText',
  'contents',
]);

/** Parts of the manifest that hold such keys, and the part where people see `name` too. */
const ROOTS = ['capabilities', 'contributes'];
const NAMED = /^contributes\.views\./;
const GENERATED = 'contributes.configuration.properties.parallelismLayout.clusters';

const manifest = JSON.parse(readFileSync(MANIFEST, 'utf8'));
const known = readTexts(MANIFEST_TEXTS);
const used = {};
for (const root of ROOTS) {
  walk(manifest[root], [root]);
}

const sources = readdirSync('client', { recursive: true })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => join('client', file))
  .sort();
const bundle = await getL10nJson(sources.map((file) => ({ extension: '.ts', contents: readFileSync(file, 'utf8') })));

const results = [
  [MANIFEST, manifest],
  [MANIFEST_TEXTS, used],
  [CODE_TEXTS, Object.fromEntries(Object.entries(bundle).sort(([a], [b]) => (a < b ? -1 : 1)))],
];
const texts = ([, value]) => `${JSON.stringify(value, null, 2)}\n`;
if (process.argv.includes('--check')) {
  const stale = results.filter((result) => JSON.stringify(readTexts(result[0])) !== JSON.stringify(result[1]));
  if (stale.length > 0) {
    console.error(`${stale.map(([file]) => file).join(', ')} is not current. Run \`npm run l10n\`.`);
    process.exitCode = 1;
  }
} else {
  mkdirSync('l10n', { recursive: true });
  for (const result of results) {
    writeFileSync(result[0], texts(result));
  }
}

/** Replaces every text below a value of the manifest by the name of its entry. */
function walk(value, path) {
  if (path.join('.') === GENERATED || typeof value !== 'object' || value === null) {
    return;
  }
  for (const [key, child] of Object.entries(value)) {
    const name = Array.isArray(value) ? (child?.command ?? child?.id ?? child?.type ?? key) : key;
    const here = [...path, name];
    const isSeen = SEEN.has(key) || (key === 'name' && NAMED.test(here.join('.')));
    if (isSeen && typeof child === 'string') {
      value[key] = reference(key === 'category' ? key : nameOf(here), child);
    } else if (isSeen && Array.isArray(child)) {
      value[key] = child.map((text, i) => reference(nameOf([...here, i]), text));
    } else {
      walk(child, here);
    }
  }
}

function nameOf(path) {
  return path
    .join('.')
    .replace(/^contributes\./, '')
    .replaceAll('parallelismLayout.', '');
}

/** The reference `%name%` of a text, which is noted; a reference already there keeps its text. */
function reference(name, text) {
  const written = /^%(.+)%$/.exec(text);
  used[name] = written ? known[written[1]] : text;
  if (used[name] === undefined) {
    throw new Error(`${MANIFEST} names ${text}, which ${MANIFEST_TEXTS} has not`);
  }
  return `%${name}%`;
}

function readTexts(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') {
      return {};
    }
    throw error;
  }
}
