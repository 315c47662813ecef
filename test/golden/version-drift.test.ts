import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import { layoutText, loadGolden, predictions } from './golden';

type Value = string | number | boolean | readonly number[] | null;

interface Grid {
  readonly world_size: number;
  readonly specs?: readonly Readonly<Record<string, Value>>[];
  readonly [key: string]: unknown;
}

interface Input {
  readonly kind: string;
  readonly revision: string;
  readonly case: Grid | null;
}

/** Our names of the revisions. */
const VERSIONS: Readonly<Record<string, string>> = {
  dev: 'dev',
  'core_v0.18.2': 'core_r0.18',
  'core_v0.19.0': 'core_r0.19',
};

/** Keys of a grid that have another name in the format. */
const RENAMED: Readonly<Record<string, string>> = { etp: 'expt_tp' };
const PARALLELISM = [
  'tp',
  'pp',
  'vpp',
  'cp',
  'ep',
  'etp',
  'gtp_remat',
  'expt_gtp_remat',
  'num_distributed_optimizer_instances',
  'order',
  'hierarchical_context_parallel_sizes',
  'hybrid_context_parallel',
];

function textOf({ revision, case: grid }: Input): string {
  const { world_size, specs, use_sharp, sharp_enabled_group } = grid ?? { world_size: 1 };
  const layout = { megatron: VERSIONS[revision], world_size };
  if (specs) {
    return layoutText({ ...layout, modules: Object.fromEntries(specs.map(({ name, ...degrees }) => [name, degrees])) });
  }
  const parallelism = Object.fromEntries(PARALLELISM.map((key) => [RENAMED[key] ?? key, grid?.[key]]));
  return layoutText({ ...layout, parallelism, communicators: { use_sharp, sharp_enabled_group } });
}

/** A file cannot name two modules alike, nor say sizes below 1. */
function isExpressible(id: string, { specs }: Grid): boolean {
  return !id.includes('odd') && new Set(specs?.map(({ name }) => name)).size === (specs?.length ?? 0);
}

const cases = loadGolden<Input, unknown>('version_drift').filter(
  ({ id, input }) => input.case && ['homogeneous', 'hetero'].includes(input.kind) && isExpressible(id, input.case),
);

describe('cases that another version judges in another way than main', () => {
  test('there are many', () => {
    expect(cases.length).toBeGreaterThan(200);
  });

  test.each(cases)('$id', ({ input, ok, error }) => {
    const said = predictions(check(textOf(input)));
    if (ok) {
      expect(said).toEqual([]);
    } else {
      expect(said).toContain(error?.message);
    }
  });
});
