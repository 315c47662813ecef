export { readEvidence, SourceError } from './sources';
export type * from './verification';
export { isVerifiable, verify } from './verify';
