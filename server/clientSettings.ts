import { type RuleLevels, ruleLevels } from '../layout';

/** What a hint says: which ranks a grid has, a number that follows from others, a default in force, what a GPU holds. */
export type HintKind = 'ranks' | 'derived' | 'defaults' | 'memory';

/** What a person can choose while the server runs (`workspace/didChangeConfiguration`). */
export interface Settings {
  /** The inlay hints that are shown. */
  readonly hints: ReadonlySet<HintKind>;
  /** Severities other than the rules' own. */
  readonly levels: RuleLevels;
  /** Whether launch files are checked themselves. */
  readonly checksLaunchFiles: boolean;
}

const KINDS: readonly HintKind[] = ['ranks', 'derived', 'defaults', 'memory'];

export const DEFAULT_SETTINGS: Settings = { hints: new Set(KINDS), levels: new Map(), checksLaunchFiles: false };

/** Reads the section `parallelismLayout` of a client's settings; what is not there, or not understood, is on. */
export function settingsOf(settings: unknown): Settings {
  const section = property(settings, 'parallelismLayout');
  const hints = property(section, 'inlayHints');
  return {
    hints: new Set(KINDS.filter((kind) => property(hints, kind) !== false)),
    levels: ruleLevels(property(section, 'rules')).levels,
    checksLaunchFiles: property(section, 'checkLaunchFiles') === true,
  };
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
