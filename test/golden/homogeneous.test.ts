import { describe, expect, test } from 'vitest';
import { check, groupNameOf, processGroups } from '../../layout';
import { digest, layoutText, loadGolden, predictions, ranksOf } from './golden';

interface Input {
  readonly world_size: number;
  readonly tp: number;
  readonly pp: number;
  readonly vpp: number | null;
  readonly cp: number;
  readonly ep: number;
  readonly etp: number | null;
  readonly gtp_remat: number;
  readonly expt_gtp_remat: number;
  readonly num_distributed_optimizer_instances: number;
  readonly order: string;
  readonly hierarchical_context_parallel_sizes: readonly number[] | null;
  readonly hybrid_context_parallel: boolean;
  readonly use_sharp: boolean;
  readonly sharp_enabled_group: string | null;
  readonly pipeline_model_parallel_comm_backend: string | null;
  readonly rank_offset: number;
  readonly local_world_size: number | null;
  readonly dist_initialized: boolean;
  readonly all_gather: { readonly for_expert_parallelism: boolean } | null;
}

type Lists = Readonly<Record<string, number[][]>>;
type Digests = Readonly<Record<string, { readonly sha256: string }>>;

interface Expect {
  readonly dp: number;
  readonly expt_dp: number;
  readonly group_order: readonly string[];
  readonly groups?: Lists;
  readonly groups_sha256?: Digests;
  readonly all_gather?: { readonly ok: boolean; readonly groups?: Lists; readonly groups_sha256?: Digests };
}

const LEVEL = /^HIERARCHICAL_CONTEXT_PARALLEL_GROUP_L\d+$/;

/** A layout speaks of one world from rank 0, and has no key for the pipeline's backend. */
const expressible = (input: Input): boolean =>
  input.rank_offset === 0 &&
  input.local_world_size === null &&
  input.pipeline_model_parallel_comm_backend === null &&
  input.dist_initialized;

function textOf(input: Input): string {
  const { world_size, tp, pp, vpp, cp, ep, etp, order, use_sharp, sharp_enabled_group, all_gather } = input;
  const { gtp_remat, expt_gtp_remat, num_distributed_optimizer_instances, hierarchical_context_parallel_sizes } = input;
  const degrees = { tp, gtp_remat, cp, pp, vpp, ep, expt_tp: etp, expt_gtp_remat, order };
  const { hybrid_context_parallel } = input;
  const parallelism = {
    ...degrees,
    num_distributed_optimizer_instances,
    hierarchical_context_parallel_sizes,
    ...(hybrid_context_parallel && { hybrid_context_parallel }),
  };
  const create_expert_all_gather_group = all_gather?.for_expert_parallelism;
  return layoutText({
    world_size,
    parallelism,
    ...((use_sharp || sharp_enabled_group !== null) && { communicators: { use_sharp, sharp_enabled_group } }),
    ...(all_gather && { fsdp: { create_all_gather_group: true, create_expert_all_gather_group } }),
  });
}

const cases = loadGolden<Input, Expect>('homogeneous').filter(({ input }) => expressible(input));

describe('layouts of initialize_model_parallel', () => {
  const accepted = cases.filter(({ ok, id }) => ok && !id.includes('odd'));
  const rejected = cases.filter(({ ok }) => !ok);

  test('there are both kinds', () => {
    expect(accepted.length).toBeGreaterThan(5);
    expect(rejected.length).toBeGreaterThan(5);
  });

  test.each(accepted)('$id: accepted, and every group equal', ({ input, expect: golden }) => {
    const checked = check(textOf(input));
    const errors = checked.diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code);
    // the separate all-gather groups that Megatron-LM would make wrongly, or not at all
    const traps = ['all-gather-groups', 'fsdp-expert-group'];
    expect(errors.filter((code) => !(input.all_gather && traps.includes(code)))).toEqual([]);
    const families = checked.resolved ? processGroups(checked.resolved) : [];
    const own = families.filter(({ name }) => name !== 'hcp' && !name.endsWith('_ag'));
    const order = golden.group_order.filter((name) => !LEVEL.test(name));
    expect(own.map(({ name }) => name)).toEqual(order.map(groupNameOf));
    for (const [i, name] of order.entries()) {
      const lists = own[i] ? ranksOf(own[i]) : [];
      if (golden.groups) {
        expect(lists, name).toEqual(golden.groups[name]);
      } else {
        expect(digest(lists), name).toBe(golden.groups_sha256?.[name]?.sha256);
      }
    }
    const levels = golden.group_order.filter((name) => LEVEL.test(name));
    const hierarchical = families.filter(({ name }) => name === 'hcp').flatMap(ranksOf);
    if (golden.groups) {
      expect(hierarchical).toEqual(levels.flatMap((name) => golden.groups?.[name] ?? []));
    }
  });

  test.each(accepted.filter(({ expect: golden }) => golden.all_gather?.ok))(
    '$id: the separate all-gather groups equal',
    ({ input, expect: golden }) => {
      const { resolved } = check(textOf(input));
      const families = resolved ? processGroups(resolved) : [];
      for (const [name, lists] of Object.entries(golden.all_gather?.groups ?? {})) {
        expect(families.filter((family) => family.name === groupNameOf(name)).flatMap(ranksOf)).toEqual(lists);
      }
    },
  );

  test.each(rejected)('$id: rejected with the same words', ({ input, error }) => {
    const found = predictions(check(textOf(input)));
    expect(found).not.toEqual([]);
    if (error?.origin === 'megatron') {
      expect(found).toContain(error.message);
    }
  });

  test.each(cases.filter(({ ok, id }) => ok && id.includes('odd')))('$id: nonsense is refused', ({ input }) => {
    expect(predictions(check(textOf(input)))).not.toEqual([]);
  });
});
