import type { Command } from 'commander';
import {
  type Checked,
  countOf,
  type Diagnostic,
  type GroupFamily,
  grouped,
  hasErrors,
  isBridge,
  meshGroups,
  type Node,
  nearest,
  processGroups,
  type ResolvedLayout,
  type Span,
  terminalLine,
} from '../layout';
import { costOf } from '../picture/cost';
import { byExchange, exchangedIn, type Flow, sentText, traffic } from '../picture/flows';
import { kindsOf, type NamedFamily } from '../picture/rankDetails';
import { reachOf } from '../picture/reach';
import { type InputFile, outputOfFiles, soundLayout } from './files';
import { type Format, layoutFilesCommand, wholeNumber } from './options';
import { EXIT, fail, print, refusesToList, type Streamed } from './output';
import type { OutputItem } from './outputSchemas';
import { table } from './table';

interface Options {
  readonly format: Format;
  readonly group?: string;
  readonly rank?: number;
  readonly ranks?: true;
  readonly all?: true;
}

const HELP = `
Text is a line for each kind of group, under all names that have the same ranks: how many there are, how many ranks each
has, how many have ranks on several nodes, and what a rank sends in a step under all of these names, where the file says
enough; the kinds that send most come first. JSON has the ranks of every group, in creation order.

Exit status: 0 listed, 1 the layout has errors, 2 a file, group or rank cannot be used.

Examples:
  parallelism-layout groups train.layout.yaml
  parallelism-layout groups train.layout.yaml --rank 9
  parallelism-layout groups train.layout.yaml --group dp_cp`;

/** Adds `groups`: every process group of every file, in the order in which Megatron-LM creates them. */
export function addGroupsCommand(program: Command): void {
  layoutFilesCommand(program, 'groups', 'list the process groups of layout files, in creation order')
    .option('--group <name>', 'list the groups of this name, such as tp or dp_cp')
    .option('--rank <rank>', 'list the groups that hold this global rank', wholeNumber(0))
    .option('--ranks', 'list the ranks of every group; JSON always has them')
    .option('--all', 'groups of one rank too; JSON always has them')
    .addHelpText('after', HELP)
    .action((files: string[], options: Options) =>
      print(
        outputOfFiles(
          files,
          options.format,
          (input) => groupsOutput(input, options),
          (input) => fileText(input, options),
        ),
      ),
    );
}

/** Whether the ranks of groups are printed: of all where that is asked for, and of those that are chosen by name or rank. */
const listsRanks = ({ format, group, rank, ranks }: Options): boolean =>
  format !== 'text' || group !== undefined || rank !== undefined || ranks === true;

/** The layout whose groups the text output lists. Errors of the model, the batch or the sequences do not hide it; a note says so. */
function readableLayout(input: InputFile): ResolvedLayout | null {
  if ('error' in input) {
    return null;
  }
  const { diagnostics, facts, resolved } = input.checked;
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (errors.length > 0 && facts && resolved && errors.every((error) => isApart(error, input.checked))) {
    fail(
      `${input.file}: 'parallelism-layout check' shows errors that do not change the process groups below`,
      EXIT.findings,
    );
    return resolved;
  }
  return soundLayout(input)?.resolved ?? null;
}

/** Sections that no process group depends on. */
const APART: ReadonlySet<string> = new Set(['model', 'batch', 'sequence']);

/** Whether a diagnostic involves a value of the model, the batch or the sequences. */
function isApart({ span, related }: Diagnostic, { read }: Checked): boolean {
  const maps = apartSpans(read.tree.root);
  return [span, ...related.map((place) => place.span)].some(({ start }) =>
    maps.some((map) => start >= map.start && start < map.end),
  );
}

/** The spans of the sections `model`, `batch` and `sequence` of the file and of its modules. */
function apartSpans(node: Node | null): Span[] {
  return node?.kind !== 'map'
    ? []
    : node.entries.flatMap(({ key, value, keySpan }) => {
        if (APART.has(key)) {
          return [{ start: keySpan.start, end: value.span.end }];
        }
        return key === 'modules' && value.kind === 'map'
          ? value.entries.flatMap((entry) => apartSpans(entry.value))
          : [];
      });
}

/** The layout of a file and the selected groups; null, with the reason on standard error, where there are none. */
function selected(input: InputFile, options: Options): { layout: ResolvedLayout; families: GroupFamily[] } | null {
  const { file } = input;
  const layout = options.format === 'text' ? readableLayout(input) : (soundLayout(input)?.resolved ?? null);
  if (!layout || refusesToList(file, layout.worldSize)) {
    return null;
  }
  const all = [...processGroups(layout), ...meshGroups(layout)];
  const named = all.filter(({ name }) => options.group === undefined || name === options.group);
  if (named.length === 0 && options.group !== undefined) {
    const names = [...new Set(all.map(({ name }) => name))];
    const near = nearest(options.group, names);
    return fail(
      `${file}: there is no process group '${options.group}'; ${near ? `did you mean ${near}?` : `this layout has ${names.join(', ')}`}`,
    );
  }
  if (options.rank !== undefined && options.rank >= layout.worldSize) {
    return fail(`${file}: there is no rank ${options.rank}; ranks go from 0 to ${layout.worldSize - 1}`);
  }
  const { rank } = options;
  if (rank === undefined) {
    return listsRanks(options) && refusesMembers(file, named) ? null : { layout, families: named };
  }
  return { layout, families: named.filter((family) => family.indicesOf(rank).length > 0) };
}

