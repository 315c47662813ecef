import { countOf, grouped, type ModuleSequence, type SequencePlan, sequenceShare, type TokenRange } from '../layout';
import { moduleFill } from './colour';
import { type Diagram, type Part, type Shape, stacked, textAt, titleAt } from './diagram';
import { shortened, widthOf } from './labels';

/** How many strips of one module are drawn. */
const MAX_STRIPS = 64;

/** How much of a sequence one rank holds. */
export function shareSentence({ module, plan }: ModuleSequence): string {
  const { length, cp, tp, sequenceParallel } = plan;
  const held = length / cp / (sequenceParallel ? tp : 1);
  const [name, every, one] = module === null ? ['', 'Every', 'A'] : [`${module}: `, 'every', 'a'];
  if (held === length) {
    return `${name}${every} rank holds all ${grouped(length)} tokens.`;
  }
  const share = `${name}${one} rank holds ${grouped(held)} of ${grouped(length)} tokens`;
  const chunks = 'one chunk from the front and one from the back';
  if (cp === 1) {
    return `${share}.`;
  }
  return sequenceParallel && tp > 1
    ? `${share}: ${tp} tp ranks share the ${grouped(length / cp)} of a cp rank, ${chunks}.`
    : `${share}, ${chunks}.`;
}

/** What one rank of a replica holds. */
export interface Strip {
  /** Its cp rank, and its tp rank where that cuts the share once more: `cp 0 · tp 1`. */
  readonly name: string;
  readonly fill: `#${string}`;
  readonly embeddings: readonly TokenRange[];
  readonly labels: readonly TokenRange[];
}

/** The strips of a replica, as many as are drawn, and how many there are in all. */
export function stripsOf(plan: SequencePlan): { readonly strips: readonly Strip[]; readonly count: number } {
  const { cp, tp, sequenceParallel } = plan;
  const isCut = sequenceParallel && tp > 1;
  const perContextRank = isCut ? tp : 1;
  const count = cp * perContextRank;
  const strips = Array.from({ length: Math.min(count, MAX_STRIPS) }, (_, i): Strip => {
    const [cpRank, tpRank] = [Math.floor(i / perContextRank), i % perContextRank];
    const { embeddings, labels } = sequenceShare(plan, cpRank, tpRank);
    return {
      name:
        count === 1
          ? 'every rank'
          : [...(cp > 1 ? [`cp ${cpRank}`] : []), ...(isCut ? [`tp ${tpRank}`] : [])].join(' · '),
      fill: moduleFill(cpRank),
      embeddings,
      labels,
    };
  });
  return { strips, count };
}

/** Tokens as text: `0 – 4,095`. */
export const rangeText = ([start, end]: TokenRange): string => `${grouped(start)} – ${grouped(end - 1)}`;

/** A strip of the diagram, in pixels. */
const STEP = 26;
const BAR = 15;

/** The size of the texts beside a strip, in pixels. */
const NAME_SIZE = 12;
const RANGE_SIZE = 11;

/** Which tokens does a rank hold: a strip of token positions for every rank of a replica that holds a share of its own. */
export function sequenceDiagram(sequences: readonly ModuleSequence[], width: number): Diagram {
  return { width, ...stacked(sequences.flatMap((sequence) => sequenceParts(sequence, width))) };
}

function sequenceParts({ module, plan }: ModuleSequence, width: number): Part[] {
  const { strips, count } = stripsOf(plan);
  const rangesOf = ({ embeddings }: Strip) => embeddings.map(rangeText).join(', ');
  const beside = Math.max(...strips.map(({ name }) => widthOf(name, NAME_SIZE) * 1.08)) + 14;
  const ranges = Math.max(...strips.map((strip) => widthOf(rangesOf(strip), RANGE_SIZE)));
  const left = Math.min(beside + ranges + 14, width * 0.5);
  const x = (token: number) => left + ((width - left) * token) / plan.length;
  const bar = ([start, end]: TokenRange, fill: Strip['fill'], y: number, height: number): Shape => ({
    kind: 'rect',
    x: x(start),
    y,
    width: Math.max(1, x(end) - x(start)),
    height,
    fill,
  });
  const muted = { paint: 'muted' } as const;
  const more = count > strips.length ? [`and ${countOf(count - strips.length, 'more rank')}`] : [];
  return [
    { shapes: [titleAt(0, `${module === null ? '' : `${module}: `}${grouped(plan.length)} tokens`)], height: 26 },
    ...strips.map((strip) => ({
      shapes: [
        textAt(0, 12, strip.name, { size: NAME_SIZE, weight: 600 }),
        textAt(beside, 12, shortened(rangesOf(strip), left - beside - 6, RANGE_SIZE), { ...muted, size: RANGE_SIZE }),
        { kind: 'rect', x: left, y: 0, width: width - left, height: BAR + 6, fill: 'boxFill', stroke: 'box' } as const,
        ...strip.embeddings.map((range) => bar(range, strip.fill, 1, BAR)),
        ...strip.labels.map((range) => bar(range, strip.fill, BAR + 2, 3)),
      ],
      height: STEP,
    })),
    {
      shapes: [
        textAt(left, 12, '0', muted),
        textAt(width, 12, `token ${grouped(plan.length - 1)}`, { ...muted, anchor: 'end' }),
        ...[...more, 'thick: embeddings; thin line below: labels'].map((words, i) =>
          textAt(0, 32 + i * 20, words, muted),
        ),
      ],
      height: 44 + more.length * 20,
    },
  ];
}
