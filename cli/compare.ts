import { type Command, Option } from 'commander';
import {
  CHECKPOINT_FORMATS,
  type CheckpointFormat,
  type CheckpointVerdict,
  checkpointVerdicts,
  countOf,
  grouped,
  jsonText,
  markdownText,
  type ResolvedLayout,
  terminalLine,
} from '../layout';
import { changesInWords } from '../picture/changes';
import { type Status, statusColouring } from '../picture/colour';
import { CHANGES, type Change, type Difference, differenceOf } from '../picture/difference';
import { drawingOf, USUAL_CHOICE } from '../picture/drawing';
import { svgOf } from '../picture/svg';
import { checkpointJson, checkpointMarkdown, checkpointText } from './checkpoint';
import { inputFiles, type SoundLayout, soundLayout } from './files';
import { formatOption } from './options';
import { EXIT, print, refusesToList } from './output';
import type { Output } from './outputSchemas';

type Format = 'text' | 'json' | 'markdown' | 'svg';

interface Options {
  readonly format: Format;
  /** True where the option names no format. */
  readonly checkpoint?: CheckpointFormat | true;
}

const HELP = `
Exit status: 0 whether or not they differ, 2 a file cannot be used or has errors.

Examples:
  parallelism-layout compare before.layout.yaml after.layout.yaml
  parallelism-layout compare before.layout.yaml after.layout.yaml --checkpoint
  parallelism-layout compare before.layout.yaml after.layout.yaml --checkpoint torch`;

/** Adds `compare`: how two layouts differ, in words and drawn. */
export function addCompareCommand(program: Command): void {
  program
    .command('compare')
    .description('show how two layouts differ, in words and as a drawing')
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
      const comparison = comparisonOf(before, after, checkpoint);
      return comparison ? print(FORMATS[format](comparison)) : undefined;
    });
}

/** Two layouts, and the ranks that differ. */
interface Comparison {
  readonly before: string;
  readonly after: string;
  readonly layouts: readonly [ResolvedLayout, ResolvedLayout];
  readonly words: readonly string[];
  readonly difference: Difference;
  /** What of a checkpoint loads, a verdict a grid; null where that was not asked. */
  readonly checkpoint: readonly CheckpointVerdict[] | null;
}

/** Null, with the reason on standard error, where a file cannot be used or has errors. */
function comparisonOf(before: string, after: string, format: Options['checkpoint']): Comparison | null {
  const [one, other] = [...inputFiles([before, after])].map((input) => soundLayout(input, EXIT.unusable));
  if (!isListable(before, one) || !isListable(after, other)) {
    return null;
  }
  const layouts = [one.resolved, other.resolved] as const;
  const checkpoint =
    format === undefined ? null : checkpointVerdicts(one.facts, other.facts, format === true ? null : format);
  const words = changesInWords(...layouts);
  return { before, after, layouts, words, difference: differenceOf(...layouts), checkpoint };
}

const isListable = (file: string, layout: SoundLayout | null | undefined): layout is SoundLayout =>
  layout !== null && layout !== undefined && !refusesToList(file, layout.resolved.worldSize);

/** Label and look of each kind of change, the worst last; `letter` marks a rank in text output. */
const KINDS: Readonly<Record<Change, Status & { readonly letter: string }>> = {
  same: { label: 'unchanged', fill: '#dddddd', sign: 'none', letter: '.' },
  peers: { label: 'has other peers', fill: '#56b4e9', sign: 'dots', letter: 'o' },
  coordinates: { label: 'has other coordinates', fill: '#e69f00', sign: 'stripes', letter: 'x' },
  absent: { label: 'is in one layout only', fill: '#d55e00', sign: 'cross', letter: '+' },
};

