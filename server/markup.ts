import { type MarkupContent, MarkupKind } from 'vscode-languageserver';
import type { Markdown } from '../layout';

/** Markdown as a client shows it: the one place that hands Markdown out, so that nothing else than escaped texts get there. */
export function markup({ source }: Markdown): MarkupContent {
  return { kind: MarkupKind.Markdown, value: source };
}
