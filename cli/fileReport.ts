import type { OutputItem } from './outputSchemas';

/** What `check --format jsonl` prints of one file. */
export type FileReport = OutputItem<'check'>;
