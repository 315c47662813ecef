import {
  arrayOf,
  type Guard,
  isBoolean,
  isIndex,
  isNumber,
  isString,
  nullOr,
  objectOf,
  oneOf,
} from '../../picture/guard';
import type { GridKind } from '../../picture/logical';
import type { Viewport } from '../render/canvas';
import { VIEW_IDS } from '../views/ids';
import { isComparison, MAX_FAILED } from './messages';

export const WHOLE: Viewport = { zoom: 1, x: 0.5, y: 0.5 };

/** Something that a person chooses: read where it was saved, or else the usual value. */
const choice =
  <T>(is: Guard<T>, usual: T) =>
  (saved: unknown): T =>
    is(saved) ? saved : usual;

const CHOICES = {
  view: choice(oneOf(...VIEW_IDS), 'tradeoffs'),
  colour: choice(isString, ''),
  group: choice(isString, ''),
  /** Whether the group of that kind is shown alone. */
  isolated: choice(isBoolean, false),
  grid: choice(oneOf<GridKind>('dense', 'expert'), 'dense'),
  across: choice(isString, ''),
  down: choice(isString, ''),
  module: choice(isString, ''),
  /** What the smoke view colours by. */
  measure: choice(oneOf('result', 'bandwidth'), 'result'),
  /** The part of a step whose time colours the run view; empty for the usual one. */
  part: choice(isString, ''),
  compare: choice(isComparison, 'saved'),
  /** The file that it is compared with. */
  baseFile: choice(nullOr(isString), null),
  /** The rank that a person chose; -1 for none. */
  rank: choice(isIndex, -1),
  /** Ranks marked as failed that are not in the file. */
  failed: choice(arrayOf(isIndex, MAX_FAILED), []),
  viewport: choice(objectOf({ zoom: isNumber, x: isNumber, y: isNumber }), WHOLE),
  /** Whether the panel stays with its document while another one becomes active. */
  locked: choice(isBoolean, false),
};

/** What a person chose; it survives hiding, moving and reloading the panel. */
export type PanelState = { readonly [K in keyof typeof CHOICES]: ReturnType<(typeof CHOICES)[K]> } & {
  /** The document; read by the editor when it restores the panel. */
  readonly uri: string;
};

/** Reads a saved state, of this or an older version; whatever it lacks has its usual value. */
export function restoredState(value: unknown, uri: string): PanelState {
  const saved = typeof value === 'object' && value !== null ? value : {};
  const read = Object.entries(CHOICES).map(([name, choose]) => [name, choose(Reflect.get(saved, name))]);
  return { ...Object.fromEntries(read), uri } as PanelState;
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
