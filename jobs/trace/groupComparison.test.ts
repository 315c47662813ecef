import { expect, test } from 'vitest';
import { groupNameOf, placedLayout, placementOf, processGroups, type ResolvedLayout } from '../../layout';
import { loadGolden } from '../../test/golden/golden';
import { soundLayout } from '../../test/harness/layouts';
import type { RunGroup } from './evidence';
import { compareGroups, LayoutGroups, namedBy } from './groupComparison';
import { causeOf } from './layoutChange';

const layoutOf = (text: string) => soundLayout(`layout: 1\n${text}\n`).resolved;

/** The groups that a layout asks for, as dumps of a run would list them. */
function groupsOf(layout: ResolvedLayout, desc: (name: string) => string): RunGroup[] {
  return processGroups(layout).flatMap((family) =>
    [...family.all()].map((ranks, i) => ({ name: `${family.name} ${i}`, desc: desc(family.name), ranks: [...ranks] })),
  );
}

const TAGS: Readonly<Record<string, string>> = {
  tp: 'TENSOR_MODEL_PARALLEL_GROUP',
  cp: 'CONTEXT_PARALLEL_GROUP',
  pp: 'PIPELINE_MODEL_PARALLEL_GROUP',
  dp: 'DATA_PARALLEL_GROUP',
  dp_cp: 'DATA_PARALLEL_GROUP_WITH_CP',
  ep: 'EXPERT_MODEL_PARALLEL_GROUP',
  ep_dp: 'EXPERT_DATA_PARALLEL_GROUP',
};

const named = (layout: ResolvedLayout) =>
  groupsOf(layout, (name) => TAGS[name] ?? '').filter(({ desc }) => desc !== '');

test('every description of Megatron-LM has the name of a group of the layout with the same ranks', () => {
  interface Expect {
    readonly groups?: Readonly<Record<string, readonly (readonly number[])[]>>;
  }
  const cases = loadGolden<Readonly<Record<string, unknown>>, Expect>('homogeneous').filter(
    ({ ok, expect: expected }) => ok && expected.groups,
  );
  expect(cases.length).toBeGreaterThan(20);
  const tags = new Set(cases.flatMap(({ expect: expected }) => Object.keys(expected.groups ?? {})));
  expect([...tags].filter((tag) => groupNameOf(tag) === null)).toEqual([]);
});

test.each([
  [
    'world_size: 16\nparallelism: {tp: 2, pp: 2}',
    'world_size: 16\nparallelism: {tp: 2, pp: 2, order: tp-cp-ep-pp-dp}',
    'order tp-cp-ep-pp-dp',
  ],
  [
    'world_size: 16\nparallelism: {tp: 2, cp: 2}',
    'world_size: 16\nparallelism: {tp: 2, cp: 2, order: cp-tp-ep-dp-pp}',
    'order cp-tp-ep-dp-pp',
  ],
  ['world_size: 16\nparallelism: {tp: 2}', 'world_size: 16\nparallelism: {tp: 4}', 'tp 4 instead of 2'],
  ['world_size: 16\nparallelism: {tp: 2, pp: 4}', 'world_size: 16\nparallelism: {tp: 4, pp: 2}', 'tp 4 instead of 2'],
  [
    'world_size: 32\nparallelism: {tp: 2, ep: 2, expt_tp: 1}\nmodel: {num_experts: 8}',
    'world_size: 32\nparallelism: {tp: 2, ep: 4, expt_tp: 1}\nmodel: {num_experts: 8}',
    'ep 4 instead of 2',
  ],
])('the cause of other groups is found: %s', (wanted, real, cause) => {
  const layout = layoutOf(wanted);
  const groups = named(layoutOf(real));
  expect(compareGroups(groups, new LayoutGroups(layout)).different).not.toEqual([]);
  expect(causeOf(groups, layout)?.text).toContain(cause);
});

const MIMO = (images: string, language: string, offsets = [0, 8]) =>
  `world_size: 16\nmodules:\n  images: {rank_offset: ${offsets[0]}, num_ranks: 8, ${images}}\n  language: {rank_offset: ${offsets[1]}, num_ranks: 8, ${language}}`;

