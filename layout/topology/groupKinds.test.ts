import { describe, expect, test } from 'vitest';
import { check } from '../check';
import {
  GROUP_KINDS,
  GROUP_NAMES,
  type GroupKind,
  groupAlong,
  groupKind,
  groupNameOf,
  MODULE_GROUPS,
} from './groupKinds';
import { processGroups } from './processGroups';

const KINDS: readonly GroupKind[] = GROUP_KINDS;

describe('the kinds of process groups', () => {
  test('have names and descriptions of their own', () => {
    const descriptions = KINDS.flatMap(({ description }) => description ?? []);
    expect(new Set(KINDS.map(({ name }) => name)).size).toBe(KINDS.length);
    expect(new Set(descriptions).size).toBe(descriptions.length);
    expect(KINDS.filter(({ spans, members }) => !spans && !members)).toEqual([]);
  });

  test('are found by name, by size and by description', () => {
    expect(groupKind('dp_cp')?.spans?.dims).toEqual(['dp', 'cp']);
    expect(groupKind('hybrid_dp_cp_4')?.name).toBe('hybrid_dp_cp_N');
    expect(groupKind('bridge')).toBeUndefined();
    expect(groupNameOf('DATA_PARALLEL_GROUP_WITH_CP_GLOO')).toBe('dp_cp');
    expect(groupNameOf('DYNAMIC_DP_CP_GROUP_8')).toBe('dynamic_dp_cp_8');
    expect(groupNameOf('undefined')).toBeNull();
    expect(GROUP_NAMES.filter((name) => name.endsWith('_N') || name.endsWith('fsdp'))).toEqual([]);
  });

  test.each([
    ['tp', 'tp'],
    ['expt_tp', 'ep_tp'],
    ['expt_dp', 'ep_dp'],
    ['gpu', 'gpu'],
  ])('along %s are %s', (dim, name) => {
    expect(groupAlong(dim)).toBe(name);
  });
});

const LAYOUTS = [
  'layout: 1\nworld_size: 64\nparallelism: {tp: 2, cp: 2, pp: 2, ep: 4, expt_tp: 1, gtp_remat: 2}\n',
  'layout: 1\nworld_size: 48\nparallelism: {tp: 4, pp: 3, ep: 2, order: tp-cp-ep-pp-dp}\n',
  'layout: 1\nworld_size: 16\nmodules:\n  images: {num_ranks: 8, tp: 2, dp: 4}\n  language: {num_ranks: 8, rank_offset: 8, tp: 2, pp: 2, ep: 2, expt_tp: 1}\n',
];

test.each(LAYOUTS)('a family has as many ranks as the dimensions of its kind span: %j', (text) => {
  const { resolved } = check(text);
  const families = resolved ? processGroups(resolved) : [];
  const compared = families.flatMap(({ name, module, size }) => {
    const grids = resolved?.modules.find((one) => one.name === module);
    const spans = groupKind(name)?.spans;
    const dims = spans?.grid === 'expert' ? grids?.expert : grids?.dense;
    // `parallelism` has one group of each optimizer instance
    return spans && dims && name !== 'intra_dist_opt_instance'
      ? [[name, size, dims.filter((dim) => spans.dims.includes(dim.name)).reduce((all, dim) => all * dim.size, 1)]]
      : [];
  });
  expect(compared.length).toBeGreaterThan(10);
  expect(compared.filter(([, size, product]) => size !== product)).toEqual([]);
});

test('a module has its groups in the order of the table of Megatron-LM', () => {
  const { resolved } = check(LAYOUTS[2] ?? '');
  const names = resolved ? processGroups(resolved).filter(({ module }) => module === 'images') : [];
  expect(names.map(({ name }) => name)).toEqual(MODULE_GROUPS);
});
