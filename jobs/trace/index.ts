export { readEvidence, SourceError } from './sources';
export type * from './verification';
export {
  differenceText,
  groupsText,
  VERDICT_TITLES,
  verificationReport,
  verificationSections,
} from './verificationReport';
export { type VerifiableLayout, verify } from './verify';
