import { describe, expect, test } from 'vitest';
import { check, processGroups } from '..';

/** Two replicas of tp 4, of which the first has lost its slot 1: seven ranks are launched. */
const PACKED = `layout: 1
world_size: 7
parallelism: {tp: 4}
ntp:
  tp_spares: 1
  placement: packed
  failed_ranks: [1]
  non_active_ranks_per_dp: [{dp: 0, local_ranks: [1]}]
`;

const groupsOf = (text: string) => {
  const { resolved } = check(text);
  const families = resolved ? processGroups(resolved) : [];
  return Object.fromEntries(
    families.map(({ name, count, ranks }) => [name, Array.from({ length: count }, (_, i) => ranks(i))]),
  );
};

describe('packed nonuniform TP', () => {
  test('counts launched ranks, and takes spares that nominal placement could not', () => {
    const errors = (text: string) => check(text).diagnostics.filter(({ severity }) => severity === 'error');
    expect(errors(PACKED)).toEqual([]);
    const nominal = PACKED.replace('world_size: 7', 'world_size: 8').replace('packed', 'nominal');
    expect(errors(nominal).map(({ code }) => code)).toEqual(['ntp-dp-sync']);
    expect(errors(PACKED.replace('world_size: 7', 'world_size: 8')).map(({ code }) => code)).toEqual([
      'dense-factorization',
    ]);
  });

  test('may leave the GPUs of its spares idle', () => {
    const codes = (nodes: number) =>
      check(`${PACKED}cluster: {nodes: ${nodes}, gpus_per_node: 1}\n`)
        .diagnostics.filter(({ code }) => code === 'world-cluster-mismatch')
        .map(({ severity }) => severity);
    expect([6, 7, 8, 9].map(codes)).toEqual([['error'], [], [], ['information']]);
  });

  test('makes explicit groups of the launched ranks', () => {
    const groups = groupsOf(PACKED);
    expect(groups.tp).toEqual([
      [0, 1, 2],
      [3, 4, 5, 6],
    ]);
    expect(groups.mp).toEqual(groups.tp);
    expect(groups.dp).toEqual([[0, 3], [1, 4], [2, 5], [6]]);
    expect(groups.cp).toEqual([[0], [1], [2], [3], [4], [5], [6]]);
  });

  test('every launched rank is in one group of each kind, with context parallelism too', () => {
    const text = PACKED.replace('world_size: 7', 'world_size: 14').replace('tp: 4', 'tp: 4, cp: 2');
    for (const [name, lists] of Object.entries(groupsOf(text))) {
      const ranks = lists.flat().sort((a, b) => a - b);
      expect(ranks, name).toEqual(Array.from({ length: 14 }, (_, rank) => rank));
    }
  });
});
