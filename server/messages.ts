/** What the server tells its client beside the protocol's own messages. */

/** Method of the notification that follows every check of a document. */
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
