import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import { type GoldenError, layoutText, loadGolden, type MimoFlags, mimoFlagsText, predictions } from './golden';

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

function textOf({ kind, revision, case: grid }: Input): string {
  if (kind === 'hetero_args') {
    return mimoFlagsText(grid as unknown as MimoFlags, VERSIONS[revision]);
  }
  const { world_size, specs, use_sharp, sharp_enabled_group } = grid ?? { world_size: 1 };
  const layout = { megatron: VERSIONS[revision], world_size };
  if (specs) {
    return layoutText({ ...layout, modules: Object.fromEntries(specs.map(({ name, ...degrees }) => [name, degrees])) });
  }
  const parallelism = Object.fromEntries(PARALLELISM.map((key) => [RENAMED[key] ?? key, grid?.[key]]));
  return layoutText({ ...layout, parallelism, communicators: { use_sharp, sharp_enabled_group } });
}

interface Expect {
  readonly specs_error?: GoldenError | null;
  readonly fields?: { readonly specs_error?: { readonly other: GoldenError | null } };
}

/** A file cannot name two modules alike. */
function isExpressible({ specs }: Grid): boolean {
  return new Set(specs?.map(({ name }) => name)).size === (specs?.length ?? 0);
}

/** Flags of overlapped communication are no part of a layout. */
function hasFlags({ args }: Grid): boolean {
  return !(args as Readonly<Record<string, unknown>> | undefined)?.encoder_ddp_overlap;
}

const cases = loadGolden<Input, Expect>('version_drift').filter(
  ({ input }) =>
    input.case &&
    ['homogeneous', 'hetero', 'hetero_args'].includes(input.kind) &&
    isExpressible(input.case) &&
    hasFlags(input.case),
);

describe('cases that another version judges in another way than main', () => {
  test('there are many', () => {
    expect(cases.length).toBeGreaterThan(200);
  });

  test.each(cases)('$id', ({ id, input, ok, error, expect: golden }) => {
    const said = predictions(check(textOf(input)));
    const refusal = error ?? golden.fields?.specs_error?.other ?? golden.specs_error ?? null;
    if (ok && refusal === null) {
      expect(said).toEqual([]);
    } else if (refusal?.origin === 'python' && id.includes('odd')) {
      expect(said).not.toEqual([]);
    } else {
      expect(said).toContain(refusal?.message);
    }
  });
});
