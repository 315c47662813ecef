import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { costOf } from './cost';
import { byExchange, type Flow, sentText } from './flows';
import { groupsHeadline } from './headline';
import { familiesOf, kindsOf, mergedGroups } from './rankDetails';
import { sound } from './testing';

const MODEL = `model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, num_query_groups: 8, vocab_size: 128256, num_experts: 16, moe_router_topk: 2}
batch: {micro_batch_size: 1, global_batch_size: 256}
`;

const on = (degrees: string, sequence = 'seq_length: 4096', more = '') =>
  `cluster: {nodes: 8, gpus_per_node: 8, gpu: H100}\nparallelism: {${degrees}}\nsequence: {${sequence}}\n${MODEL}${more}`;

const INSTANCES = 'optimizer: {use_distributed_optimizer: true, num_distributed_optimizer_instances: 2}\n';

const LAYOUTS: readonly (readonly [name: string, text: string])[] = [
  ...readdirSync('examples')
    .filter((name) => name.endsWith('.layout.yaml'))
    .map((name) => [name, readFileSync(`examples/${name}`, 'utf8').replace('layout: 1\n', '')] as const),
  ['all dimensions', on('tp: 2, cp: 2, pp: 4, ep: 2, expt_tp: 1', 'seq_length: 4096, sequence_parallel: true')],
  ['tensor-parallel experts', on('tp: 4, ep: 4, expt_tp: 4', 'seq_length: 4096, sequence_parallel: true')],
  ['optimizer instances', on('tp: 2, ep: 2, expt_tp: 1', 'seq_length: 4096, sequence_parallel: true', INSTANCES)],
  ['two stages with a tied embedding', on('tp: 8, pp: 2', 'seq_length: 4096, sequence_parallel: true')],
];

describe('what the ranks of groups exchange', () => {
  test.each(LAYOUTS)(
    '%s: kinds under one name have the same groups, and every byte counts in one of them',
    (_, text) => {
      const { facts, layout } = sound(text);
      for (const { module, names } of kindsOf(layout)) {
        const all = names.map((name) => {
          const family = familiesOf(layout).find((one) => one.name === name && one.module === module);
          return JSON.stringify([...(family?.all() ?? [])].map((ranks) => [...ranks]).sort());
        });
        expect(new Set(all).size, names.join(' = ')).toBe(1);
      }
      const flows = costOf(facts).cost?.flows ?? [];
      const counted = byExchange(kindsOf(layout), flows).reduce((sum, { bytes }) => sum + bytes, 0);
      expect(counted).toBeCloseTo(
        flows.reduce((sum, { bytes }) => sum + bytes, 0),
        0,
      );
    },
  );

  const flow = (kind: string, bytes: number, tier: Flow['tier'] = 'nvlink'): Flow => ({
    module: null,
    kind,
    group: kind,
    carries: 'gradients',
    bytes,
    tier,
  });

  test('a group exchanges what all of its names carry, and those that exchange most come first', () => {
    const { layout } = sound(on('tp: 4, pp: 4, ep: 4, expt_tp: 1', 'seq_length: 4096, sequence_parallel: true'));
    const flows = [flow('dp_cp', 1e9), flow('ep_dp', 7e9, 'network'), flow('pp', 3e9)];
    expect(
      byExchange(mergedGroups(layout, 5), flows)
        .slice(0, 2)
        .map(({ names, bytes }) => [names.join(' = '), bytes]),
    ).toEqual([
      ['dp = dp_cp = ep_dp', 8e9],
      ['pp', 3e9],
    ]);
    expect(groupsHeadline(layout, 'dp', flows).title).toContain('a rank sends 8.0 GB a step');
    expect(groupsHeadline(layout, 'ep_dp', flows).title).toContain('a rank sends 8.0 GB a step');
    expect(sentText(flows)).toBe('4.0 GB over NVLink, 7.0 GB over the network');
    expect(sentText([])).toBe('');
  });
});
