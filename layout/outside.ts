import { type Checked, weighed } from './check';
import type { Diagnostic, Span } from './diagnostic';
import { visible } from './escape';
import { ignoresOf, sift } from './ignores';
import { launchDrift } from './rules/launch/launch-drift';
import { type Report, type Rule, toDiagnostic } from './rules/rule';

/** How many launch files of one layout are compared. */
const MAX_NAMED = 16;

/** A launch file that a layout names, and where it does. */
export interface NamedFile {
  readonly name: string;
  readonly span: Span;
}

/** The launch files that a layout names; only so many are compared. */
export function namedLaunchFiles({ read }: Checked): readonly NamedFile[] {
  const files = read.root?.launch.value?.files.value ?? [];
  return files.slice(0, MAX_NAMED).map(({ value, span }) => ({ name: value ?? '', span }));
}

/** A difference between a layout and a launch file, as far as the layout shows it. */
interface Difference {
  readonly message: string;
  /** The offset is null where the layout does not write the key. */
  readonly layout: { readonly offset: number | null };
}

/** A difference with its diagnostic on the layout. */
export interface SaidDifference<T extends Difference> {
  readonly difference: T;
  readonly diagnostic: Diagnostic;
}

/**
 * The differences that comments and severities of a layout do not silence.
 * @param named where the layout names the launch file: the place of a difference whose key the layout does not write
 */
export function saidDifferences<T extends Difference>(
  checked: Checked,
  named: Span,
  differences: readonly T[],
): SaidDifference<T>[] {
  const say = outside(checked, launchDrift);
  return differences.flatMap((difference) => {
    const { offset } = difference.layout;
    const span = offset === null ? named : wordAt(checked.text, offset);
    const diagnostic = say({ message: difference.message, span });
    return diagnostic ? [{ difference, diagnostic }] : [];
  });
}

/** A note that a launch file is not compared, at the place where the layout names it; null where it is silenced. */
export function notCompared(checked: Checked, { name, span }: NamedFile, reason: string): Diagnostic | null {
  const message = visible(`This layout is not compared with ${name}: ${reason}.`);
  return outside(checked, launchDrift)({ message, span, severity: 'information' });
}

/**
 * Turns reports of a rule that needs other files into diagnostics: null where a comment of the layout or the severities that it
 * is checked with silence one.
 */
function outside({ text, lines, read, levels }: Checked, rule: Rule): (report: Report) => Diagnostic | null {
  const ignores = ignoresOf(text, lines, read.tree.root);
  return (report) => {
    const { said } = sift([toDiagnostic(rule, report)], ignores, lines);
    return said.flatMap((diagnostic) => weighed(diagnostic, levels))[0] ?? null;
  };
}

/** The value at an offset of a layout or of a launch file, at least one character. */
export function wordAt(text: string, offset: number): Span {
  const word =
    /^(?:#SBATCH[^\r\n]*|\$?\(\([^()\r\n]*\)\)|[^\s,;"'{}[\]()#]+)/.exec(text.slice(offset, offset + 200))?.[0] ?? '';
  return { start: offset, end: Math.min(text.length, offset + Math.max(1, word.length)) };
}
