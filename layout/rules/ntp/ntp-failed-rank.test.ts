import { expect, test } from 'vitest';
import { check, hasErrors } from '../../check';
import { applyEdits } from '../../format/edit';
import { soundFixes } from '../../soundFixes';
import { reports } from '../testing';
import { ntpFailedRank } from './ntp-failed-rank';
import { entry, map, ntp } from './testing';

test('ntp-failed-rank', () => {
  const said = reports(ntpFailedRank, {
    'failed ranks that have left': ntp(`tp_spares: 2, failed_ranks: [7], ${map(entry(0, '6, 7'))}`),
    'a failed rank that stays': ntp(`tp_spares: 2, failed_ranks: [5], ${map(entry(0, '6, 7'))}`),
    'a failed rank with nothing else': ntp('failed_ranks: [7]'),
    'failed ranks of two replicas': ntp('failed_ranks: [7, 15]'),
    'a failed rank that does not exist': ntp('failed_ranks: [16]'),
    'a failed first slot': ntp('failed_ranks: [8]'),
    'a failed rank in a pipeline': ntp('failed_ranks: [3]', 32, 'tp: 8, pp: 2'),
  });
  expect(said).toMatchInlineSnapshot(`
    "a failed rank that stays: error at "5": Rank 5 has failed but stays active. Remove slot 5 of replica dp 0.
      = suggestion: Derive the spares from failed_ranks: ntp: {tp_spares: [-2-]{+3+}, failed_ranks: [5], non_active_ranks_per_dp: [-[{dp: 0, local_ranks: [6, 7]}]-]{+[{dp: 0, local_ranks: [5, 6, 7]}]+}{+, num_reduced_tp_dp_ranks: 1+}}
      = suggestion: Launch the healthy slots only (packed placement): world_size: [-16-]{+15+} | ntp: {tp_spares: [-2-]{+1+}, failed_ranks: [5], non_active_ranks_per_dp: [-[{dp: 0, local_ranks: [6, 7]}]-]{+[{dp: 0, local_ranks: [5]}]+}{+, num_reduced_tp_dp_ranks: 1, placement: packed+}}
    a failed rank with nothing else: error at "7": Rank 7 has failed but stays active. Remove slot 7 of replica dp 0.
      = suggestion: Derive the spares from failed_ranks: ntp: {failed_ranks: [7]{+, tp_spares: 1, num_reduced_tp_dp_ranks: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}]+}}
    failed ranks of two replicas: error at "7": Rank 7 has failed but stays active. Remove slot 7 of replica dp 0.
      = suggestion: Derive the spares from failed_ranks: ntp: {failed_ranks: [7, 15]{+, tp_spares: 1, num_reduced_tp_dp_ranks: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}, {dp: 1, local_ranks: [7]}]+}}
    a failed rank that does not exist: error at "16": Rank 16 does not exist: the world has ranks 0 to 15. Name ranks of the whole grid.
    a failed first slot: error at "8": Rank 8 has failed but stays active. Remove slot 0 of replica dp 1.
      = suggestion: Launch the healthy slots only (packed placement): world_size: [-16-]{+14+} | ntp: {failed_ranks: [8]{+, tp_spares: 1, num_reduced_tp_dp_ranks: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}, {dp: 1, local_ranks: [0]}], placement: packed+}}
    a failed rank in a pipeline: error at "3": Rank 3 has failed but stays active. Nonuniform TP needs pp 1, the default order and no generalized TP: change the grid, or drop the replica."
  `);
});

/** All sets of one or two failed ranks in small grids. */
function* smallFailures(): Iterable<{ readonly text: string; readonly isWhole: boolean }> {
  for (const [tp, cp, dp] of [
    [2, 2, 1],
    [4, 1, 2],
  ] as const) {
    const world = tp * cp * dp;
    for (let a = 0; a < world; a++) {
      for (let b = a; b < world; b++) {
        const slots = new Set([a % tp, b % tp]);
        const isOneReplica = Math.floor(a / (tp * cp)) === Math.floor(b / (tp * cp));
        yield {
          text: `layout: 1\nworld_size: ${world}\nparallelism: {tp: ${tp}, cp: ${cp}}\nntp: {failed_ranks: [${a === b ? a : `${a}, ${b}`}]}\n`,
          isWhole: isOneReplica && slots.size === tp,
        };
      }
    }
  }
}

test('a plan that holds is offered wherever a replica has a healthy slot left', () => {
  const models = ['', 'model: {num_experts: 4}\n', 'model: {num_attention_heads: 8}\n'];
  const files = [...smallFailures()].flatMap(({ text, isWhole }) =>
    models.map((model) => ({ text: text + model, isWhole })),
  );
  for (const { text, isWhole } of files) {
    const checked = check(text);
    const errors = checked.diagnostics.filter(({ code }) => code === 'ntp-failed-rank');
    const fixes = [...soundFixes(checked, errors).values()].flat();
    expect(fixes.length > 0, text).toBe(!isWhole);
    for (const { edits } of fixes) {
      expect(hasErrors(check(applyEdits(text, edits))), text).toBe(false);
    }
  }
});
