import { type Command, Option } from 'commander';
import {
  CHECKPOINT_FORMATS,
  type CheckpointFormat,
  type CheckpointVerdict,
  checkpointVerdicts,
  countOf,
  grouped,
  jsonText,
  keyValues,
  markdownText,
  type ResolvedLayout,
  terminalLine,
} from '../layout';
import { type ModuleScore, moduleScores, type Score } from '../layout/cost';
import { changeKindsOf } from '../picture/changeColouring';
import { type Comparable, type Comparison, comparisonOf, valueText } from '../picture/comparison';
import { type Difference, differenceOf } from '../picture/difference';
import { drawingOf, USUAL_CHOICE } from '../picture/drawing';
import { svgOf } from '../picture/svg';
import { checkpointJson, checkpointMarkdown, checkpointText } from './checkpoint';
import { inputFiles, type SoundLayout, soundLayout } from './files';
import { formatOption } from './options';
import { orFailure, print, refusesToList, rounded } from './output';
import type { Output } from './outputSchemas';
import { aligned, table } from './table';

type Format = 'text' | 'json' | 'markdown' | 'svg';

interface Options {
  readonly format: Format;
  /** True where the option names no format. */
  readonly checkpoint?: CheckpointFormat | true;
}

const HELP = `
Exit status: 0 whether or not they differ, 1 a layout has errors, 2 a file cannot be used.

Examples:
  parallelism-layout compare before.layout.yaml after.layout.yaml
  parallelism-layout compare before.layout.yaml after.layout.yaml --checkpoint
  parallelism-layout compare before.layout.yaml after.layout.yaml --checkpoint torch`;

/** Adds `compare`: how two layouts differ in keys, cost and ranks. */
export function addCompareCommand(program: Command): void {
  program
    .command('compare')
    .description('show how two layouts differ: changed keys, memory, step time and traffic, and the ranks that move')
    .argument('<before>', 'a layout file; - is standard input')
    .argument('<after>', 'a layout file; - is standard input')
    .addOption(formatOption('text', 'json', 'markdown', 'svg'))
    .addOption(
      new Option(
        '--checkpoint [format]',
        'say what of a checkpoint of the first layout the second one can load; the format is the one that the first names',
      ).choices(CHECKPOINT_FORMATS),
    )
    .addHelpText('after', HELP)
    .action((before: string, after: string, { format, checkpoint }: Options) => {
      const found = compared(before, after, checkpoint);
      return print(orFailure(format, found ? FORMATS[format](found) : []));
    });
}

/** Two layouts, and how they differ. */
interface Compared extends Comparison {
  readonly files: readonly [before: string, after: string];
  readonly layouts: readonly [before: ResolvedLayout, after: ResolvedLayout];
  /** Scores by module. */
  readonly scores: readonly [before: readonly ModuleScore[], after: readonly ModuleScore[]];
  readonly difference: Difference;
  /** What of a checkpoint loads, a verdict a grid; null where that was not asked. */
  readonly checkpoint: readonly CheckpointVerdict[] | null;
}

/** Null, with the reason on standard error, where a file cannot be used or has errors. */
function compared(before: string, after: string, format: Options['checkpoint']): Compared | null {
  const [one, other] = [...inputFiles([before, after])].map((input) => soundLayout(input));
  if (!isListable(before, one) || !isListable(after, other)) {
    return null;
  }
  const layouts = [one.resolved, other.resolved] as const;
  const checkpoint =
    format === undefined ? null : checkpointVerdicts(one.facts, other.facts, format === true ? null : format);
  const sides = [comparable(one), comparable(other)] as const;
  return {
    files: [before, after],
    layouts,
    scores: [sides[0].scores, sides[1].scores],
    ...comparisonOf(...sides),
    difference: differenceOf(...layouts),
    checkpoint,
  };
}

const comparable = (checked: SoundLayout): Comparable => ({
  layout: checked.resolved,
  values: keyValues(checked),
  scores: moduleScores(checked),
});

const isListable = (file: string, layout: SoundLayout | null | undefined): layout is SoundLayout =>
  layout !== null && layout !== undefined && !refusesToList(file, layout.resolved.worldSize);

