/** Messages between server and client that the protocol lacks. */

import type { Alternatives, Tradeoffs } from '../layout';

/** Method of the notification that follows every check of a document, for a client that asks for it. */
export const SUMMARY = 'parallelismLayout/summary';

/** The outcome of one check, for a status line. */
export interface Summary {
  readonly uri: string;
  readonly version: number;
  /** Ranks in the job; null where the file leaves that open. */
  readonly ranks: number | null;
  readonly errors: number;
  readonly warnings: number;
}

/** Method of the request for a document's text as the server has it, or null; for tests. */
export const VIEW_TEXT = 'parallelismLayout/viewText';

/**
 * Request for what is said of an open document (`{uri}`), as the list of problems has it: answers with diagnostics of the
 * engine, or null where it is not open.
 */
export const SAID = 'parallelismLayout/said';

/** Request for the layouts that fit the GPUs of a document (`PlanRequest`); answers with a `Plan`. */
export const PLAN = 'parallelismLayout/plan';

export interface PlanRequest {
  readonly uri: string;
  /** How many layouts are listed at most. */
  readonly most: number;
}

/** Request for the ways to continue the job of a document after ranks have failed (`RecoveryRequest`); answers with `Recovery`s. */
export const RECOVERIES = 'parallelismLayout/recoveries';

/**
 * Request for the layouts of the job on the nodes that are left after ranks have failed (`RecoveryRequest`); answers with a
 * `Resizing`, or null where it was cancelled. The server works on it between other requests.
 */
export const RESIZE = 'parallelismLayout/resize';

export interface RecoveryRequest {
  readonly uri: string;
  readonly ranks: readonly number[];
}

/**
 * Request for what a document is weighed against: answers with `WeighedText`, or null where it was cancelled. The server works on
 * it between other requests.
 */
export const TRADEOFFS = 'parallelismLayout/tradeoffs';

export interface TradeoffsRequest {
  readonly uri: string;
  /** The present text. */
  readonly text: string;
  /** The key of the alternatives that the client has. */
  readonly known: string | null;
}

/** The trade-offs of a text. Few changes of a text change its alternatives, which are large. */
export interface WeighedText extends Pick<Tradeoffs, 'neighbours'> {
  /** The same for all texts that have the same alternatives. */
  readonly key: string;
  /** Null where they are those that the client has. */
  readonly alternatives: Alternatives | null;
}

/** Request of a server that reaches no files: the addresses of the layouts under a folder (`{folder}`). */
export const LIST_LAYOUTS = 'parallelismLayout/listLayouts';

/**
 * Request for the text of a file that the server does not reach (`FileRequest`), or null: it cannot be read, is larger than
 * asked for, or lies behind a symbolic link under `root`.
 */
export const READ_FILE = 'parallelismLayout/readFile';

/** A file whose text a server asks for. */
export interface FileRequest {
  readonly uri: string;
  /** Bytes. */
  readonly most: number;
  /** The folder that links must not lead out of; left out: links are followed. */
  readonly root?: string;
}

/** Commands of the client that lenses may run; left out where they do not exist or cannot run. */
export interface Commands {
  /** Takes the document's address. */
  readonly showGrid?: string;
  /** Takes the document's address. */
  readonly runSmokeJob?: string;
  /** Takes the document's address and that of a launch file. */
  readonly compareLaunchFile?: string;
  /** Takes the document's address, where it is empty, and what it starts from: `template`, `flags` or `launch`. */
  readonly newLayout?: string;
  /** Takes the document's address. */
  readonly addModel?: string;
}

/** What a client may say when it starts the server (`initializationOptions`). */
export interface ServerOptions {
  /** `push`: diagnostics are sent as they arise although the client could ask for them. */
  readonly diagnostics?: 'push';
  /** Whether every check is followed by a `SUMMARY`: other clients would not know it. */
  readonly summaries?: boolean;
  /** `false`: files of the workspace that are not open are not checked. */
  readonly workspaceDiagnostics?: boolean;
  readonly commands?: Commands;
}
