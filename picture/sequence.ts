import { countOf, grouped, type ModuleSequence, type SequencePlan, sequenceShare, type TokenRange } from '../layout';
import { moduleFill } from './colour';
import type { Diagram, Shape } from './diagram';
import { widthOf } from './labels';

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
  readonly fill: string;
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
      name: [...(cp > 1 || !isCut ? [`cp ${cpRank}`] : []), ...(isCut ? [`tp ${tpRank}`] : [])].join(' · '),
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
const LEFT = 240;

/** Which tokens does a rank hold: a strip of token positions for every rank of a replica that holds a share of its own. */
export function sequenceDiagram(sequences: readonly ModuleSequence[], width: number): Diagram {
  const left = Math.min(LEFT, width * 0.42);
  const shapes: Shape[] = [];
  let y = 0;
  const text = (x: number, words: string, more: Partial<Extract<Shape, { kind: 'text' }>> = {}) =>
    shapes.push({ kind: 'text', x, y: y + 12, words, size: 12, paint: 'muted', ...more });
  for (const { module, plan } of sequences) {
    const { strips, count } = stripsOf(plan);
    const beside = Math.max(...strips.map(({ name }) => widthOf(name))) + 18;
    const x = (token: number) => left + ((width - left) * token) / plan.length;
    text(0, `${module === null ? '' : `${module}: `}${grouped(plan.length)} tokens`, {
      size: 14,
      weight: 600,
      paint: 'text',
    });
    y += 26;
    for (const { name, fill, embeddings, labels } of strips) {
      text(0, name, { weight: 600, paint: 'text' });
      text(beside, embeddings.map(rangeText).join(', '), { size: 11 });
      const bar = ([start, end]: TokenRange, top: number, height: number): Shape => ({
        kind: 'rect',
        x: x(start),
        y: y + top,
        width: Math.max(1, x(end) - x(start)),
        height,
        fill: `#${fill.slice(1)}`,
      });
      shapes.push(
        { kind: 'rect', x: left, y, width: width - left, height: BAR + 6, fill: 'boxFill', stroke: 'box' },
        ...embeddings.map((range) => bar(range, 1, BAR)),
        ...labels.map((range) => bar(range, BAR + 2, 3)),
      );
      y += STEP;
    }
    text(left, '0');
    text(width, `token ${grouped(plan.length - 1)}`, { anchor: 'end' });
    y += 20;
    if (count > strips.length) {
      text(0, `and ${countOf(count - strips.length, 'more rank')}`);
      y += 20;
    }
    text(0, 'thick: embeddings; thin line below: labels');
    y += 34;
  }
  return { width, height: Math.max(0, y - 20), shapes };
}
