import { countOf, grouped, type ResolvedLayout, rankList } from '../layout';
import { nestingText } from './blocks';
import type { Cells } from './cells';
import { type Colouring, colourOf, type Ground, isCrossed, isCycle, isPlain, isRamp, type Sign } from './colour';
import type { Difference } from './difference';
import type { Isolated } from './example';
import type { Geometry } from './geometry';

/** One entry of a legend. */
export type LegendItem =
  /** A fill, with the sign that says the same without colour. */
  | { readonly kind: 'fill'; readonly fill: string; readonly sign: Sign; readonly text: string }
  /** A ramp from the first text to the last. */
  | { readonly kind: 'ramp'; readonly fills: readonly string[]; readonly from: string; readonly to: string }
  /** A mark that is drawn on cells. */
  | { readonly kind: 'mark'; readonly mark: LegendMark; readonly text: string }
  /** A sentence. */
  | { readonly kind: 'note'; readonly text: string };

export type LegendMark = 'unset' | 'failed' | 'peers' | 'link' | 'coordinates' | 'otherPeers' | 'faded';

/** What a legend is of: the name of the colouring, and all that can be seen. */
export interface Legend {
  readonly name: string;
  readonly items: readonly LegendItem[];
}

/** What else is drawn in a picture, beside its colours. */
export interface Shown {
  readonly layout: ResolvedLayout;
  /** The cells that are drawn, and where; null where that is not known yet. */
  readonly cells: Cells | null;
  readonly geometry: Geometry | null;
  /** Ranks that are crossed out. */
  readonly failed: readonly number[];
  /** How many ranks a smoke job found at fault. */
  readonly atFault?: number;
  /** How ranks differ from another layout, where those that do not are faded. */
  readonly difference: Difference | null;
  readonly links: boolean;
  /** Which ranks carry rings; empty where none does. */
  readonly peers?: string;
  /** How many slots have no rank: packed placement does not launch them. */
  readonly vacant?: number;
  /** The ranks that are shown alone. */
  readonly isolated: Isolated | null;
  /** How many ranks are drawn as one dot; 1 or less where each has its own. */
  readonly ranksPerPixel: number;
}

/** Colours from which a ramp is blended. */
const RAMP_STEPS = 40;

/** Up to so many values each has an entry of its own. */
const MAX_KINDS = 48;

/** The meaning of all colours and marks that are seen in a picture, and of no others. */
export function legendOf(colouring: Colouring, shown: Shown, ground: Ground): Legend {
  const { layout, cells, geometry, difference, atFault = 0, peers = '', vacant = 0, isolated } = shown;
  const isPlainNow = geometry !== null && isPlain(colouring, geometry.cell);
  // a colour that is a cross says so itself
  const failed = shown.failed.filter((rank) => !isCrossed(colouring, rank)).length;
  const nesting = geometry ? nestingText(geometry) : '';
  const mark = (is: boolean, kind: LegendMark, text: string): LegendItem[] =>
    is ? [{ kind: 'mark', mark: kind, text }] : [];
  return {
    name: colouring.name,
    items: [
      ...(isolated
        ? alone(colouring, ground, isolated)
        : isPlainNow
          ? [{ kind: 'note', text: `${grouped(colouring.values)} in all, too small to be told apart` } as const]
          : colours(colouring, ground, cells)),
      ...mark(cells?.unset === true && !isolated, 'unset', colouring.none ?? `without ${colouring.name}`),
      ...mark(vacant > 0, 'unset', `${countOf(vacant, 'slot')} without a rank`),
      ...mark(failed > 0, 'failed', `${grouped(failed)} failed`),
      ...mark(atFault > 0, 'failed', `${grouped(atFault)} at fault`),
      ...(difference
        ? [
            ...mark(difference.count('coordinates') > 0, 'coordinates', 'other coordinates'),
            ...mark(difference.count('peers') > 0, 'otherPeers', 'other peers'),
            ...mark(true, 'faded', `${grouped(layout.worldSize - difference.ranks.length)} the same`),
          ]
        : []),
      ...mark(peers !== '', 'peers', peers),
      ...mark(shown.links, 'link', 'leaves the node'),
      ...(shown.ranksPerPixel > 1 && !isPlainNow && !isolated
        ? [{ kind: 'note', text: aggregation(colouring, shown.ranksPerPixel) } as const]
        : []),
      ...(nesting === '' ? [] : [{ kind: 'note', text: nesting } as const]),
    ],
  };
}

/** So many runs of ranks are named. */
const MAX_RUNS = 5;

function alone(colouring: Colouring, ground: Ground, { ranks, name }: Isolated): LegendItem[] {
  const value = colouring.valueOf(ranks[0] ?? -1);
  const words = `${name}: ranks ${rankList(ranks, MAX_RUNS)}`;
  // ranks of several values, such as those of a search, have no fill in common
  return ranks.every((rank) => colouring.valueOf(rank) === value)
    ? [
        { kind: 'note', text: `one of ${grouped(colouring.values)} is shown` },
        { kind: 'fill', fill: colourOf(value, colouring, ground), sign: 'none', text: words },
      ]
    : [{ kind: 'note', text: words }];
}

/** How cells that are smaller than a pixel are joined. */
function aggregation(colouring: Colouring, ranks: number): string {
  const each = `a dot is ${grouped(Math.round(ranks))} ranks`;
  if (colouring.scale === 'status') {
    return `${each}: the worst is shown`;
  }
  return isRamp(colouring) ? `${each}: their mean is shown` : `${each}: mixed ones are shown by share`;
}

function colours(colouring: Colouring, ground: Ground, cells: Cells | null): LegendItem[] {
  if (isRamp(colouring)) {
    return [ramp(colouring, ground)];
  }
  if (isCycle(colouring)) {
    return [
      {
        kind: 'note',
        text: `${grouped(colouring.values)} in all, ${colouring.hues || colouring.arranged ? 'neighbours differ in colour' : 'colours repeat'}`,
      },
    ];
  }
  const values = Array.from({ length: Math.min(colouring.values, MAX_KINDS) }, (_, value) => value);
  return (
    values
      // conditions that no rank has are left out
      .filter((value) => colouring.scale !== 'status' || !cells || cells.seen.has(value))
      .map((value) => ({
        kind: 'fill',
        fill: colourOf(value, colouring, ground),
        sign: colouring.statuses?.[value]?.sign ?? 'none',
        text: colouring.label(value),
      }))
  );
}

function ramp(colouring: Colouring, ground: Ground): LegendItem {
  const last = colouring.values - 1;
  const steps = Math.min(colouring.values, RAMP_STEPS);
  const fills = Array.from({ length: steps }, (_, i) =>
    colourOf(Math.round((i * last) / (steps - 1)), colouring, ground),
  );
  return { kind: 'ramp', fills, from: colouring.label(0), to: colouring.label(last) };
}

/** A sign in text. */
export const SIGN_TEXT: Readonly<Record<Sign, string>> = { none: '', cross: '✕', stripes: '//', dots: '…' };
