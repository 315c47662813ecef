import { type Checked, RULES, type Severity } from '../layout';
import type { InputFile } from './files';
import { styled } from './output';
import type { OutputItem } from './outputSchemas';

/** How often a rule fired. */
export type Statistic = OutputItem<'check-statistics'>;

const SEVERITIES: readonly Severity[] = ['error', 'warning', 'information'];

/**
 * How often each rule fired, the most frequent first.
 * @param note called once for each file
 */
export function statisticsOf(inputs: Iterable<InputFile>, note: (checked: Checked) => void): Statistic[] {
  const byCode = new Map<string, Statistic>();
  for (const input of inputs) {
    if ('error' in input) {
      continue;
    }
    note(input.checked);
    const seen = new Set<string>();
    for (const { code, severity } of input.checked.diagnostics) {
      const { count = 0, files = 0, severity: other = severity } = byCode.get(code) ?? {};
      byCode.set(code, {
        code,
        severity: SEVERITIES.find((one) => one === severity || one === other) ?? severity,
        count: count + 1,
        files: files + (seen.has(code) ? 0 : 1),
        title: RULES.find((rule) => rule.code === code)?.title ?? '',
      });
      seen.add(code);
    }
  }
  return [...byCode.values()].sort((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1));
}

/** A line a rule: how often it fired, its severity, its code and its title. */
export function statisticsText(found: readonly Statistic[]): string {
  if (found.length === 0) {
    return `${styled('green', 'no problems')}\n`;
  }
  const counts = Math.max(...found.map(({ count }) => String(count).length));
  const codes = Math.max(...found.map(({ code }) => code.length));
  return found
    .map(
      ({ code, severity, count, title }) =>
        `${String(count).padStart(counts)}  ${severity.padEnd('information'.length)}  ${code.padEnd(codes)}  ${title}\n`,
    )
    .join('');
}
