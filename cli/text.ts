import {
  type AppliedFix,
  type Checked,
  type Diagnostic,
  type Fix,
  type LineIndex,
  type Severity,
  type Span,
  soundFixes,
  terminalLine,
} from '../layout';
import { styled } from './output';

const COLOURS = { error: 'red', warning: 'yellow', information: 'blue' } as const;

/** What marks a fix that `--fix` writes. */
const SAFE = ' [*]';

/** The widest part of a source line that is shown, in characters. */
const WIDTH = 120;

/** The diagnostics of a file as text, with the fixes of each. */
export function* diagnosticTexts(file: string, checked: Checked, found = soundFixes(checked)): Iterable<string> {
  for (const [diagnostic, fixes] of found) {
    yield diagnosticText(file, checked.lines, diagnostic, fixes);
  }
}

/** The fixes that were written to a file, a line each. */
export function* fixTexts(file: string, fixes: readonly AppliedFix[]): Iterable<string> {
  for (const { code, title, line } of fixes) {
    yield `${terminalLine(file)}:${line}: ${styled('green', `fixed[${code}]`)}: ${terminalLine(title)}\n`;
  }
}

/**
 * A diagnostic as text: the place and message, the line with the value underlined, the error that Megatron-LM
 * would raise, the other places that take part, and its fixes.
 */
function diagnosticText(file: string, lines: LineIndex, diagnostic: Diagnostic, fixes: readonly Fix[]): string {
  const { line, character } = lines.positionAt(diagnostic.span.start);
  const head = styled(['bold', COLOURS[diagnostic.severity]], `${diagnostic.severity}[${diagnostic.code}]`);
  const gutter = ' '.repeat(String(lines.count).length + 1);
  const note = (label: string, text: string) =>
    `${gutter}${styled('cyan', '=')} ${styled('bold', label)}: ${terminalLine(text)}`;
  return [
    `${terminalLine(file)}:${line + 1}:${character + 1}: ${head}: ${terminalLine(diagnostic.message)}`,
    ...excerpt(lines, diagnostic.span, diagnostic.severity, gutter),
    ...(diagnostic.predicts ? [note(diagnostic.speaker, diagnostic.predicts)] : []),
    ...diagnostic.related.map(({ message, span }) => note(`line ${lines.positionAt(span.start).line + 1}`, message)),
    ...fixes.slice(0, 3).map((fix) => note('fix', `${fix.title}${fix.applicability === 'safe' ? SAFE : ''}`)),
    '',
    '',
  ].join('\n');
}

function excerpt(lines: LineIndex, span: Span, severity: Severity, gutter: string): string[] {
  const { line } = lines.positionAt(span.start);
  const whole = lines.lineSpan(line);
  const from = Math.max(whole.start, Math.min(span.start - 40, whole.end - WIDTH));
  const to = Math.min(whole.end, from + WIDTH);
  const source = lines.text.slice(from, to);
  const width = Math.max(1, Math.min(span.end, to) - span.start);
  const number = String(line + 1).padStart(gutter.length - 1);
  const bar = styled('cyan', '|');
  return [
    `${gutter}${bar}`,
    `${styled('cyan', number)} ${bar} ${terminalLine(source)}`,
    `${gutter}${bar} ${' '.repeat(span.start - from)}${styled(['bold', COLOURS[severity]], '^'.repeat(width))}`,
  ];
}

/**
 * The last lines: the numbers of files, of diagnostics and of fixes.
 * @param quiet only errors were counted
 */
export function summaryText(
  totals: { files: number; unusable: number; fixed: number; fixable: number } & Record<Severity, number>,
  quiet: boolean,
): string {
  const count = (n: number, noun: string, nouns = `${noun}s`) => `${n} ${n === 1 ? noun : nouns}`;
  const found = [
    ...(totals.error > 0 ? [styled('red', count(totals.error, 'error'))] : []),
    ...(totals.warning > 0 ? [styled('yellow', count(totals.warning, 'warning'))] : []),
    ...(totals.information > 0 ? [count(totals.information, 'note')] : []),
  ];
  const files = count(totals.files, 'file');
  const unusable = totals.unusable > 0 ? `, ${totals.unusable} not usable` : '';
  const none = totals.files === 0 ? [] : [styled('green', quiet ? 'no errors' : 'no problems')];
  const result = (found.length > 0 ? found : none).join(', ');
  const fixed = totals.fixed > 0 ? `; ${totals.fixed} fixed` : '';
  const safe = totals.fixable > 0 ? `[*] --fix writes ${count(totals.fixable, 'fix', 'fixes')}\n` : '';
  return `${safe}${files} checked${unusable}${result === '' ? '' : `: ${result}`}${fixed}\n`;
}
