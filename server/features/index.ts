import { codeActionFeature } from './codeActions';
import { codeLensFeature } from './codeLens';
import { completionFeature } from './completion';
import { documentLinkFeature } from './documentLinks';
import { documentSymbolFeature } from './documentSymbols';
import type { Feature } from './feature';
import { foldingFeature } from './folding';
import { formattingFeature } from './formatting';
import { hoverFeature } from './hover';
import { inlayHintFeature } from './inlayHints';
import { renameFeature } from './rename';
import { selectionRangeFeature } from './selectionRanges';
import { semanticTokenFeature } from './semanticTokens';

/** Every feature that answers requests about one document. */
export const FEATURES: readonly Feature[] = [
  codeActionFeature,
  codeLensFeature,
  completionFeature,
  documentLinkFeature,
  documentSymbolFeature,
  foldingFeature,
  formattingFeature,
  hoverFeature,
  inlayHintFeature,
  renameFeature,
  selectionRangeFeature,
  semanticTokenFeature,
];
