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
import {
  arrayOf,
  type Guard,
  type Guarded,
  isBoolean,
  isIndex,
  isString,
  nullOr,
  oneOf,
  unionBy,
} from '../../picture/guard';
import type { RunReport } from '../../picture/runOutcome';
import type { SmokeReport } from '../../picture/smokeOutcome';
import type { StageLayers } from '../../picture/stageLayers';
import type { WorldOutline } from '../../picture/worldDiagram';

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
  /** What the last text is weighed against, where the panel asked for it; without the alternatives where they are still the same. */
  | ({ readonly type: 'tradeoffs'; readonly alternatives: PlottedAlternatives | null } & Pick<Tradeoffs, 'neighbours'>)
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
export const isComparison = oneOf('nothing', 'saved', 'commit', 'file', 'run');
export type CompareWith = Guarded<typeof isComparison>;

/** A layout that a person may put in place of the text: one change away, one of the front, or one on what a failure leaves. */
const isChangeKind = oneOf('neighbour', 'front', 'resized');
export type ChangeKind = Guarded<typeof isChangeKind>;

/** What is done with it: shown beside the text, written into it, or shown as a patch of the launch files. */
const isChangeHow = oneOf('preview', 'apply', 'patch');
export type ChangeHow = Guarded<typeof isChangeHow>;

/** How many files can be dropped at once: a folder of dumps is one. */
export const MAX_DROPPED = 1024;

/** How many ranks can be marked as failed by hand. */
export const MAX_FAILED = 1024;

const isName = nullOr(isString);

const isFailed = arrayOf(isIndex, MAX_FAILED);

/** What the panel tells the editor. */
const isFromPanel = unionBy({
  ready: {},
  /** A person chose a rank: show the lines that place it. */
  reveal: { module: isName },
  revealLine: { line: isIndex },
  /** Offer the fixes of a line. */
  fixLine: { line: isIndex },
  /** Write into the file how the job continues without these ranks. */
  writeFailed: { ranks: isFailed },
  /** Ask how the job can continue without these ranks. */
  askRecoveries: { ranks: isFailed },
  /** Write one of the listed ways to continue without these ranks into the file. */
  writeRecovery: { way: oneOf<Recovery['way']>('spare-nodes', 'replicas-out'), ranks: isFailed },
  /** Put a text on the clipboard. */
  copy: { text: isString },
  /** Compare with the last commit, or with another file: this one, or (null) one that the editor asks for. */
  compare: { with: isComparison, file: isName },
  /** Weigh the present text against others. */
  weigh: {},
  /** Show what a change that was listed does to the text, or make it: one step of undo. */
  tryChange: { kind: isChangeKind, index: isIndex, how: isChangeHow },
  /** Write a key that the file lacks, and let a person choose its value. */
  addKey: { key: isString },
  /** Stay with this document, or follow the editor. */
  lock: { locked: isBoolean },
  runSmokeJob: {},
  /** Verify the layout against the run with these files; without any, the editor asks for them. */
  verifyRun: { addresses: arrayOf(isString, MAX_DROPPED) },
  /** Ask for the result of `verify` and show it. */
  openRun: {},
  /** Save a picture or the table: PNG in base64, the others as text. */
  save: { format: oneOf('svg', 'png', 'csv'), data: isString },
});
export type FromPanel = Guarded<typeof isFromPanel>;

/** Reads a message from the panel; null for anything that the panel does not send. */
export const parseFromPanel = (value: unknown): FromPanel | null => (isFromPanel(value) ? value : null);

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
