import { check } from '../check';
import type { Diagnostic, Fix } from '../diagnostic';
import { applyEdits } from '../format/edit';
import { soundFixes } from '../soundFixes';
import type { Rule } from './rule';

/** What stands for the words of an assertion that has none. */
const NO_MESSAGE = 'an assertion without a message';

/** A layout of `parallelism` in a few words: `job(16, 'tp: 2', 'fsdp: {enabled: true}')`. */
export function job(ranks: number, degrees: string, ...rest: readonly string[]): string {
  return ['layout: 1', `world_size: ${ranks}`, `parallelism: {${degrees}}`, ...rest, ''].join('\n');
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

/** A layout of `modules`, a line each: `modules(8, 'language: {num_ranks: 8, tp: 2}')`. */
export function modules(ranks: number, ...lines: readonly string[]): string {
  return ['layout: 1', `world_size: ${ranks}`, 'modules:', ...lines.map((line) => `  ${line}`), ''].join('\n');
}

/**
 * All that is said of a file by a rule, and every error whatever its rule, as text: severity and code, the underlined text, the
 * message, Megatron-LM's words, the related places, and the fixes that hold with the lines that each changes. Empty where
 * nothing is said.
 */
export function report(rule: Rule, text: string): string {
  const checked = check(text);
  const said = checked.diagnostics.filter(({ code, severity }) => code === rule.code || severity === 'error');
  const fixes = soundFixes(checked, said);
  return said.map((diagnostic) => diagnosticText(text, diagnostic, fixes.get(diagnostic) ?? [])).join('\n');
}

function diagnosticText(text: string, diagnostic: Diagnostic, fixes: readonly Fix[]): string {
  const { code, severity, message, span, predicts, related } = diagnostic;
  const at = (place: Diagnostic['span']) => JSON.stringify(text.slice(place.start, place.end));
  return [
    `${severity}[${code}] at ${at(span)}`,
    message,
    ...(predicts === null ? [] : [`= Megatron-LM: ${predicts || NO_MESSAGE}`]),
    ...related.map((place) => `= at ${at(place.span)}: ${place.message}`),
    ...fixes.flatMap(({ title, applicability, edits }) => [
      `= ${applicability === 'safe' ? 'safe fix' : 'suggestion'}: ${title}`,
      ...changedLines(text, applyEdits(text, edits)),
    ]),
  ].join('\n');
}

/** The lines between the first and the last that differ, those before with a `-`, those after with a `+`. */
function changedLines(before: string, after: string): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const most = Math.min(old.length, now.length);
  let start = 0;
  while (start < most && old[start] === now[start]) {
    start++;
  }
  let end = 0;
  while (end < most - start && old.at(-1 - end) === now.at(-1 - end)) {
    end++;
  }
  return [
    ...old.slice(start, old.length - end).map((line) => `  - ${line}`),
    ...now.slice(start, now.length - end).map((line) => `  + ${line}`),
  ];
}
