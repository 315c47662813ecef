import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../test/harness/property';
import { check, Grid, type GroupFamily, processGroups } from '..';

const lists = (family: GroupFamily) => [...family.all()].map((ranks) => [...ranks]);
const oneByOne = (family: GroupFamily) => Array.from({ length: family.count }, (_, index) => family.ranks(index));

function familiesOf(text: string): readonly GroupFamily[] {
  const { resolved } = check(text);
  return resolved ? processGroups(resolved) : [];
}

const degree = fc.constantFrom(1, 1, 2, 2, 3, 4);

const homogeneous = fc
  .record({
    tp: degree,
    cp: fc.constantFrom(1, 2, 4),
    pp: degree,
    // so that every number of optimizer instances divides `dp` and `expt_dp`
    dp: fc.constantFrom(8, 16),
    ep: fc.constantFrom(1, 2),
    gtp_remat: fc.constantFrom(1, 1, 2),
    order: fc.constantFrom('tp-cp-ep-dp-pp', 'tp-cp-ep-pp-dp', 'pp-dp-ep-cp-tp'),
    num_distributed_optimizer_instances: fc.constantFrom(1, 2, 4),
    fsdp: fc.boolean(),
  })
  .map(({ dp, fsdp, ...degrees }) => {
    const { tp, cp, pp, gtp_remat } = degrees;
    const levels = cp === 4 ? ['  hierarchical_context_parallel_sizes: [2, 2]'] : [];
    return [
      'layout: 1',
      `world_size: ${tp * cp * pp * gtp_remat * dp}`,
      'parallelism:',
      ...Object.entries(degrees).map(([key, value]) => `  ${key}: ${value}`),
      '  expt_tp: 1',
      ...levels,
      `fsdp: {enabled: true, create_all_gather_group: ${fsdp}}`,
    ].join('\n');
  });

const colocated = fc.record({ tp: degree, dp: fc.constantFrom(1, 2, 4), more: fc.constantFrom(1, 2, 4) }).map(
  ({ tp, dp, more }) => `layout: 1
world_size: ${tp * dp * more}
modules:
  images: {num_ranks: ${tp * dp * more}, tp: ${tp}}
  language: {num_ranks: ${tp * dp * more}, tp: ${tp * more}}
`,
);

const apart = fc.record({ tp: degree, pp: degree, dp: degree }).map(
  ({ tp, pp, dp }) => `layout: 1
world_size: ${2 * tp * pp * dp}
modules:
  images: {num_ranks: ${tp * pp * dp}, tp: ${tp}, cp: ${pp}}
  language: {rank_offset: ${tp * pp * dp}, num_ranks: ${tp * pp * dp}, tp: ${tp}, pp: ${pp}, ep: ${dp}}
`,
);

describe('all groups at once', () => {
  test('are those that are listed one by one, in the same order', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.oneof(homogeneous, colocated, apart), (text) => {
        for (const family of familiesOf(text)) {
          seen.add(family.name);
          expect(lists(family), family.name).toEqual(oneByOne(family));
        }
      }),
      runs(60),
    );
    const rare = [
      'hcp',
      'embd',
      'pos_embd',
      'intra_dp_cp',
      'inter_ep_dp',
      'intra_dist_opt_instance',
      'bridge',
      'dp_cp_ag',
    ];
    expect([...seen]).toEqual(expect.arrayContaining(rare));
  });

  test('hold every rank once where the groups of a grid split it', () => {
    const grid = new Grid(
      [
        { name: 'tp', size: 8 },
        { name: 'dp', size: 3 },
        { name: 'pp', size: 4 },
      ],
      5,
    );
    for (const names of [[], ['tp'], ['dp'], ['pp', 'tp'], ['tp', 'dp', 'pp']]) {
      const all = grid.groups(names).all();
      expect(all.count).toBe(grid.groups(names).count);
      expect([...all.ranks].sort((a, b) => a - b)).toEqual(Array.from({ length: grid.size }, (_, i) => i + 5));
    }
  });

  test('a list is found by its index', () => {
    const all = new Grid(
      [
        { name: 'tp', size: 2 },
        { name: 'dp', size: 2 },
      ],
      4,
    )
      .groups(['tp'])
      .all();
    expect([...all.at(0)]).toEqual([4, 5]);
    expect([...all.at(1)]).toEqual([6, 7]);
    expect([...all.at(2)]).toEqual([]);
  });
});

test('versions without generalized TP make no group for it', () => {
  const job = (version: string) => `layout: 1\nmegatron: ${version}\nworld_size: 8\nparallelism: {tp: 2, ep: 2}\n`;
  const remat = (text: string) => familiesOf(text).flatMap(({ name }) => (name.includes('gtp_remat') ? [name] : []));
  expect(remat(job('main'))).toEqual(['gtp_remat', 'expt_gtp_remat', 'tp_ep_gtp_remat_pp']);
  expect(remat(job('core_r0.19'))).toEqual(remat(job('main')));
  expect(remat(job('dev'))).toEqual([]);
  expect(remat('layout: 1\nmegatron: core_r0.19\nworld_size: 8\nmodules: {language: {num_ranks: 8, tp: 2}}\n')).toEqual(
    [],
  );
});