/** The largest total number of group members that is listed; all groups of the largest listed world have fewer. */
const MAX_MEMBERS = 2 ** 28;

/** Reports groups with too many members to list, such as those of thousands of modules on the same ranks. */
function refusesMembers(file: string, families: readonly GroupFamily[]): boolean {
  const members = families.reduce((sum, { count, size }) => sum + count * size, 0);
  if (members > MAX_MEMBERS) {
    fail(
      `${file}: the groups have ${grouped(members)} members; at most ${grouped(MAX_MEMBERS)} are listed. Select some with --rank or --group`,
    );
  }
  return members > MAX_MEMBERS;
}

/** The rank lists of one family; with `rank`, only the lists that hold it. */
function lists(family: GroupFamily, rank: number | undefined): Iterable<Int32Array | readonly number[]> {
  return rank === undefined ? family.all() : family.indicesOf(rank).map((index) => family.ranks(index));
}

/** The process groups of one file as JSON. */
export function groupsOutput(input: InputFile, options: Options = { format: 'json' }): Streamed<OutputItem<'groups'>> {
  const found = selected(input, options);
  const flows = flowsOf(input);
  const groups = found?.families.map((family) => {
    const bytes = exchangedIn(flows, family.module, [family.name]);
    return {
      name: family.name,
      module: family.module,
      ...(isBridge(family) && { direction: family.direction, scale: family.scale }),
      ...(bytes > 0 && { bytes_per_step: Math.round(bytes) }),
      ranks: lists(family, options.rank),
    };
  });
  return {
    file: input.file,
    ok: found !== null,
    world_size: found?.layout.worldSize ?? null,
    groups: groups ?? [],
  };
}

function* fileText(input: InputFile, options: Options): Iterable<string> {
  const found = selected(input, options);
  if (!found) {
    return;
  }
  const { layout } = found;
  const isPlaced = 'checked' in input && input.checked.facts?.root.cluster.value?.gpus_per_node.value !== undefined;
  const nodes = isPlaced ? ` on ${countOf(layout.nodes, 'node')} of ${countOf(layout.gpusPerNode, 'GPU')}` : '';
  yield `${terminalLine(input.file)}: ${countOf(layout.worldSize, 'rank')}${nodes}\n`;
  const shown = found.families.filter(({ size }) => options.all || options.group !== undefined || size > 1);
  if (listsRanks(options)) {
    yield* listText(shown, options.rank);
  } else if (shown.length > 0) {
    const flows = flowsOf(input);
    const sent = sentText(flows);
    yield* table([
      ['group', 'groups', 'ranks', ...(isPlaced ? ['cross nodes'] : []), ...(sent === '' ? [] : ['a rank sends'])],
      ...byExchange(merged(shown, layout), flows).map((kind) => [
        ...summary(kind, isPlaced ? layout.gpusPerNode : null),
        ...(sent === '' ? [] : [kind.bytes > 0 ? traffic(kind.bytes) : '']),
      ]),
    ]);
    yield sent === '' ? '' : `  a rank sends ${sent} in a step\n\n`;
  }
  const others = [...new Set(found.families.filter((family) => !shown.includes(family)).map(({ name }) => name))];
  if (others.length > 0) {
    yield `groups of one rank: ${others.map(terminalLine).join(', ')}; --all lists them\n`;
  }
}

/** What a rank sends in a step, where the file says enough and has no errors. */
const flowsOf = (input: InputFile): readonly Flow[] =>
  'checked' in input && input.checked.facts && !hasErrors(input.checked)
    ? (costOf(input.checked.facts).cost?.flows ?? [])
    : [];

/** Kinds of groups that have the same ranks as one, in the order of the first of each. */
function merged(families: readonly GroupFamily[], layout: ResolvedLayout): NamedFamily[] {
  const keyOf = (module: string | null, name: string) => JSON.stringify([module, name]);
  const known = new Map(
    kindsOf(layout).flatMap((kind) => kind.names.map((name) => [keyOf(kind.module, name), kind] as const)),
  );
  const kinds = families.map((family) => {
    const { module, name } = family;
    return known.get(keyOf(module, name)) ?? { module, names: [name], family };
  });
  return [...new Set(kinds)];
}

function* listText(families: readonly GroupFamily[], rank: number | undefined): Iterable<string> {
  for (const family of families) {
    const title = family.module === null ? family.name : `${family.name} of ${family.module}`;
    yield `${terminalLine(title)}: ${family.count} x ${family.size}\n`;
    for (const ranks of lists(family, rank)) {
      yield `  [${ranks.join(', ')}]\n`;
    }
  }
}

/**
 * The groups of one kind in one row: how many there are, the ranks of the largest, and how many cross nodes.
 * @param gpusPerNode null where it is not known
 */
function summary({ names, module, family }: NamedFamily, gpusPerNode: number | null): string[] {
  const reach = gpusPerNode === null ? [] : [reachOf(family, gpusPerNode)];
  const crossing = reach.map((one) => (one === null ? 'not known' : grouped(one.crossing)));
  const title = terminalLine(`${names.join(' = ')}${module === null ? '' : ` of ${module}`}`);
  return [title, grouped(family.count), grouped(family.size), ...crossing];
}
