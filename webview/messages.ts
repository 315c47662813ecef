import type { ModuleSequence, ResolvedLayout, Severity } from '../layout';

/** A finding as the panel shows it beside the picture. */
export interface PanelFinding {
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  /** Zero-based line. */
  readonly line: number;
}

/** How one process group fared in a smoke job. */
export interface PanelGroupResult {
  readonly name: string;
  readonly module: string | null;
  /** Index of the group in its family. */
  readonly index: number;
  readonly ok: boolean;
  /** Bus bandwidth in GB/s of the best-known operation; null where none was timed. */
  readonly busGBs: number | null;
}

/** What the editor tells the panel. Ranks are never sent: the panel does its own arithmetic. */
export type ToPanel =
  | {
      readonly type: 'layout';
      readonly title: string;
      /** Null where the file has errors that leave a number open: the panel keeps its last picture, greyed. */
      readonly layout: ResolvedLayout | null;
      /** How the sequences of the modules are spread, where the file says how long they are. */
      readonly sequences: readonly ModuleSequence[];
      readonly findings: readonly PanelFinding[];
    }
  /** The cursor is in this module (null: in none). */
  | { readonly type: 'cursor'; readonly module: string | null }
  | {
      readonly type: 'smoke';
      readonly verdict: string;
      readonly groups: readonly PanelGroupResult[];
      /** Ranks that a fault names. */
      readonly suspects: readonly number[];
    };

/** What the panel tells the editor. */
export type FromPanel =
  | { readonly type: 'ready' }
  /** A person chose a rank: show the lines that place it. */
  | { readonly type: 'reveal'; readonly module: string | null }
  | { readonly type: 'revealLine'; readonly line: number }
  /** Write into the file how the job goes on without these ranks. */
  | { readonly type: 'writeFailed'; readonly ranks: readonly number[] }
  /** Save a picture: SVG as text, PNG in base64. */
  | { readonly type: 'save'; readonly format: 'svg' | 'png'; readonly data: string };

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const isIndex = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** How many ranks can be marked as failed by hand. */
export const MAX_FAILED = 1024;

/** Reads a message from the panel; null for anything that the panel does not send. */
export function parseFromPanel(value: unknown): FromPanel | null {
  if (!isRecord(value)) {
    return null;
  }
  switch (value.type) {
    case 'ready':
      return { type: 'ready' };
    case 'reveal':
      return value.module === null || typeof value.module === 'string'
        ? { type: 'reveal', module: value.module }
        : null;
    case 'revealLine':
      return isIndex(value.line) ? { type: 'revealLine', line: value.line } : null;
    case 'writeFailed':
      return Array.isArray(value.ranks) && value.ranks.length <= MAX_FAILED && value.ranks.every(isIndex)
        ? { type: 'writeFailed', ranks: value.ranks }
        : null;
    case 'save':
      return (value.format === 'svg' || value.format === 'png') && typeof value.data === 'string'
        ? { type: 'save', format: value.format, data: value.data }
        : null;
    default:
      return null;
  }
}

/** Whether a message has the form of one from the editor. Its layout is the engine's own and is taken as it is. */
export function isToPanel(value: unknown): value is ToPanel {
  if (!isRecord(value)) {
    return false;
  }
  switch (value.type) {
    case 'layout':
      return (
        typeof value.title === 'string' &&
        Array.isArray(value.findings) &&
        Array.isArray(value.sequences) &&
        isLayout(value.layout)
      );
    case 'cursor':
      return value.module === null || typeof value.module === 'string';
    case 'smoke':
      return typeof value.verdict === 'string' && Array.isArray(value.groups) && Array.isArray(value.suspects);
    default:
      return false;
  }
}

function isLayout(value: unknown): boolean {
  return value === null || (isRecord(value) && typeof value.worldSize === 'number' && Array.isArray(value.modules));
}
