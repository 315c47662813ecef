import { countOf, grouped, rankList } from '../layout';
import { type Colouring, colourOf, type Ground, isCycle, isRamp, type Sign } from './colour';
import type { Isolated } from './example';

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
  /** How many failed ranks carry a mark that their colour does not bring. */
  readonly failed: number;
  /** How many ranks a smoke job found at fault. */
  readonly atFault?: number;
  /** Whether ranks that differ from another layout carry corners, and of which kind. */
  readonly coordinatesDiffer: boolean;
  readonly peersDiffer: boolean;
  /** Why other ranks are faded; empty where none is. */
  readonly faded: string;
  readonly links: boolean;
  /** Which ranks carry rings; empty where none does. */
  readonly peers?: string;
  /** The steps of the palette that are seen; null where that is not known yet. */
  readonly seen: ReadonlySet<number> | null;
  /** Whether the colours of single ranks are left out, since they could not be told apart. */
  readonly plain: boolean;
  /** How many slots have no rank: packed placement does not launch them. */
  readonly vacant?: number;
  /** Whether a rank has no value. */
  readonly unset: boolean;
  /** The ranks that are shown alone. */
  readonly isolated: Isolated | null;
  /** How many ranks are drawn as one dot; 1 or less where each has its own. */
  readonly ranksPerPixel: number;
  readonly nesting: string;
}

/** Colours from which a ramp is blended. */
const RAMP_STEPS = 40;

/** Up to so many values each has an entry of its own. */
const MAX_KINDS = 48;

/** The meaning of all colours and marks that are seen in a picture, and of no others. */
export function legendOf(colouring: Colouring, shown: Shown, ground: Ground): Legend {
  const { atFault = 0, peers = '', vacant = 0, isolated } = shown;
  const mark = (is: boolean, kind: LegendMark, text: string): LegendItem[] =>
    is ? [{ kind: 'mark', mark: kind, text }] : [];
  return {
    name: colouring.name,
    items: [
      ...(isolated
        ? alone(colouring, ground, isolated)
        : shown.plain
          ? [{ kind: 'note', text: `${grouped(colouring.values)} in all, too small to be told apart` } as const]
          : colours(colouring, ground, shown.seen)),
      ...mark(shown.unset && !isolated, 'unset', colouring.none ?? `without ${colouring.name}`),
      ...mark(vacant > 0, 'unset', `${countOf(vacant, 'slot')} without a rank`),
      ...mark(shown.failed > 0, 'failed', `${grouped(shown.failed)} failed`),
      ...mark(atFault > 0, 'failed', `${grouped(atFault)} at fault`),
      ...mark(shown.coordinatesDiffer, 'coordinates', 'other coordinates'),
      ...mark(shown.peersDiffer, 'otherPeers', 'other peers'),
      ...mark(shown.faded !== '', 'faded', shown.faded),
      ...mark(peers !== '', 'peers', peers),
      ...mark(shown.links, 'link', 'leaves the node'),
      ...(shown.ranksPerPixel > 1 && !shown.plain && !isolated
        ? [{ kind: 'note', text: aggregation(colouring, shown.ranksPerPixel) } as const]
        : []),
      ...(shown.nesting === '' ? [] : [{ kind: 'note', text: shown.nesting } as const]),
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

function colours(colouring: Colouring, ground: Ground, seen: Shown['seen']): LegendItem[] {
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
      .filter((value) => colouring.scale !== 'status' || seen === null || seen.has(value))
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
