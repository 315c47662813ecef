import { check } from '../check';
import type { Edit, Span } from '../diagnostic';
import { soundFixes } from '../soundFixes';
import { job, type Rule } from './rule';

export { job, modules } from './rule';

/** What stands for the words of an assertion that has none. */
const NO_MESSAGE = 'an assertion without a message';

/** From this many characters on, an underlined text is counted, not quoted. */
const LONG = 100;

/** A layout of a framework: `of('torchtitan', 8, 'tp: 2', 'data_parallel_shard_degree: 4')`; the last are keys of `fsdp`. */
export function of(family: string, ranks: number, degrees: string, fsdp = ''): string {
  return job(ranks, degrees, `launch: {family: ${family}}`, ...(fsdp === '' ? [] : [`fsdp: {${fsdp}}`]));
}

/**
 * A job of the training script: `job` with the keys that the script asks for. What `keys` give stands in place of the least:
 * `scriptJob(8, 'tp: 2', { batch: 'micro_batch_size: 1, global_batch_size: 12' })`.
 */
export function scriptJob(ranks: number, degrees: string, keys: Readonly<Record<string, string>> = {}): string {
  const sections = {
    model: 'num_layers: 8, hidden_size: 64, num_attention_heads: 8',
    sequence: 'seq_length: 64',
    batch: 'micro_batch_size: 1',
    ...keys,
  };
  return job(ranks, degrees, ...Object.entries(sections).map(([name, inside]) => `${name}: {${inside}}`));
}

/** What is said of each file, as `report` writes it, behind the file's name; files of which nothing is said are left out. */
export function reports(rule: Rule, files: Readonly<Record<string, string>>): string {
  return Object.entries(files)
    .map(([name, text]) => ({ name, said: report(rule, text).replaceAll('\n', '\n  ') }))
    .filter(({ said }) => said !== '')
    .map(({ name, said }) => `${name}: ${said}`)
    .join('\n');
}

/**
 * All that is said of a file by a rule, and every error whatever its rule, as text: severity, the underlined text and the
 * message, then a line each Megatron-LM's words, the related places, and the fixes that hold with what they change.
 * Empty where nothing is said.
 */
export function report(rule: Rule, text: string): string {
  const checked = check(text);
  const said = checked.diagnostics.filter(({ code, severity }) => code === rule.code || severity === 'error');
  const fixes = soundFixes(checked, said);
  return said
    .flatMap((diagnostic) => {
      const { code, severity, message, span, predicts, speaker, related } = diagnostic;
      const at = ({ start, end }: Span) =>
        end - start > LONG ? `${end - start} characters` : JSON.stringify(text.slice(start, end));
      return [
        `${code === rule.code ? severity : `${severity}[${code}]`} at ${at(span)}: ${message}`,
        ...(predicts === null ? [] : [`= ${speaker}: ${predicts || NO_MESSAGE}`]),
        ...related.map((place) => `= at ${at(place.span)}: ${place.message}`),
        ...(fixes.get(diagnostic) ?? []).map(
          ({ title, applicability, edits }) =>
            `= ${applicability === 'safe' ? 'safe fix' : 'suggestion'}: ${title}: ${changed(text, edits)}`,
        ),
      ];
    })
    .join('\n');
}

/**
 * The lines that edits change, marked as wdiff marks them: `{tp: [-3-]{+2+}}`. A line break in a mark is a `⏎`.
 * @throws where edits overlap, which an editor refuses
 */
function changed(text: string, edits: readonly Edit[]): string {
  const mark = (open: string, words: string, close: string) =>
    words === '' ? '' : `\0${open}${words.replaceAll('\n', '⏎')}${close}`;
  const ordered = [...edits].sort(({ span: one }, { span: other }) => other.start - one.start || other.end - one.end);
  if (ordered.some(({ span }, i) => span.end > (ordered[i - 1]?.span.start ?? text.length))) {
    throw new Error(`edits overlap: ${JSON.stringify(edits)}`);
  }
  const marked = ordered.reduce(
    (rest, { span, newText }) =>
      rest.slice(0, span.start) +
      mark('[-', text.slice(span.start, span.end), '-]') +
      mark('{+', newText, '+}') +
      rest.slice(span.end),
    text,
  );
  return marked
    .split('\n')
    .filter((line) => line.includes('\0'))
    .map((line) => line.replaceAll('\0', '').trim())
    .join(' | ');
}
