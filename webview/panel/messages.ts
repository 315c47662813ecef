import type {
  CheckpointVerdict,
  KeyValue,
  ModuleSequence,
  Recovery,
  Resizing,
  ResolvedLayout,
  Severity,
} from '../../layout';
import type { ModuleScore, PlottedAlternatives, RunMark, Tradeoffs } from '../../layout/cost';
import type { Cost, CostResult } from '../../picture/cost';
import type { RunReport } from '../../picture/runOutcome';
import type { SmokeReport } from '../../picture/smokeOutcome';
import type { StageLayers } from '../../picture/stageLayers';
import type { WorldOutline } from '../../picture/worldDiagram';
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
  optional,
  recordOf,
  unionBy,
} from './guard';

/** A diagnostic as the panel shows it beside the picture. */
export interface PanelDiagnostic {
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  /** Zero-based line. */
  readonly line: number;
  /** The module whose lines it lies in, or null. */
  readonly module: string | null;
  /** Whether the editor can offer an edit that resolves it. */
  readonly hasFix: boolean;
}

/** A dimension of the model's weights that nonuniform TP spreads anew: how many units it is cut into. */
export interface PanelShards {
  readonly name: string;
  readonly units: number;
}

/** The layout that another one is compared with. */
export interface PanelBase {
  readonly title: string;
  /** Where it was read, for the next time; null for the last commit. */
  readonly file: string | null;
  /** Null where it cannot be read, or its errors leave a number undefined. */
  readonly layout: ResolvedLayout | null;
  /** Why there is no layout; null also where the numbers alone are compared. */
  readonly problem: string | null;
  /** The values of its keys. */
  readonly values: readonly KeyValue[];
  /** What it scores; null where it has errors. */
  readonly scores: readonly ModuleScore[] | null;
  /** What it costs, for outlines; null where that is not known. */
  readonly cost: Cost | null;
  /** The measured run that it is. */
  readonly run: RunMark | null;
}

/** What the editor tells the panel. Ranks are never sent: the panel does its own arithmetic. */
export type ToPanel =
  | {
      readonly type: 'layout';
      /** The address of the document; another one than before where the panel follows the editor. */
      readonly uri: string;
      readonly title: string;
      /** Null where the file has errors that leave a number open: the panel keeps its last picture, greyed. */
      readonly layout: ResolvedLayout | null;
      readonly outline: WorldOutline;
      /** How the sequences of the modules are spread, where the file says how long they are. */
      readonly sequences: readonly ModuleSequence[];
      readonly shards: readonly PanelShards[];
      /** The layers of the pipeline stages, where the file gives their number. */
      readonly stages: readonly StageLayers[];
      /** What the layout costs, or why that is not known. */
      readonly cost: CostResult;
      /** The values of its keys. */
      readonly values: readonly KeyValue[];
      /** What each module scores; null where the file has errors. */
      readonly scores: readonly ModuleScore[] | null;
      readonly diagnostics: readonly PanelDiagnostic[];
      /** What of a checkpoint of the layout that it is compared with it can load; empty while it is compared with none. */
      readonly checkpoint: readonly CheckpointVerdict[];
    }
  /** The cursor is in this module (null: in none). */
  | { readonly type: 'cursor'; readonly module: string | null }
  /** What the layout is compared with (null: with nothing any more). */
  | { readonly type: 'base'; readonly base: PanelBase | null }
  /** How the job goes on without these ranks, and its layouts on what is left: null while they are looked for. */
  | {
      readonly type: 'recoveries';
      readonly ranks: readonly number[];
      readonly recoveries: readonly Recovery[];
      readonly resizing: Resizing | null;
    }
  /** What the last text is weighed against, where the panel asked for it. */
  | ({ readonly type: 'tradeoffs'; readonly alternatives: PlottedAlternatives } & Pick<Tradeoffs, 'neighbours'>)
  | ({ readonly type: 'smoke' } & SmokeReport)
  /** What `verify` found of a run. */
  | { readonly type: 'run'; readonly report: RunReport }
  /** Another panel follows the editor now. */
  | { readonly type: 'locked' }
  /** A person asked to see the results of the smoke job. */
  | { readonly type: 'showSmoke' }
  /** A person asked to see what `verify` found. */
  | { readonly type: 'showRun' };

/** With what a layout can be compared. */
export const COMPARISONS = ['nothing', 'saved', 'commit', 'file', 'run'] as const;
export type CompareWith = (typeof COMPARISONS)[number];

/** A layout that a person may put in place of the text: one change away, one of the front, or one on what a failure leaves. */
export const CHANGES = ['neighbour', 'front', 'resized'] as const;
export type ChangeKind = (typeof CHANGES)[number];

/** What is done with it: shown beside the text, written into it, or shown as a patch of the launch files. */
export const CHANGE_WAYS = ['preview', 'apply', 'patch'] as const;
export type ChangeHow = (typeof CHANGE_WAYS)[number];

