import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import { checkTable, job } from './rule-table';

const ntp = (settings: string, ranks = 16, degrees = 'tp: 8', ...rest: readonly string[]) =>
  job(ranks, degrees, ...rest, `ntp: {${settings}}`);

const entry = (dp: number, slots: string) => `{dp: ${dp}, local_ranks: [${slots}]}`;
const map = (...entries: readonly string[]) => `non_active_ranks_per_dp: [${entries.join(', ')}]`;

const CP_SLICES =
  'Legacy NTP process-group reconfiguration requires the same active local TP ranks for every CP slice in a DP replica.';

describe('rules on nonuniform TP', () => {
  checkTable(
    ['ntp-uneven-shards'],
    [
      { title: 'the last slots of one replica', text: ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`), diagnostics: [] },
      { title: 'switched off', text: ntp('tp_spares: 0'), diagnostics: [] },
      {
        title: 'a pipeline, once, whatever else is wrong',
        text: ntp('tp_spares: 2, num_reduced_tp_dp_ranks: 9', 32, 'tp: 8, pp: 2'),
        diagnostics: [['ntp-pipeline', '2']],
      },
      {
        title: 'another order',
        text: ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, order: dp-tp-cp-ep-pp'),
        diagnostics: [['ntp-grid', 'dp-tp-cp-ep-pp']],
      },
      {
        title: 'generalized TP',
        text: ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, gtp_remat: 2'),
        diagnostics: [['ntp-grid', '2']],
      },
      { title: 'another base', text: ntp('tp_base: 4, tp_spares: 2'), diagnostics: [['ntp-base', '4']] },
      {
        title: 'too many spares',
        text: ntp('tp_spares: 8'),
        diagnostics: [['ntp-spares', '8', 'Group rank must be specified for group members']],
      },
      {
        title: 'more reduced replicas than there are',
        text: ntp(`tp_spares: 2, num_reduced_tp_dp_ranks: 3, ${map(entry(0, '6, 7'))}`),
        diagnostics: [['ntp-replica-range', '3', 'Rank 16 is out of range. Valid ranks are 0 to 15 (world_size=16)']],
      },
      {
        title: 'a replica outside',
        text: ntp(`tp_spares: 2, num_reduced_tp_dp_ranks: 2, ${map(entry(0, '6, 7'), entry(5, '6, 7'))}`),
        diagnostics: [['ntp-replica-range', '5']],
      },
      {
        title: 'an entry that is not applied',
        text: ntp(`tp_spares: 2, ${map(entry(0, '6, 7'), entry(1, '6, 7'))}`),
        diagnostics: [['ntp-unapplied-entry', '1']],
      },
      {
        title: 'the same replica twice',
        text: ntp(`tp_spares: 2, ${map(entry(0, '6, 7'), entry(0, '5, 7'))}`),
        diagnostics: [['ntp-unapplied-entry', '0']],
      },
      {
        title: 'a slot outside',
        text: ntp(`tp_spares: 2, ${map(entry(0, '6, 8'))}`),
        diagnostics: [['ntp-slot-range', '8']],
      },
      {
        title: 'a slot twice',
        text: ntp(`tp_spares: 2, ${map(entry(0, '7, 7'))}`),
        diagnostics: [['ntp-slot-range', '7']],
      },
      {
        title: 'too few slots',
        text: ntp(`tp_spares: 2, ${map(entry(0, '7'))}`),
        diagnostics: [['ntp-slot-count', '[7]']],
      },
      {
        title: 'slices that differ, said once',
        text: ntp(
          `tp_spares: 1, num_reduced_tp_dp_ranks: 2, ${map(
            '{dp: 0, cp: 0, local_ranks: [7]}',
            '{dp: 0, cp: 1, local_ranks: [6]}',
            '{dp: 1, cp: 0, local_ranks: [7]}',
            '{dp: 1, cp: 1, local_ranks: [6]}',
          )}`,
          32,
          'tp: 8, cp: 2',
        ),
        diagnostics: [['ntp-cp-slices', '[6]', CP_SLICES]],
      },
      {
        title: 'slices that differ, in an entry that has too few slots',
        text: ntp(
          `tp_spares: 2, ${map('{dp: 0, cp: 0, local_ranks: [6, 7]}', '{dp: 0, cp: 1, local_ranks: [5]}')}`,
          32,
          'tp: 8, cp: 2',
        ),
        diagnostics: [['ntp-slot-count', '[5]', CP_SLICES]],
      },
      { title: 'no map', text: ntp('tp_spares: 2'), diagnostics: [['ntp-map-incomplete', 'ntp']] },
      {
        title: 'a map that lacks a replica',
        text: ntp(`tp_spares: 2, num_reduced_tp_dp_ranks: 2, ${map(entry(0, '6, 7'))}`),
        diagnostics: [['ntp-map-incomplete', 'non_active_ranks_per_dp']],
      },
      {
        title: 'slots that are not the last',
        text: ntp(`tp_spares: 2, ${map(entry(0, '2, 5'))}`),
        diagnostics: [['ntp-dp-sync', '[2, 5]']],
      },
      {
        title: 'slots that are not the last, packed',
        text: ntp(`tp_spares: 2, placement: packed, ${map(entry(0, '2, 5'))}`, 14),
        diagnostics: [],
      },
      {
        title: 'experts',
        text: ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, ep: 2, expt_tp: 1'),
        diagnostics: [['ntp-expert-groups', '2']],
      },
      {
        title: 'a failed rank that stays',
        text: ntp(`tp_spares: 2, failed_ranks: [5], ${map(entry(0, '6, 7'))}`),
        diagnostics: [['ntp-failed-rank', '5']],
      },
      {
        title: 'a failed rank with nothing else',
        text: ntp('failed_ranks: [7]'),
        diagnostics: [['ntp-failed-rank', '7']],
      },
      {
        title: 'a failed rank that does not exist',
        text: ntp('failed_ranks: [16]'),
        diagnostics: [['ntp-failed-rank', '16']],
      },
      {
        title: 'heads that do not divide',
        text: ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8', 'model: {num_attention_heads: 64}'),
        diagnostics: [['ntp-uneven-shards', '64']],
      },
      {
        title: 'a vocabulary that divides once it is padded',
        text: ntp(`tp_spares: 4, ${map(entry(0, '4, 5, 6, 7'))}`, 16, 'tp: 8', 'model: {vocab_size: 50257}'),
        diagnostics: [],
      },
      {
        title: 'a vocabulary that does not',
        text: ntp(`tp_spares: 1, ${map(entry(0, '7'))}`, 16, 'tp: 8', 'model: {vocab_size: 50257}'),
        diagnostics: [['ntp-uneven-shards', '50257']],
      },
      {
        title: 'a stage of one replica, which is the replica',
        text: ntp(`tp_spares: 2, ${map('{dp: 0, pp: 0, local_ranks: [6, 7]}')}`),
        diagnostics: [],
      },
      {
        title: 'a base beyond any NVLink domain',
        text: ntp('tp_spares: 2', 8192, 'tp: 4096'),
        diagnostics: [['ntp-base', 'ntp']],
      },
      {
        title: 'so few heads that the reshard maps fail',
        text: ntp(`tp_spares: 3, ${map(entry(0, '5, 6, 7'))}`, 16, 'tp: 8', 'model: {num_attention_heads: 8}'),
        diagnostics: [['ntp-uneven-shards', '8']],
      },
    ],
  );

  test.each([
    [
      'tp 6 of 8',
      'batch: {micro_batch_size: 1, global_batch_size: 32}',
      '12 of its 16 sequences a step, which keeps 87.5 %',
    ],
    [
      'a rest of a sequence is lost',
      'batch: {micro_batch_size: 1, global_batch_size: 10}',
      '3 of its 5 sequences a step, which keeps 80.0 %',
    ],
    ['without a batch', '', 'about 87.5 % of compute is kept'],
  ])('the cost says what is kept: %s', (_, batch, kept) => {
    const text = ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8', ...(batch === '' ? [] : [batch]));
    const [diagnostic] = check(text).diagnostics.filter(({ code }) => code === 'ntp-cost');
    expect(diagnostic?.message).toContain('2 of 16 GPUs idle');
    expect(diagnostic?.message).toContain(kept);
    expect(diagnostic?.message).toContain('dropping the replica would keep 50.0 %');
  });

  test('heads that the reshard maps cannot fold are an error, others a warning', () => {
    const severity = (heads: number) =>
      check(
        ntp(
          `tp_spares: 5, ${map(entry(0, '11, 12, 13, 14, 15'))}`,
          32,
          'tp: 16',
          `model: {num_attention_heads: ${heads}}`,
        ),
      ).diagnostics.find(({ code }) => code === 'ntp-uneven-shards')?.severity;
    expect(severity(112)).toBe('error');
    expect(severity(128)).toBe('warning');
  });

  test('a check costs the same however many replicas there are', () => {
    const text = ntp('tp_spares: 2, num_reduced_tp_dp_ranks: 131072', 1_048_576);
    const [diagnostic] = check(text).diagnostics.filter(({ severity }) => severity === 'error');
    expect(diagnostic?.code).toBe('ntp-map-incomplete');
    expect(diagnostic?.message.length).toBeLessThan(300);
  });
});
