import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type GroupFamily,
  hasErrors,
  isBridge,
  jsonText,
  meshGroups,
  nearest,
  processGroups,
  type ResolvedLayout,
  terminalLine,
} from '../layout';
import { type InputFile, inputFiles } from './files';
import { complain, EXIT, exitWith, print, refusesToList } from './output';

interface Options {
  readonly format: 'text' | 'json' | 'jsonl';
  readonly group?: string;
  readonly rank?: number;
}

/** Adds `groups`: every process group of every file, in the order in which Megatron-LM creates them. */
export function addGroupsCommand(program: Command): void {
  program
    .command('groups')
    .description('print the process groups that layout files ask for, in creation order')
    .argument('<file...>', 'layout files; - is standard input')
    .addOption(new Option('--format <format>', 'form of the output').choices(['text', 'json', 'jsonl']).default('text'))
    .option('--group <name>', 'only the groups of this name, such as tp or dp_cp')
    .option('--rank <rank>', 'only the groups that hold this global rank', parseRank)
    .action((files: string[], options: Options) => print(output(files, options)));
}

function parseRank(text: string): number {
  const rank = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(rank)) {
    throw new InvalidArgumentError('A rank is a whole number from 0.');
  }
  return rank;
}

function* output(files: readonly string[], options: Options): Iterable<string> {
  let first = true;
  if (options.format === 'json') {
    yield '[';
  }
  for (const input of inputFiles(files)) {
    if (options.format === 'json' && !first) {
      yield ',';
    }
    yield* options.format === 'text' ? fileText(input, options) : groupsJson(input, options);
    yield options.format === 'json' ? '' : '\n';
    first = false;
  }
  if (options.format === 'json') {
    yield ']\n';
  }
}

/** The layout of a file and the groups asked for; null, with the reason on standard error, where there are none. */
function selected(input: InputFile, options: Options): { layout: ResolvedLayout; families: GroupFamily[] } | null {
  if (!('checked' in input)) {
    return null;
  }
  const { file, checked } = input;
  if (hasErrors(checked) || !checked.resolved) {
    complain(`${file}: the layout has errors; \`parallelism-layout check\` shows them`);
    exitWith(EXIT.findings);
    return null;
  }
  const layout = checked.resolved;
  if (refusesToList(file, layout.worldSize)) {
    return null;
  }
  const all = [...processGroups(layout), ...meshGroups(layout)];
  const named = all.filter(({ name }) => options.group === undefined || name === options.group);
  if (named.length === 0 && options.group !== undefined) {
    const names = [...new Set(all.map(({ name }) => name))];
    const near = nearest(options.group, names);
    complain(
      `${file}: there is no process group \`${options.group}\`${near ? `; did you mean \`${near}\`?` : ''} Groups here: ${names.join(', ')}`,
    );
    exitWith(EXIT.unusable);
    return null;
  }
  if (options.rank !== undefined && options.rank >= layout.worldSize) {
    complain(`${file}: there is no rank ${options.rank} in a world of ${layout.worldSize}`);
    exitWith(EXIT.unusable);
    return null;
  }
  const { rank } = options;
  return { layout, families: rank === undefined ? named : named.filter((family) => family.indicesOf(rank).length > 0) };
}

/** The lists of one family, those of one rank only where one is asked for. */
function lists(family: GroupFamily, rank: number | undefined): Iterable<Int32Array | readonly number[]> {
  return rank === undefined ? family.all() : family.indicesOf(rank).map((index) => family.ranks(index));
}

/** The process groups of one file as JSON, in chunks. */
export function* groupsJson(input: InputFile, options: Options = { format: 'json' }): Iterable<string> {
  const found = selected(input, options);
  const head = { file: input.file, ok: found !== null, world_size: found?.layout.worldSize ?? null };
  yield `${jsonText(head).slice(0, -1)},"groups":[`;
  let firstFamily = true;
  for (const family of found?.families ?? []) {
    const named = { name: family.name, module: family.module, ...bridgeOf(family) };
    yield `${firstFamily ? '' : ','}${jsonText(named).slice(0, -1)},"ranks":[`;
    firstFamily = false;
    let firstList = true;
    for (const ranks of lists(family, options.rank)) {
      yield `${firstList ? '' : ','}[${ranks.join(',')}]`;
      firstList = false;
    }
    yield ']}';
  }
  yield ']}';
}

function* fileText(input: InputFile, options: Options): Iterable<string> {
  const found = selected(input, options);
  if (!found) {
    return;
  }
  yield `${terminalLine(input.file)}: ${found.layout.worldSize} ranks\n`;
  for (const family of found.families) {
    const of = family.module === null ? '' : ` of ${terminalLine(family.module)}`;
    yield `${terminalLine(family.name)}${of}: ${family.count} x ${family.size}\n`;
    for (const ranks of lists(family, options.rank)) {
      yield `  [${ranks.join(', ')}]\n`;
    }
  }
}

/** What a bridge says beside its groups. */
function bridgeOf(family: GroupFamily): object {
  return isBridge(family) ? { direction: family.direction, scale: family.scale } : {};
}
