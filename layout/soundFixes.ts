import { type Checked, check } from './check';
import type { Diagnostic, Edit, Fix } from './diagnostic';
import { applyEdits } from './format/edit';
import { MAX_DIAGNOSTICS } from './format/limits';
import { memoizeRecent } from './memoize';

/** How much work is done to try all fixes of a file, in UTF-16 units of text that is checked: a second or two. */
export const MAX_TRIED = 8 * 1024 * 1024;

/** What one diagnostic adds to the work of a check, in the same unit. */
const DIAGNOSTIC_WORK = 512;

/** The same while a person waits: a tenth of a second. */
export const MAX_TRIED_AT_ONCE = 512 * 1024;

/**
 * The fixes that hold, for each of some diagnostics of a file: applied, the diagnostic is gone and a suggestion brings no new
 * error. Each is tried by a check of the whole file; the fixes that come after `limit` units of work are left out.
 */
export function soundFixes(
  checked: Checked,
  diagnostics: readonly Diagnostic[] = checked.diagnostics,
  limit = MAX_TRIED,
): ReadonlyMap<Diagnostic, readonly Fix[]> {
  let left = errorsIn(checked) > MAX_DIAGNOSTICS ? 0 : limit;
  const isSound = (diagnostic: Diagnostic, fix: Fix) => {
    if (left <= 0) {
      return false;
    }
    left -= workOf(checked);
    return holds(checked, diagnostic, fix);
  };
  return new Map(
    diagnostics.map((diagnostic) => [diagnostic, diagnostic.fixes.filter((fix) => isSound(diagnostic, fix))]),
  );
}

/** Whether edits bring no error that the file does not have: no code is reported as an error more often than before. */
export function bringsNoError(checked: Checked, edits: readonly Edit[]): boolean {
  return isNoWorse(checked, edited(checked, edits));
}

/** A file after fixes. */
export interface Fixed {
  readonly text: string;
  readonly fixes: readonly AppliedFix[];
}

/** A fix that was applied. */
export interface AppliedFix {
  readonly code: string;
  readonly title: string;
  /** The line of the diagnostic when the fix was applied, from 1. */
  readonly line: number;
}

/**
 * The file after all safe fixes that hold, applied one after the other, as each may change what the next one is.
 * @param limit how much work is done at most; the fixes beyond are left out
 */
export function applySafeFixes(checked: Checked, limit = MAX_TRIED_AT_ONCE): Fixed {
  return applied(checked, ({ applicability }) => applicability === 'safe', limit);
}

/**
 * The file after the first fix that holds of every error and warning, safe or not, one after the other.
 */
export function applyAllFixes(checked: Checked): Fixed {
  return applied(checked, () => true, MAX_TRIED);
}

function applied(checked: Checked, isWanted: (fix: Fix) => boolean, limit: number): Fixed {
  const fixes: AppliedFix[] = [];
  let now = checked;
  let left = limit;
  for (let i = 0; i < now.diagnostics.length && left > 0; ) {
    const diagnostic = now.diagnostics[i++];
    const fix = diagnostic?.fixes.filter(isWanted).find((one) => {
      left -= workOf(now);
      return left > 0 && holds(now, diagnostic, one);
    });
    if (diagnostic && fix) {
      const line = now.lines.positionAt(diagnostic.span.start).line + 1;
      fixes.push({ code: diagnostic.code, title: fix.title, line });
      now = edited(now, fix.edits);
      i = 0;
    }
  }
  return { text: now.text, fixes };
}

/** The file after edits, checked with the same severities. */
function edited({ text, levels }: Checked, edits: readonly Edit[]): Checked {
  return check(applyEdits(text, edits), levels);
}

/** What a check of a file like this one costs. */
const workOf = ({ text, diagnostics }: Checked) => text.length + DIAGNOSTIC_WORK * diagnostics.length;

/** A safe fix writes what the author means, so errors that show once the file can be read do not count against it. */
function holds(checked: Checked, { code, message }: Diagnostic, { applicability, edits }: Fix): boolean {
  const after = edited(checked, edits);
  if (applicability === 'safe') {
    const times = ({ diagnostics }: Checked) => diagnostics.filter((one) => one.message === message).length;
    return times(after) < times(checked) && STRUCTURE.every((one) => timesOf(after, one) <= timesOf(checked, one));
  }
  return timesOf(after, code) < timesOf(checked, code) && isNoWorse(checked, after);
}

/** Codes that no fix may add. */
const STRUCTURE = ['yaml-syntax', 'duplicate-key'];

const timesOf = (checked: Checked, code: string) => countsOf(checked).all.get(code) ?? 0;

/** Not known, and so false, for a file with more errors than are listed. */
function isNoWorse(before: Checked, after: Checked): boolean {
  const { errors } = countsOf(before);
  const isKnown = errorsIn(before) <= MAX_DIAGNOSTICS;
  return isKnown && [...countsOf(after).errors].every(([code, count]) => count <= (errors.get(code) ?? 0));
}

const errorsIn = (checked: Checked) => [...countsOf(checked).errors.values()].reduce((sum, count) => sum + count, 0);

/** How often each code is reported, and how often as an error. */
interface Counts {
  readonly all: ReadonlyMap<string, number>;
  readonly errors: ReadonlyMap<string, number>;
}

const countsOf = memoizeRecent(({ diagnostics }: Checked): Counts => {
  const all = new Map<string, number>();
  const errors = new Map<string, number>();
  for (const { code, severity } of diagnostics) {
    all.set(code, (all.get(code) ?? 0) + 1);
    if (severity === 'error') {
      errors.set(code, (errors.get(code) ?? 0) + 1);
    }
  }
  return { all, errors };
});