const FORMATS: Readonly<Record<Format, (comparison: Comparison) => Iterable<string>>> = {
  *text(comparison) {
    const { before, after, words } = comparison;
    yield `${terminalLine(before)} and ${terminalLine(after)}: ${verdict(comparison)}\n`;
    yield* words.map((line) => `  ${terminalLine(line)}\n`);
    yield* isChanged(comparison) ? ['\n', ...drawn(comparison).map((line) => `  ${line}\n`)] : [];
    yield* comparison.checkpoint ? ['\n', ...checkpointText(comparison.checkpoint)] : [];
  },
  *json(comparison) {
    const { before, after, layouts, words, difference, checkpoint } = comparison;
    const [one, other] = layouts;
    const output: Output<'compare'> = {
      before,
      after,
      same: !isChanged(comparison),
      world_size: [one.worldSize, other.worldSize],
      changes: words,
      ranks: {
        same: difference.count('same'),
        peers: difference.count('peers'),
        coordinates: difference.count('coordinates'),
        absent: difference.count('absent'),
      },
      ...(checkpoint && { checkpoint: checkpoint.map(checkpointJson) }),
    };
    yield `${jsonText(output, 2)}\n`;
  },
  *markdown(comparison) {
    yield `${markdownText(verdict(comparison))}\n\n`;
    yield* comparison.words.map((line) => `- ${markdownText(line)}\n`);
    if (isChanged(comparison)) {
      // a fence that no name in it can end: names do not occur in the drawing
      yield `\n\`\`\`text\n${drawn(comparison).join('\n')}\n\`\`\`\n`;
    }
    yield* comparison.checkpoint ? ['\n', ...checkpointMarkdown(comparison.checkpoint)] : [];
  },
  *svg(comparison) {
    const { before, after, layouts, words, difference } = comparison;
    const [one, other] = layouts;
    const larger = one.worldSize > other.worldSize ? one : other;
    const statuses = CHANGES.map((change) => KINDS[change]);
    const drawing = drawingOf(larger, 'physical', USUAL_CHOICE);
    yield svgOf({
      ...drawing,
      headline: {
        title: verdict(comparison),
        sub: [`${before} → ${after}`, ...words.slice(0, MAX_WORDS)].join(' · '),
      },
      colouring: statusColouring('change', statuses, (rank) => difference.changes[rank] ?? 0),
      layout: larger,
      name: '',
      failed: [],
    });
  },
};

/** The most changes under the title of a picture. */
const MAX_WORDS = 3;

const SAME = 'The ranks and their process groups are the same.';

const isChanged = ({ words, difference }: Comparison): boolean => words.length > 0 || difference.ranks.length > 0;

function verdict(comparison: Comparison): string {
  const { layouts, difference } = comparison;
  const all = grouped(Math.max(...layouts.map(({ worldSize }) => worldSize)));
  return isChanged(comparison)
    ? `${countOf(difference.ranks.length, 'rank')} of ${all} ${difference.ranks.length === 1 ? 'differs' : 'differ'}.`
    : SAME;
}

/** The most nodes and ranks of a node that are drawn one by one. */
const MAX_ROWS = 64;
const MAX_COLUMNS = 72;

/** One line per node, one letter per rank; in large worlds a letter covers several ranks and shows the worst change among them. */
function drawn({ layouts, difference }: Comparison): string[] {
  const worldSize = Math.max(...layouts.map((layout) => layout.worldSize));
  const ofNode = Math.min(Math.max(...layouts.map(({ gpusPerNode }) => gpusPerNode)), MAX_COLUMNS);
  const nodes = Math.ceil(worldSize / ofNode);
  const joined = Math.ceil(nodes / MAX_ROWS);
  // where nodes are joined, a column is the same GPU of each
  const rows = Array.from({ length: Math.ceil(nodes / joined) }, (_, row) => {
    const letters = Array.from({ length: ofNode }, (__, gpu) => {
      const ranks = Array.from({ length: joined }, (___, node) => (row * joined + node) * ofNode + gpu);
      const worst = Math.max(
        -1,
        ...ranks.filter((rank) => rank < worldSize).map((rank) => difference.changes[rank] ?? 0),
      );
      return worst < 0 ? ' ' : KINDS[CHANGES[worst] ?? 'same'].letter;
    });
    return `${nodeName(row * joined, Math.min(nodes, (row + 1) * joined) - 1)}  ${letters.join('').trimEnd()}`;
  });
  const width = Math.max(...rows.map((row) => row.indexOf('  ')));
  const counted = CHANGES.filter((change) => difference.count(change) > 0);
  const legend = counted.map(
    (change) => `${KINDS[change].letter} ${KINDS[change].label} (${grouped(difference.count(change))})`,
  );
  return [
    ...rows.map((row) => {
      const at = row.indexOf('  ');
      return row.slice(0, at).padEnd(width) + row.slice(at);
    }),
    legend.join('   '),
  ];
}

const nodeName = (first: number, last: number): string => (first === last ? `node ${first}` : `nodes ${first}-${last}`);
