// Writes what is made of descriptions in the code: docs/rules/ of those beside the rules, schemas/layout.schema.json of that of
// the keys, the tables of settings and of the environment, the picture of the walkthrough. `node scripts/docs.mjs`, or `--check` to see whether they are current.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importSource } from './source.mts';

const folder = 'docs/rules';
const { formatMarkdown, frameworkPages, groupsMarkdown, layoutSchema, RULES, ruleMarkdown, rulesMarkdown } =
  await importSource('layout/index.ts');

const pages = new Map([
  ['README.md', rulesMarkdown(RULES)],
  ...RULES.map((rule) => [`${rule.code}.md`, ruleMarkdown(rule)]),
]);
/** The settings of the extension as a table: names, defaults, and what its manifest says of them. */
function settingsTable() {
  const { properties } = JSON.parse(readFileSync('package.json', 'utf8')).contributes.configuration;
  const texts = JSON.parse(readFileSync('package.nls.json', 'utf8'));
  const rows = Object.entries(properties).map(
    ([name, { markdownDescription = '', description = '', default: value }]) => {
      const text = markdownDescription || description;
      // the manifest names a text of package.nls.json, and other settings between #
      const said = (/^%.*%$/.test(text) ? texts[text.slice(1, -1)] : text).replaceAll(/`#([\w.]+)#`/g, '`$1`');
      return `| \`${name}\` | \`${JSON.stringify(value)}\` | ${said.replaceAll('|', '\\|')} |`;
    },
  );
  return ['| setting | default | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

/** What a run records, as a table: the variables of the environment, and what `export --record` sets. */
async function environmentTable() {
  const { RECORDING_VARIABLES } = await importSource('layout/launch/record.ts');
  const rows = RECORDING_VARIABLES.map(({ names: [name, older], value, meaning }) => {
    const known = older === undefined ? `\`${name}\`` : `\`${name}\`; before torch 2.9 \`${older}\``;
    return `| ${known} | ${meaning} | ${value === undefined ? '' : `\`${value}\``} |`;
  });
  return ['| variable | meaning | `--record` sets |', '| --- | --- | --- |', ...rows].join('\n');
}

/** A page by hand with the part between two comments written anew. */
function withPart(path, name, part) {
  const text = readFileSync(path, 'utf8');
  const marks = new RegExp(`(<!-- ${name}: [^\\n]* -->\\n)[^]*(<!-- end of ${name} -->)`);
  return text.replace(marks, (_, start, end) => `${start}\n${part}\n\n${end}`);
}

/** A picture of a layout, as the rank grid and the command line draw it. */
async function picture(text, view, title) {
  const [{ understand }, { drawingOf, USUAL_CHOICE }, { stageLayers }, { svgOf }] = await Promise.all(
    ['layout/index.ts', 'picture/drawing.ts', 'picture/stageLayers.ts', 'picture/svg.ts'].map(importSource),
  );
  const { facts, resolved: layout } = understand(text);
  const drawing = drawingOf(layout, view, USUAL_CHOICE, { stages: stageLayers(facts), flows: [] });
  return svgOf({ ...drawing, layout, name: title ?? layout.name, failed: [] });
}

/** A picture of the phases of a reinforcement-learning job. */
async function phasesPicture(text, name) {
  const [{ understand }, { subject }, { outlineOf, worldDiagram, worldSentence }, { DIAGRAM_WIDTH, diagramSvg }] =
    await Promise.all(
      ['layout/index.ts', 'picture/headline.ts', 'picture/worldDiagram.ts', 'picture/svg.ts'].map(importSource),
    );
  const { facts, resolved: layout } = understand(text);
  const outline = outlineOf(facts);
  const headline = { title: worldSentence(outline), sub: subject(layout) };
  return diagramSvg({ name, headline, diagram: worldDiagram(outline, DIAGRAM_WIDTH) });
}

/** The pages of frameworks, and the pictures of what their own launch files are imported as. */
async function frameworkFiles() {
  const folder = 'docs/frameworks';
  const examples = new Map();
  const pictures = new Map();
  for (const file of readdirSync(join(folder, 'examples'))) {
    const name = file.replace('.layout.yaml', '');
    const text = readFileSync(join(folder, 'examples', file), 'utf8');
    const shown = new Map([[`pictures/${name}-groups.svg`, 'Its process groups']]);
    pictures.set(join(folder, `pictures/${name}-groups.svg`), await picture(text, 'groups', name));
    if (/^phases:/m.test(text)) {
      shown.set(`pictures/${name}-phases.svg`, 'Its phases');
      pictures.set(join(folder, `pictures/${name}-phases.svg`), await phasesPicture(text, name));
    }
    examples.set(name, { text, pictures: shown });
  }
  return [...[...frameworkPages(examples)].map(([name, text]) => [join(folder, name), text]), ...pictures];
}

const files = new Map([
  ...[...pages].map(([name, text]) => [join(folder, name), text]),
  ...(await frameworkFiles()),
  ['docs/format.md', formatMarkdown()],
  ['docs/groups.md', groupsMarkdown()],
  ['docs/vscode.md', withPart('docs/vscode.md', 'settings', settingsTable())],
  ['docs/verify.md', withPart('docs/verify.md', 'environment', await environmentTable())],
  ['media/walkthrough/grid.svg', await picture(readFileSync('examples/moe-64gpu.layout.yaml', 'utf8'), 'physical')],
  ['schemas/layout.schema.json', `${JSON.stringify(layoutSchema(), null, 2)}\n`],
]);
mkdirSync(folder, { recursive: true });
mkdirSync('docs/frameworks/pictures', { recursive: true });
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
