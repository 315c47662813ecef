export { readEvidence, SourceError } from './sources';
export type * from './verification';
export { culpritPlace, differenceText, groupsText, VERDICT_TITLES, verificationReport } from './verificationReport';
export { isVerifiable, verify } from './verify';