/** What the panel tells the editor. */
export type FromPanel =
  | { readonly type: 'ready' }
  /** A person chose a rank: show the lines that place it. */
  | { readonly type: 'reveal'; readonly module: string | null }
  | { readonly type: 'revealLine'; readonly line: number }
  /** Offer the fixes of a line. */
  | { readonly type: 'fixLine'; readonly line: number }
  /** Write into the file how the job goes on without these ranks. */
  | { readonly type: 'writeFailed'; readonly ranks: readonly number[] }
  /** Ask how the job goes on without these ranks. */
  | { readonly type: 'askRecoveries'; readonly ranks: readonly number[] }
  /** Write into the file how the job goes on without these ranks, in one of the ways that were told. */
  | { readonly type: 'writeRecovery'; readonly way: Recovery['way']; readonly ranks: readonly number[] }
  /** Put a text on the clipboard. */
  | { readonly type: 'copy'; readonly text: string }
  /** Compare with the last commit, or with another file: this one, or (null) one that the editor asks for. */
  | { readonly type: 'compare'; readonly with: CompareWith; readonly file: string | null }
  /** Weigh the present text against others. */
  | { readonly type: 'weigh' }
  /** Show what a change that was listed does to the text, or make it: one step of undo. */
  | { readonly type: 'tryChange'; readonly kind: ChangeKind; readonly index: number; readonly how: ChangeHow }
  /** Write a key that the file lacks, and let a person choose its value. */
  | { readonly type: 'addKey'; readonly key: string }
  /** Stay with this document, or follow the editor. */
  | { readonly type: 'lock'; readonly locked: boolean }
  | { readonly type: 'runSmokeJob' }
  /** Verify the layout against the run with these files; without any, the editor asks for them. */
  | { readonly type: 'verifyRun'; readonly addresses: readonly string[] }
  /** Ask for the result of `verify` and show it. */
  | { readonly type: 'openRun' }
  /** Save a picture or the table: PNG in base64, the others as text. */
  | { readonly type: 'save'; readonly format: 'svg' | 'png' | 'csv'; readonly data: string };

/** How many files can be dropped at once: a folder of dumps is one. */
export const MAX_DROPPED = 1024;

/** How many ranks can be marked as failed by hand. */
export const MAX_FAILED = 1024;

const isName = nullOr(isString);

const isFromPanel: Guard<FromPanel> = unionBy<FromPanel>({
  ready: {},
  reveal: { module: isName },
  revealLine: { line: isIndex },
  fixLine: { line: isIndex },
  writeFailed: { ranks: arrayOf(isIndex, MAX_FAILED) },
  askRecoveries: { ranks: arrayOf(isIndex, MAX_FAILED) },
  writeRecovery: { way: oneOf('spare-nodes', 'replicas-out'), ranks: arrayOf(isIndex, MAX_FAILED) },
  copy: { text: isString },
  compare: { with: oneOf(...COMPARISONS), file: isName },
  weigh: {},
  tryChange: { kind: oneOf(...CHANGES), index: isIndex, how: oneOf(...CHANGE_WAYS) },
  addKey: { key: isString },
  lock: { locked: isBoolean },
  runSmokeJob: {},
  verifyRun: { addresses: arrayOf(isString, MAX_DROPPED) },
  openRun: {},
  save: { format: oneOf('svg', 'png', 'csv'), data: isString },
});

/** Reads a message from the panel; null for anything that the panel does not send. */
export const parseFromPanel = (value: unknown): FromPanel | null => (isFromPanel(value) ? value : null);

/** The most ranks of a report that are read. */
const MAX_RUN_RANKS = 1_048_576;

/** The most parts of a step that are read. */
const MAX_RUN_PARTS = 1024;

const isRanks = arrayOf(isIndex, MAX_RUN_RANKS);

const isRunReportShape = objectOf({
  verdict: isString,
  culprits: arrayOf(
    objectOf({
      rank: isIndex,
      confidence: isNumber,
      because: arrayOf(isString),
      host: optional(isName),
      gpu: optional(nullOr(isIndex)),
      pid: optional(nullOr(isIndex)),
    }),
    MAX_RUN_RANKS,
  ),
  victims: arrayOf(
    objectOf({ rank: isIndex, waits_for: isRanks, group: isString, op: isString, seq: isNumber }),
    MAX_RUN_RANKS,
  ),
  groups: objectOf({ equal: isIndex, different: arrayOf(objectOf({ name: isString, ranks: isRanks })) }),
  why: arrayOf(isString),
  unseen: isRanks,
  sources: optional(arrayOf(objectOf({ file: isString, kind: isString, ok: isBoolean, note: isString }))),
  measured: optional(
    nullOr(objectOf({ parts: arrayOf(objectOf({ name: isString, by_rank: recordOf(isNumber) }), MAX_RUN_PARTS) })),
  ),
  slow: optional(
    arrayOf(objectOf({ rank: isIndex, part: isString, ratio: isNumber, because: isString }), MAX_RUN_RANKS),
  ),
});

/** Whether a value is what `parallelism-layout verify` prints as JSON. */
export const isRunReport: Guard<RunReport> = (value): value is RunReport => isRunReportShape(value);

const TYPES: readonly ToPanel['type'][] = [
  'layout',
  'cursor',
  'base',
  'recoveries',
  'tradeoffs',
  'smoke',
  'run',
  'locked',
  'showSmoke',
  'showRun',
];

/** Whether a message comes from our half in the editor. Nothing else posts messages of these types to the page. */
export const isToPanel: Guard<ToPanel> = (value): value is ToPanel =>
  typeof value === 'object' && value !== null && TYPES.some((type) => type === Reflect.get(value, 'type'));
