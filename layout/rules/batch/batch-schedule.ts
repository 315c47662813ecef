import type { RootKeys } from '../../format/keys';
import type { Section } from '../../format/spec';
import { type Attempt, assertThat, attempt, fail, raise } from '../../topology/python';
import { removeFix } from '../fixes';
import { job, megatron, type Rule, VALIDATE_ARGS } from '../rule';

type Batch = Section<RootKeys['batch']['keys']>;

export const batchSchedule: Rule = {
  code: 'batch-schedule',
  severity: 'error',
  title: 'The batch-size schedule cannot be read',
  what: '`step_batch_size_schedule` holds an entry that is not `THRESHOLD:BATCH_SIZE`, does not begin at 0, has a threshold twice, or stands beside `global_batch_size`. `rampup_batch_size` is reported as ignored.',
  why: 'Thresholds are tokens (K, M, B and T are thousands and so on), which are divided by the sequence length and rounded down; two of them may then be the same.',
  failing: job(8, 'tp: 1', 'batch: {micro_batch_size: 1, step_batch_size_schedule: "64K:16"}'),
  passing: job(8, 'tp: 1', 'batch: {micro_batch_size: 1, step_batch_size_schedule: "0:8 64K:16"}'),
  sources: [
    megatron('megatron/core/num_microbatches_calculator.py', 'StepBatchsizeNumMicroBatchesCalculator'),
    VALIDATE_ARGS,
  ],
  *check({ text, root }) {
    const batch = root.batch.value;
    if (!batch) {
      return;
    }
    const { step_batch_size_schedule: field, rampup_batch_size: rampup } = batch;
    const others = ['global_batch_size', 'decrease_batch_size_if_needed'] as const;
    const other = others.find((name) => (name === 'global_batch_size' ? batch[name].written : batch[name].value));
    if (field.value !== undefined) {
      const outcome = scheduleOf(field.value, root.sequence.value?.seq_length.value, batch);
      if (!outcome.ok) {
        yield {
          message: other
            ? `step_batch_size_schedule excludes ${other}. Remove one of them.`
            : `The schedule is refused: ${outcome.error.message}. Write entries such as '0:8 64K:16'.`,
          span: field.span,
          predicts: outcome.error.checked ? outcome.error.message : null,
          fixes: [
            other ? removeFix(text, other, batch[other]) : null,
            removeFix(text, 'step_batch_size_schedule', field),
          ],
        };
      }
    }
    if (rampup.written && (root.megatron.value ?? 'main') === 'main') {
      yield {
        severity: 'warning',
        message: 'Megatron-LM reads rampup_batch_size and ignores it. Use step_batch_size_schedule.',
        span: rampup.span,
        fixes: [removeFix(text, 'rampup_batch_size', rampup)],
      };
    }
  },
};

const FACTORS: Readonly<Record<string, number>> = { K: 1e3, M: 1e6, B: 1e9, T: 1e12 };

/** Reads a schedule as Megatron-LM does, threshold and batch size an entry. */
function scheduleOf(
  schedule: string,
  length: number | undefined,
  batch: Batch,
): Attempt<readonly (readonly [number, number])[]> {
  return attempt(() => {
    const { global_batch_size: global, decrease_batch_size_if_needed: decreased } = batch;
    if (global.written) {
      raise('ValueError', 'Cannot specify both --step-batch-size-schedule and --global-batch-size');
    }
    if (decreased.value) {
      raise('ValueError', 'Cannot specify both --step-batch-size-schedule and --decrease-batch-size-if-needed');
    }
    const entries = schedule
      .replaceAll(',', ' ')
      .split(/\s+/)
      .filter((entry) => entry !== '')
      .map((entry): readonly [number, number] => {
        const colon = entry.indexOf(':');
        if (colon < 0) {
          raise('ValueError', `Invalid schedule entry "${entry}". Expected format: "THRESHOLD:BATCH_SIZE"`);
        }
        const threshold = numberOf(entry.slice(0, colon));
        return [length === undefined ? threshold : Math.floor(threshold / length), numberOf(entry.slice(colon + 1))];
      })
      .sort(([a], [b]) => a - b);
    assertThat(entries.length > 0, 'schedule must have at least one entry');
    assertThat(entries[0]?.[0] === 0, `first schedule entry must have threshold 0, got ${entries[0]?.[0]}`);
    for (const [i, [threshold]] of entries.entries()) {
      const before = entries[i - 1]?.[0] ?? -1;
      assertThat(
        threshold > before,
        `schedule thresholds must be strictly increasing, got ${before} before ${threshold}`,
      );
    }
    for (const [, size] of entries) {
      assertThat(size > 0, `batch size must be positive, got ${size}`);
    }
    return entries;
  });
}

function numberOf(text: string): number {
  const upper = text.trim().toUpperCase();
  const factor = FACTORS[upper.slice(-1)];
  const digits = factor === undefined ? upper : upper.slice(0, -1);
  const value = Number(digits);
  return digits.trim() === '' || !Number.isFinite(value)
    ? fail('ValueError', `could not convert string to float: '${digits}'`)
    : Math.trunc(value * (factor ?? 1));
}
