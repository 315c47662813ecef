import { check } from '../check';
import { RULES } from '../rules/registry';
import { processGroups } from '../topology/processGroups';
import type { CorePin, Framework, World, WorldDegree } from './framework';
import { FRAMEWORKS } from './index';

/** The name of a framework's page: its name, and its engine where it has several. */
export function frameworkPageName({ name, engine }: Framework): string {
  return engine ? `${name}-${engine}` : name;
}

/** What a launch file of a framework's own repository is imported as, with its pictures. */
export interface OwnExample {
  /** The layout, with the place of the file in a comment before it. */
  readonly text: string;
  /** What each picture shows, by its path from the page. */
  readonly pictures: ReadonlyMap<string, string>;
}

/**
 * The pages of all frameworks, by their file names in `docs/frameworks/`.
 * @param examples by the names of pages; none for those whose repositories have no complete launch file
 */
export function frameworkPages(examples: ReadonlyMap<string, OwnExample> = new Map()): ReadonlyMap<string, string> {
  return new Map([
    ['README.md', indexMarkdown()],
    ...FRAMEWORKS.map((one) => {
      const name = frameworkPageName(one);
      return [`${name}.md`, frameworkMarkdown(one, examples.get(name))] as const;
    }),
  ]);
}

function indexMarkdown(): string {
  const rows = FRAMEWORKS.map(
    (one) =>
      `| [${heading(one)}](${frameworkPageName(one)}.md) | \`${launchText(one)}\` | ${one.meshes.length > 0 ? 'its own' : "Megatron Core's"} | ${one.rules.own.length} |`,
  );
  return `# Frameworks

What holds for the jobs of each framework, by \`launch.family\` and \`launch.engine\` of a layout. \`parallelism-layout import\` writes both.
Each page is built from the description in \`layout/frameworks/\`. A layout without \`launch.family\`, or with one that is not listed, is one of
Megatron-LM's own training script.

| framework | \`launch\` | process groups | rules of its own |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

function heading({ title, engine }: Framework): string {
  return engine === undefined || engine === 'deepspeed' ? title : `${title} on ${ENGINE_TITLES[engine]}`;
}

const ENGINE_TITLES = {
  megatron: 'Megatron Core',
  fsdp: 'torch FSDP',
  deepspeed: 'DeepSpeed',
  transformers: 'transformers',
  torchtitan: 'torchtitan',
} as const;

function launchText({ name, engine }: Framework): string {
  return `{family: ${name}${engine ? `, engine: ${engine}` : ''}}`;
}

function frameworkMarkdown(framework: Framework, own: OwnExample | undefined): string {
  const { revision, source, reads, world, notes = [], example } = framework;
  return [
    `# ${heading(framework)}`,
    `What holds for a layout with \`launch: ${launchText(framework)}\`, read in [${source}](https://github.com/${source}) at \`${revision}\`.`,
    '## What is read',
    reads,
    ...(world ? ['## The world', worldMarkdown(world)] : []),
    ...(framework.core ? ['## Megatron Core', coreMarkdown(framework.core)] : []),
    '## Process groups',
    groupsMarkdownOf(framework),
    '## Rules',
    rulesMarkdownOf(framework),
    ...(notes.length > 0 ? ['## What nothing refuses', notes.map((note) => `- ${note}`).join('\n')] : []),
    '## An example',
    exampleMarkdown(example),
    ...(own ? ['## From its own repository', ownMarkdown(own)] : []),
  ]
    .join('\n\n')
    .concat('\n');
}

/** What a framework comes with; a job of another version says it. */
function coreMarkdown({ version, source }: CorePin): string {
  return `At this revision it comes with \`${version}\` (${source}). Write \`megatron:\` for the rules of the version that a job runs.`;
}

function worldMarkdown({ degrees, over = [], experts }: World): string {
  const row = (degree: WorldDegree) =>
    `| \`${degree.name}\` | \`${degree.key}\` | ${degree.unwritten === 'rest' ? 'what the others leave' : degree.unwritten} |`;
  const beside = [...over.map(({ name }) => `\`${name}\``)];
  return [
    `\`${degrees.map(({ name }) => name).join(' * ')}\` is \`world_size\`.`,
    '| degree | key | where it is not written |\n| --- | --- | --- |',
  ]
    .join('\n\n')
    .concat(
      `\n${[...degrees, ...over].map(row).join('\n')}`,
      beside.length > 0 ? `\n\n${beside.join(' and ')} is laid over the same ranks and does not count.` : '',
      experts && experts.axes.length > 0 ? ` \`ep\` divides \`${experts.axes.join(' * ')}\`.` : '',
    );
}

function groupsMarkdownOf({ meshes }: Framework): string {
  if (meshes.length === 0) {
    return 'Those of Megatron Core: see [process groups](../groups.md).';
  }
  return meshes
    .map(
      ({ axes, groups }) =>
        `Over the ranks factored into ${axes.map(([name]) => `\`${name}\``).join(', ')}, the fastest first:\n\n| group | spans | carries |\n| --- | --- | --- |\n${groups.map(({ name, axes: spans = [name], carries }) => `| \`${name}\` | ${spans.join(', ')} | ${carries} |`).join('\n')}`,
    )
    .join('\n\n');
}

/** How much of Megatron-LM's rules holds, in a sentence. */
const MEGATRON = {
  script: "All rules of Megatron-LM hold: the job runs its training script's arguments.",
  core: "The rules of Megatron Core hold, and not those of its training script's parser.",
  none: 'No rule of Megatron-LM holds, but for those about files, machines and phases.',
} as const;

function rulesMarkdownOf({ rules }: Framework): string {
  const own = RULES.filter(({ code }) => rules.own.includes(code));
  const codes = (names: readonly string[]) => names.map((name) => `[${name}](../rules/${name}.md)`).join(', ');
  return [
    own.map(({ code, title }) => `- [${code}](../rules/${code}.md): ${title}`).join('\n'),
    MEGATRON[rules.megatron],
    rules.except ? `Except ${codes(rules.except)}.` : '',
    rules.also ? `Beside them ${codes(rules.also)}.` : '',
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** A picture of it stands behind each example, so that what spans what is seen. */
function ownMarkdown({ text, pictures }: OwnExample): string {
  const images = [...pictures].map(([path, what]) => `![${what}](${path})`);
  return [`\`parallelism-layout import\` makes of it:`, exampleMarkdown(text), ...images].join('\n\n');
}

/** The most groups of a family that an example shows. */
const MAX_GROUPS = 4;

function exampleMarkdown(text: string): string {
  const { resolved } = check(text);
  const families = (resolved ? processGroups(resolved) : []).filter(({ size }) => size > 1).slice(0, 8);
  const lines = families.map((family) => {
    const groups = Array.from(
      { length: Math.min(family.count, MAX_GROUPS) },
      (_, i) => `[${family.ranks(i).join(' ')}]`,
    );
    return `${family.name.padEnd(14)} ${groups.join(' ')}${family.count > MAX_GROUPS ? ` and ${family.count - MAX_GROUPS} more` : ''}`;
  });
  return `\`\`\`yaml\n${text.trimEnd()}\n\`\`\`\n\n\`parallelism-layout groups\` lists, of more than one rank:\n\n\`\`\`text\n${lines.join('\n')}\n\`\`\``;
}
