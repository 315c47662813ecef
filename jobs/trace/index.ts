export { readEvidence, SourceError } from './sources';
export type * from './verification';
export {
  differenceText,
  groupsText,
  VERDICT_TITLES,
  verificationReport,
  verificationSections,
} from './verificationReport';
export { isVerifiable, type VerifiableLayout, verify } from './verify';
