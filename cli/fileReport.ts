import type { DiagnosticData } from '../layout';

/** What `check --format jsonl` prints of one file. */
export interface FileReport {
  readonly file: string;
  /** Whether the file could be read and no diagnostic of severity `error` stands against it. */
  readonly ok: boolean;
  readonly findings: readonly DiagnosticData[];
  /** Why the file could not be used at all; absent where it could. */
  readonly error?: string;
}
