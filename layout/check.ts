import type { Finding, Fix } from './finding';
import { applyEdits } from './format/edit';
import { LineIndex } from './format/lines';
import { type ReadLayout, readLayout } from './format/read';
import { RULES } from './rules/registry';
import { findingsOf } from './rules/rule';
import { type LayoutFacts, layoutFacts } from './topology/facts';
import { resolveLayout } from './topology/resolve';
import type { ResolvedLayout } from './topology/resolved';

/** All that is known of one layout file. */
export interface Checked {
  readonly text: string;
  readonly lines: LineIndex;
  readonly read: ReadLayout;
  /** What the rules read; null where the file could not be read as a map. */
  readonly facts: LayoutFacts | null;
  /** In the order of the file. */
  readonly findings: readonly Finding[];
  /** The layout with every number known; null where an error leaves a number open. */
  readonly resolved: ResolvedLayout | null;
}

/**
 * Reads a layout file and applies every rule. Never throws; its cost does not grow with the number of ranks.
 * @param text the whole file
 */
export function check(text: string): Checked {
  const lines = new LineIndex(text);
  const read = readLayout(text);
  const facts = read.root && read.tree.root ? layoutFacts(text, read.root, read.tree.root.span, read.tooSmall) : null;
  const findings = [...read.findings];
  if (facts) {
    for (const rule of RULES) {
      findings.push(...findingsOf(rule, facts));
    }
  }
  findings.sort((a, b) => a.span.start - b.span.start || a.span.end - b.span.end);
  return { text, lines, read, facts, findings, resolved: facts && resolveLayout(facts) };
}

/** Whether a finding of severity `error` stands against the file. */
export function hasErrors({ findings }: Checked): boolean {
  return findings.some(({ severity }) => severity === 'error');
}

/**
 * The fixes of a finding that hold: applied, the finding is gone and no error is new. Each is tried by checking the
 * mended text, so this is for when a person or a report asks for fixes, not for every keystroke.
 */
export function soundFixes(checked: Checked, finding: Finding): Fix[] {
  const before = tally(checked.findings);
  return finding.fixes.filter(({ edits }) => {
    const after = tally(check(applyEdits(checked.text, edits)).findings);
    const gone = (after.get(finding.code)?.all ?? 0) < (before.get(finding.code)?.all ?? 0);
    return gone && [...after].every(([code, { errors }]) => errors <= (before.get(code)?.errors ?? 0));
  });
}

function tally(findings: readonly Finding[]): Map<string, { all: number; errors: number }> {
  const counts = new Map<string, { all: number; errors: number }>();
  for (const { code, severity } of findings) {
    const count = counts.get(code) ?? { all: 0, errors: 0 };
    count.all++;
    count.errors += severity === 'error' ? 1 : 0;
    counts.set(code, count);
  }
  return counts;
}
