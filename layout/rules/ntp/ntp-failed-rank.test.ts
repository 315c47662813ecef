import { expect, test } from 'vitest';
import { report } from '../testing';
import { ntpFailedRank } from './ntp-failed-rank';
import { entry, map, ntp } from './testing';

const said = (text: string) => report(ntpFailedRank, text);

test.each([['failed ranks that have left', ntp(`tp_spares: 2, failed_ranks: [7], ${map(entry(0, '6, 7'))}`)]])(
  '%s',
  (_, text) => {
    expect(said(text)).toBe('');
  },
);

test('a failed rank that stays', () => {
  expect(said(ntp(`tp_spares: 2, failed_ranks: [5], ${map(entry(0, '6, 7'))}`))).toMatchInlineSnapshot(`
    "error[ntp-failed-rank] at "5"
    Rank 5 has failed but stays active. Remove slot 5 of replica dp 0."
  `);
});

test('a failed rank with nothing else', () => {
  expect(said(ntp('failed_ranks: [7]'))).toMatchInlineSnapshot(`
    "error[ntp-failed-rank] at "7"
    Rank 7 has failed but stays active. Remove slot 7 of replica dp 0.
    = suggestion: Derive the spares from failed_ranks
      - ntp: {failed_ranks: [7]}
      + ntp: {failed_ranks: [7], tp_spares: 1, num_reduced_tp_dp_ranks: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}]}"
  `);
});

test('failed ranks of two replicas', () => {
  expect(said(ntp('failed_ranks: [7, 15]'))).toMatchInlineSnapshot(`
    "error[ntp-failed-rank] at "7"
    Rank 7 has failed but stays active. Remove slot 7 of replica dp 0.
    = suggestion: Derive the spares from failed_ranks
      - ntp: {failed_ranks: [7, 15]}
      + ntp: {failed_ranks: [7, 15], tp_spares: 1, num_reduced_tp_dp_ranks: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}, {dp: 1, local_ranks: [7]}]}"
  `);
});

test('a failed rank that does not exist', () => {
  expect(said(ntp('failed_ranks: [16]'))).toMatchInlineSnapshot(`
    "error[ntp-failed-rank] at "16"
    Rank 16 does not exist: the world has ranks 0 to 15."
  `);
});