test.each([
  [MIMO('tp: 2', 'tp: 2'), MIMO('tp: 4', 'tp: 2'), 'images: '],
  [MIMO('tp: 2', 'tp: 4'), MIMO('tp: 2', 'tp: 4', [8, 0]), 'rank_offset'],
])('the cause is found among modules, whose groups have no names: %#', (wanted, real, cause) => {
  const layout = layoutOf(wanted);
  const groups = groupsOf(layoutOf(real), () => 'undefined');
  expect(
    compareGroups(
      groupsOf(layout, () => 'undefined'),
      new LayoutGroups(layout),
    ).unexpected,
  ).toEqual([]);
  expect(causeOf(groups, layout)?.text).toContain(cause);
});

test('groups that no grid gives have no cause', () => {
  const groups = [{ name: '1', desc: 'TENSOR_MODEL_PARALLEL_GROUP', ranks: [0, 3, 5] }];
  expect(causeOf(groups, layoutOf('world_size: 8\nparallelism: {tp: 2}'))).toBeNull();
});

test('a placement gives the layout that it was taken from', () => {
  const layout = layoutOf(
    'world_size: 32\nparallelism: {tp: 2, pp: 2, ep: 2, expt_tp: 1, order: tp-ep-cp-pp-dp}\nmodel: {num_experts: 4}',
  );
  expect(placedLayout(layout, layout.modules.map(placementOf))).toEqual(layout);
});

test('groups of a device mesh are compared by the names of its axes, those without one by their ranks', () => {
  const layout = layoutOf(
    'world_size: 16\nlaunch: {family: torchtitan}\nparallelism: {tp: 2}\nfsdp: {data_parallel_replicate_degree: 2}',
  );
  const [fsdp, tp] = [
    [0, 2, 4, 6],
    [0, 1],
  ];
  const groups = [
    { name: '1', desc: 'mesh_dp_shard', ranks: fsdp },
    { name: '2', desc: 'mesh_tp', ranks: fsdp },
    { name: '3', desc: 'undefined', ranks: tp },
    { name: '4', desc: 'mesh_unknown', ranks: [3, 5] },
  ];
  const { equal, different, unexpected } = compareGroups(groups, new LayoutGroups(layout));
  expect(equal).toBe(2);
  expect(different).toEqual([
    {
      name: 'tp',
      expected: [
        [0, 1],
        [2, 3],
        [4, 5],
        [6, 7],
      ],
      actual: [fsdp],
      ranks: fsdp,
    },
  ]);
  expect(unexpected).toEqual([{ name: 'mesh_unknown', groups: [[3, 5]] }]);
});

test('no kind is listed both as different and as not seen, whichever groups of a run are seen', () => {
  const DEGREES = ['tp: 2', 'tp: 2, pp: 2, order: tp-cp-ep-pp-dp', 'ep: 4, expt_tp: 1'];
  const layouts = DEGREES.map((degrees) =>
    layoutOf(`world_size: 16\nparallelism: {${degrees}}\nmodel: {num_experts: 8}`),
  );
  const describe = [(name: string) => TAGS[name] ?? '', () => 'undefined'];
  for (const [ours, layout] of layouts.entries()) {
    for (const [theirs, other] of layouts.entries()) {
      for (const [way, desc] of describe.entries()) {
        // a part of the groups, another one each time
        const seen = groupsOf(other, desc).filter((_, at) => (at + ours + theirs) % 3 !== way);
        const plain = compareGroups(seen, new LayoutGroups(layout));
        const cause = causeOf(seen, layout);
        const named = namedBy(plain, seen, new LayoutGroups(layout), new LayoutGroups(cause?.layout ?? layout));
        for (const { different, not_seen } of [plain, named]) {
          const names = different.map(({ name }) => name);
          expect(names.filter((name) => not_seen.includes(name))).toEqual([]);
        }
      }
    }
  }
});
