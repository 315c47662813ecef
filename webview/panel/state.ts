import type { GridKind } from '../../picture/logical';
import type { Viewport } from '../render/canvas';
import { VIEW_IDS, type ViewId } from '../views/ids';
import { COMPARISONS, type CompareWith, MAX_FAILED } from './messages';

/** What a person chose; it survives hiding, moving and reloading the panel. */
export interface PanelState {
  /** The document; read by the editor when it restores the panel. */
  readonly uri: string;
  readonly view: ViewId;
  readonly colour: string;
  readonly group: string;
  /** Whether the group of that kind is shown alone. */
  readonly isolated: boolean;
  readonly grid: GridKind;
  readonly across: string;
  readonly down: string;
  readonly module: string;
  /** What the smoke view colours by. */
  readonly measure: 'result' | 'bandwidth';
  /** The part of a step whose time colours the run view; empty for the usual one. */
  readonly part: string;
  readonly compare: CompareWith;
  /** The file that it is compared with. */
  readonly baseFile: string | null;
  /** The rank that a person chose; -1 for none. */
  readonly rank: number;
  /** Ranks marked as failed that are not in the file. */
  readonly failed: readonly number[];
  readonly viewport: Viewport;
  /** Whether the panel stays with its document while another one becomes active. */
  readonly locked: boolean;
}

export const WHOLE: Viewport = { zoom: 1, x: 0.5, y: 0.5 };

/** Reads a saved state, of this or an older version; whatever it lacks has its usual value. */
export function restoredState(value: unknown, uri: string): PanelState {
  const saved: Readonly<Record<string, unknown>> = typeof value === 'object' && value !== null ? { ...value } : {};
  const text = (name: string, fallback: string) => (typeof saved[name] === 'string' ? String(saved[name]) : fallback);
  const one = <T extends string>(name: string, options: readonly T[], fallback: T) =>
    options.find((option) => option === saved[name]) ?? fallback;
  const isRank = (rank: unknown): rank is number => Number.isSafeInteger(rank) && Number(rank) >= 0;
  return {
    uri,
    view: one('view', VIEW_IDS, 'tradeoffs'),
    colour: text('colour', ''),
    group: text('group', ''),
    isolated: saved.isolated === true,
    grid: one('grid', ['dense', 'expert'], 'dense'),
    across: text('across', ''),
    down: text('down', ''),
    module: text('module', ''),
    measure: one('measure', ['result', 'bandwidth'], 'result'),
    part: text('part', ''),
    compare: one('compare', COMPARISONS, 'saved'),
    baseFile: typeof saved.baseFile === 'string' ? saved.baseFile : null,
    rank: isRank(saved.rank) ? saved.rank : -1,
    failed: Array.isArray(saved.failed) ? saved.failed.filter(isRank).slice(0, MAX_FAILED) : [],
    viewport: viewportOf(saved.viewport),
    locked: saved.locked === true,
  };
}

/** What of a person's choices holds for another document. */
export function stateOfAnother(state: PanelState, uri: string): PanelState {
  return {
    ...state,
    uri,
    compare: state.compare === 'commit' ? 'commit' : 'saved',
    baseFile: null,
    group: '',
    isolated: false,
    module: '',
    rank: -1,
    failed: [],
    viewport: WHOLE,
  };
}

function viewportOf(value: unknown): Viewport {
  const part = (name: string) => (typeof value === 'object' && value !== null ? Number(Reflect.get(value, name)) : NaN);
  const viewport = { zoom: part('zoom'), x: part('x'), y: part('y') };
  return Object.values(viewport).every(Number.isFinite) ? viewport : WHOLE;
}
