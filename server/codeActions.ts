import { type CodeAction, CodeActionKind, type Diagnostic, type Range } from 'vscode-languageserver';
import { type Checked, type Finding, type Fix, type LineIndex, soundFixes } from '../layout';
import { diagnosticOf } from './diagnostics';

/** The quick fixes of the findings that touch a range, the safest of each preferred. */
export function codeActions(uri: string, checked: Checked, range: Range, only?: readonly string[]): CodeAction[] {
  if (only && !only.some((kind) => CodeActionKind.QuickFix.startsWith(kind))) {
    return [];
  }
  const { lines, findings } = checked;
  const start = lines.offsetAt(range.start);
  const end = lines.offsetAt(range.end);
  return findings
    .filter(({ span }) => span.start <= end && span.end >= start)
    .flatMap((finding) => fixActions(uri, checked, finding));
}

function fixActions(uri: string, checked: Checked, finding: Finding): CodeAction[] {
  const diagnostic = diagnosticOf(uri, finding, checked.lines);
  return soundFixes(checked, finding).map((fix, i) => quickFix(uri, fix, diagnostic, checked.lines, i === 0));
}

function quickFix(
  uri: string,
  { title, edits }: Fix,
  diagnostic: Diagnostic,
  lines: LineIndex,
  isPreferred: boolean,
): CodeAction {
  return {
    title,
    kind: CodeActionKind.QuickFix,
    diagnostics: [diagnostic],
    isPreferred,
    edit: { changes: { [uri]: edits.map(({ span, newText }) => ({ range: lines.rangeOf(span), newText })) } },
  };
}