const FORMATS: Readonly<Record<Format, (compared: Compared) => Iterable<string>>> = {
  *text(found) {
    const { files, headline, words, unknown, checkpoint } = found;
    const { keys, figures } = rowsOf(found);
    yield `${files.map(terminalLine).join(' → ')}\n`;
    yield `  ${terminalLine(headline)}\n\n`;
    yield* keys.length > 1 ? table(keys.map((row) => row.map(terminalLine))) : [];
    yield* figures.length > 1 ? table(figures.map((row) => row.map(terminalLine))) : [];
    yield* unknown.map((line) => `  ${terminalLine(line)}\n`);
    yield `  ${verdict(found)}\n`;
    yield* words.map((line) => `  ${terminalLine(line)}\n`);
    yield* isMoved(found) ? ['\n', ...drawn(found).map((line) => `  ${line}\n`)] : [];
    yield* checkpoint ? ['\n', ...checkpointText(checkpoint)] : [];
  },
  *json(found) {
    const { files, layouts, headline, keys, scores, words, difference, checkpoint } = found;
    const [before, after] = files;
    const [one, other] = layouts;
    const output: Output<'compare'> = {
      before,
      after,
      same: keys.length === 0 && !isMoved(found),
      headline,
      world_size: [one.worldSize, other.worldSize],
      keys: keys.map(({ path, ...values }) => ({ key: path.join('.'), ...values })),
      scores: [...new Set([...scores[1], ...scores[0]].map(({ module }) => module))].map((module) => {
        const [was, is] = scores.map((all) => all.find((score) => score.module === module)?.score ?? null);
        return { module, before: was ? scoreJson(was) : null, after: is ? scoreJson(is) : null };
      }),
      changes: words,
      ranks: {
        same: difference.count('same'),
        peers: difference.count('peers'),
        coordinates: difference.count('coordinates'),
        absent: difference.count('absent'),
      },
      ...(checkpoint && { checkpoint: checkpoint.map((verdict) => checkpointJson(verdict, layouts)) }),
    };
    yield `${jsonText(output, 2)}\n`;
  },
  *markdown(found) {
    const { headline, words, unknown, checkpoint } = found;
    const { keys, figures } = rowsOf(found);
    yield `**${markdownText(headline)}**\n\n`;
    yield* keys.length > 1 ? markdownTable(keys) : [];
    yield* figures.length > 1 ? markdownTable(figures) : [];
    yield* unknown.map((line) => `${markdownText(line)}\n\n`);
    yield `${markdownText(verdict(found))}\n\n`;
    yield* words.map((line) => `- ${markdownText(line)}\n`);
    if (isMoved(found)) {
      // a fence that no name in it can end: names do not occur in the drawing
      yield `\n\`\`\`text\n${drawn(found).join('\n')}\n\`\`\`\n`;
    }
    yield* checkpoint ? ['\n', ...checkpointMarkdown(checkpoint)] : [];
  },
  *svg({ files, layouts, headline, words, difference }) {
    const [one, other] = layouts;
    const larger = one.worldSize > other.worldSize ? one : other;
    yield svgOf({
      ...drawingOf(larger, 'physical', USUAL_CHOICE),
      headline: { title: headline, sub: [files.join(' → '), ...words.slice(0, MAX_WORDS)].join(' · ') },
      colouring: changeKindsOf(difference).colouring,
      layout: larger,
      name: '',
      failed: [],
    });
  },
};

/** The most changes under the title of a picture. */
const MAX_WORDS = 3;

/** The changed keys and the scoreboards as rows, each with a heading; a heading alone where there is nothing. */
function rowsOf({ keys, figures }: Compared): { readonly keys: string[][]; readonly figures: string[][] } {
  const known = (text: string | null) => text ?? 'not known';
  return {
    keys: [
      ['key', 'before', 'after'],
      ...keys.map(({ path, before, after }) => [path.join('.'), valueText(before), valueText(after)]),
    ],
    figures: [
      ['', 'before', 'after', 'change'],
      ...figures.map(({ module, label, before, after, change }) => [
        module === null ? label : `${module} ${label}`,
        known(before),
        known(after),
        change ?? '',
      ]),
    ],
  };
}

/** Rows as a table of Markdown, the first one as its heading; a blank line after it. */
function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.map(markdownText).join(' | ')} |\n`;
  return [line(head), `|${head.map((_, i) => (i === 0 ? ' --- |' : ' ---: |')).join('')}\n`, ...rows.map(line), '\n'];
}

/** A scoreboard as the JSON output has it. */
function scoreJson(score: Score) {
  return {
    memory_bytes: Math.round(score.totalBytes),
    memory_interval: rounded(score.totalInterval),
    gpu_bytes: score.gpuBytes,
    step_time_s: score.seconds,
    step_time_interval: score.secondsInterval,
    nvlink_bytes: Math.round(score.nvlinkBytes),
    network_bytes: Math.round(score.networkBytes),
    bubble: score.bubble,
    tokens_per_second_per_gpu: score.tokensPerSecondPerGpu,
    mfu: score.mfu,
  };
}

const SAME = 'The ranks and their process groups are the same.';

const isMoved = ({ words, difference }: Compared): boolean => words.length > 0 || difference.ranks.length > 0;

function verdict(found: Compared): string {
  const { layouts, difference } = found;
  const all = grouped(Math.max(...layouts.map(({ worldSize }) => worldSize)));
  return isMoved(found)
    ? `${countOf(difference.ranks.length, 'rank')} of ${all} ${difference.ranks.length === 1 ? 'differs' : 'differ'}.`
    : SAME;
}

/** The most nodes and ranks of a node that are drawn one by one. */
const MAX_ROWS = 64;
const MAX_COLUMNS = 72;

/** One line per node, one letter per rank; in large worlds a letter covers several ranks and shows the worst change among them. */
function drawn({ layouts, difference }: Compared): string[] {
  const changes = changeKindsOf(difference);
  const worldSize = Math.max(...layouts.map((layout) => layout.worldSize));
  const ofNode = Math.min(Math.max(...layouts.map(({ gpusPerNode }) => gpusPerNode)), MAX_COLUMNS);
  const nodes = Math.ceil(worldSize / ofNode);
  const joined = Math.ceil(nodes / MAX_ROWS);
  // where nodes are joined, a column is the same GPU of each
  const rows = Array.from({ length: Math.ceil(nodes / joined) }, (_, row) => {
    const letters = Array.from({ length: ofNode }, (__, gpu) => {
      const ranks = Array.from({ length: joined }, (___, node) => (row * joined + node) * ofNode + gpu);
      const worst = Math.max(-1, ...ranks.filter((rank) => rank < worldSize).map((rank) => changes.kindOf(rank)));
      return changes.kinds[worst]?.letter ?? ' ';
    });
    return [nodeName(row * joined, Math.min(nodes, (row + 1) * joined) - 1), letters.join('')];
  });
  return [...aligned(rows, 2).map((line) => line.trimEnd()), changes.legend()];
}

const nodeName = (first: number, last: number): string => (first === last ? `node ${first}` : `nodes ${first}-${last}`);
