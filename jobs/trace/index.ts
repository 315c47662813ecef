export { culpritPlace, differenceText, groupsText, VERDICT_TITLES, verificationReport } from './report';
export { readEvidence, SourceError } from './sources';
export type * from './verification';
export { isVerifiable, verify } from './verify';
