import { type CodeAction, CodeActionKind, type Range } from 'vscode-languageserver';
import {
  ALWAYS_SAID,
  applySafeFixes,
  type Checked,
  type Diagnostic,
  ignoreEdit,
  type LineIndex,
  MAX_TRIED_AT_ONCE,
  soundFixes,
} from '../../layout';
import { type Rewrite, refactors } from '../refactors';
import { diagnosticOf } from './diagnostics';
import { feature } from './feature';

/** The action that applies all safe fixes. */
const FIX_ALL = `${CodeActionKind.SourceFixAll}.parallelismLayout`;

export const codeActionFeature = feature(
  {
    codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix, CodeActionKind.RefactorRewrite, FIX_ALL] },
  },
  ({ connection, documents, launch, checked }) => {
    connection.onCodeAction(({ textDocument: { uri }, range, context: { only } }) => {
      const isLaunchFile = launch?.has(uri) === true && !documents.checked(uri);
      return [
        ...(isLaunchFile ? [] : codeActions(uri, checked(uri), range, only)),
        ...(isWanted(CodeActionKind.QuickFix, only) ? (launch?.actions(uri, range) ?? []) : []),
      ];
    });
  },
);

/** What can be done at a range: quick fixes of its diagnostics, the safest preferred; other ways to write it; fix all. */
export function codeActions(uri: string, checked: Checked, range: Range, only?: readonly string[]): CodeAction[] {
  const wanted = (kind: string) => isWanted(kind, only);
  return [
    ...(wanted(CodeActionKind.QuickFix) ? quickFixes(uri, checked, range) : []),
    ...(wanted(CodeActionKind.RefactorRewrite) ? rewrites(uri, checked, range) : []),
    // it tries fixes one after the other, so only on request
    ...(only && wanted(FIX_ALL) ? fixAll(uri, checked) : []),
  ];
}

/** Whether a client asks for actions of a kind. */
export function isWanted(kind: string, only?: readonly string[]): boolean {
  return !only || only.some((asked) => kind === asked || kind.startsWith(`${asked}.`));
}

function quickFixes(uri: string, checked: Checked, range: Range): CodeAction[] {
  const { lines, diagnostics } = checked;
  const start = lines.offsetAt(range.start);
  const end = lines.offsetAt(range.end);
  const touched = diagnostics.filter(({ span }) => span.start <= end && span.end >= start);
  const actions: CodeAction[] = [];
  for (const [diagnostic, fixes] of soundFixes(checked, touched, MAX_TRIED_AT_ONCE)) {
    const shown = fixes.length > 0 ? [diagnosticOf(uri, diagnostic, lines)] : [];
    for (const fix of fixes) {
      actions.push({
        ...action(uri, fix, lines, CodeActionKind.QuickFix),
        diagnostics: shown,
        isPreferred: fix === fixes[0],
      });
    }
  }
  return [...actions, ...touched.flatMap((diagnostic) => ignoreAction(uri, checked, diagnostic))];
}

/** Silences a rule on its line; not offered for rules that say that a file cannot be read. */
export function ignoreAction(uri: string, checked: Checked, diagnostic: Diagnostic): CodeAction[] {
  const { text, lines, read } = checked;
  if (ALWAYS_SAID.has(diagnostic.code)) {
    return [];
  }
  const still = diagnostic.severity === 'error' && diagnostic.predicts !== null;
  const title = `Ignore ${diagnostic.code} on this line${still ? ` (${diagnostic.speaker} still raises)` : ''}`;
  const edits = [ignoreEdit(text, lines, read.tree.root, diagnostic)];
  return [
    {
      ...action(uri, { title, edits }, lines, CodeActionKind.QuickFix),
      diagnostics: [diagnosticOf(uri, diagnostic, lines)],
    },
  ];
}

function rewrites(uri: string, checked: Checked, range: Range): CodeAction[] {
  const { lines } = checked;
  const place = { start: lines.offsetAt(range.start), end: lines.offsetAt(range.end) };
  return refactors(checked, place).map((fix) => action(uri, fix, lines, CodeActionKind.RefactorRewrite));
}

/** One action for all fixes that may be applied unasked. */
function fixAll(uri: string, checked: Checked): CodeAction[] {
  const { text: newText } = applySafeFixes(checked);
  if (newText === checked.text) {
    return [];
  }
  const edits = [{ span: { start: 0, end: checked.text.length }, newText }];
  return [action(uri, { title: 'Fix all unambiguous problems', edits }, checked.lines, FIX_ALL)];
}

/** Edits of a file as an action. */
export function action(uri: string, { title, edits }: Rewrite, lines: LineIndex, kind: string): CodeAction {
  return {
    title,
    kind,
    edit: { changes: { [uri]: edits.map(({ span, newText }) => ({ range: lines.rangeOf(span), newText })) } },
  };
}
