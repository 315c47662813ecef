import { applyEdits, type Checked, check, type Finding, type Fix, isSound, type LineIndex } from '../../layout';
import { Budget } from '../budget';
import { FIX_ALL } from '../capabilities';
import { type CodeAction, CodeActionKind, type Range } from '../protocol';
import { refactors } from '../refactors';
import { diagnosticOf } from './diagnostics';

/** What can be done at a range: quick fixes of its findings, the safest preferred; other ways to write it; fix all. */
export function codeActions(uri: string, checked: Checked, range: Range, only?: readonly string[]): CodeAction[] {
  const wanted = (kind: string) => !only || only.some((asked) => kind === asked || kind.startsWith(`${asked}.`));
  return [
    ...(wanted(CodeActionKind.QuickFix) ? quickFixes(uri, checked, range) : []),
    ...(wanted(CodeActionKind.RefactorRewrite) ? rewrites(uri, checked, range) : []),
    // it tries fixes one after the other, so only when it is asked for
    ...(only && wanted(FIX_ALL) ? fixAll(uri, checked) : []),
  ];
}

function quickFixes(uri: string, checked: Checked, range: Range): CodeAction[] {
  const { lines, findings } = checked;
  const start = lines.offsetAt(range.start);
  const end = lines.offsetAt(range.end);
  const budget = new Budget();
  const actions: CodeAction[] = [];
  for (const finding of findings) {
    if (budget.isSpent) {
      break;
    }
    if (finding.span.start <= end && finding.span.end >= start) {
      actions.push(...fixActions(uri, checked, finding, budget));
    }
  }
  return actions;
}

function fixActions(uri: string, checked: Checked, finding: Finding, budget: Budget): CodeAction[] {
  const diagnostics = [diagnosticOf(uri, finding, checked.lines)];
  return [...fixesWithin(checked, finding, budget)].map((fix, i) => ({
    ...action(uri, fix, checked.lines, CodeActionKind.QuickFix),
    diagnostics,
    isPreferred: i === 0,
  }));
}

function rewrites(uri: string, checked: Checked, range: Range): CodeAction[] {
  const { lines } = checked;
  const place = { start: lines.offsetAt(range.start), end: lines.offsetAt(range.end) };
  return refactors(checked, place).map((fix) => action(uri, fix, lines, CodeActionKind.RefactorRewrite));
}

/**
 * Mends the findings that leave no choice, one after the other, as each fix may change what the next one is. Where a
 * finding could be mended in several ways, the author decides. What time does not allow is left to the next time.
 */
function fixAll(uri: string, checked: Checked): CodeAction[] {
  const budget = new Budget();
  let now = checked;
  for (let next = onlyFix(now, budget); next; next = onlyFix(now, budget)) {
    now = check(applyEdits(now.text, next.edits));
  }
  if (now.text === checked.text) {
    return [];
  }
  const whole = { start: 0, end: checked.text.length };
  const fix = { title: 'Fix all that can be mended in one way only', edits: [{ span: whole, newText: now.text }] };
  return [action(uri, fix, checked.lines, FIX_ALL)];
}

function onlyFix(checked: Checked, budget: Budget): Fix | undefined {
  for (const finding of checked.findings) {
    const [fix, ...others] = fixesWithin(checked, finding, budget);
    if (budget.isSpent) {
      return undefined;
    }
    if (fix && others.length === 0) {
      return fix;
    }
  }
  return undefined;
}

/** The fixes of a finding that hold, as far as the budget allows to try them. */
function* fixesWithin(checked: Checked, finding: Finding, budget: Budget): Iterable<Fix> {
  for (const fix of finding.fixes) {
    if (budget.isSpent) {
      return;
    }
    if (isSound(checked, finding, fix)) {
      yield fix;
    }
  }
}

function action(uri: string, { title, edits }: Fix, lines: LineIndex, kind: string): CodeAction {
  return {
    title,
    kind,
    edit: { changes: { [uri]: edits.map(({ span, newText }) => ({ range: lines.rangeOf(span), newText })) } },
  };
}
