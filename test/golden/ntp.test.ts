import { describe, expect, test } from 'vitest';
import {
  activeSlots,
  check,
  countsAsReduced,
  paddedSlots,
  processGroups,
  type ResolvedNtp,
  replacementGroups,
  reshardSplits,
  spareRanks,
  syncConflicts,
  syncStates,
} from '../../layout';
import { loadGolden, testLayouts, verdictOf } from './golden';
import { type ParallelInput, parallelText } from './inputs';

type Key = number | readonly [dp: number, cp: number, pp: number];

interface Ntp {
  readonly tp_base: number;
  readonly tp_spares: number;
  readonly num_reduced_tp_dp_ranks: number;
  readonly non_active_ranks_per_dp: readonly (readonly [Key, readonly number[]])[] | null;
}

interface Input {
  readonly kind?: 'spares' | 'active' | 'init' | 'map';
  readonly tp_base?: number;
  readonly faulty_gpu_map?: readonly (readonly [number, readonly number[]])[];
  readonly ntp: Ntp;
  readonly dp_rank: number;
  readonly cp_rank: number;
  readonly pp_rank: number;
  readonly world_size: number;
  readonly layout: Pick<ParallelInput, 'tp' | 'cp' | 'pp' | 'ep' | 'etp' | 'order'>;
  readonly num_shards: number;
  readonly shape: readonly number[];
  readonly partition_dim: number | null;
}

/** The groups that ranks hold in the end, and the index of each rank's own. */
interface FinalGroups {
  readonly groups: readonly (readonly number[])[];
  readonly of_rank: readonly number[];
}

interface Expect extends Readonly<Record<'tp' | 'cp' | 'tp_cp' | 'mp', FinalGroups>> {
  readonly tp_spares: number;
  readonly non_active_ranks_per_dp: readonly (readonly [number, readonly number[]])[];
  readonly active: readonly number[];
  readonly new_group_calls: readonly (readonly number[])[];
  readonly spares: readonly number[];
  readonly dp_sync_conflicts: readonly object[];
  readonly is_reduced_dp: readonly number[];
  readonly should_dp_sync: readonly (number | null)[];
  readonly applied: boolean;
  readonly send_splits: readonly (readonly number[])[];
  readonly recv_splits: readonly (readonly number[])[];
}

const cases = loadGolden<Input, Expect>('ntp');
const ofKind = (kind: Input['kind']) => cases.filter(({ input, id }) => input.kind === kind && !id.includes('odd'));

function entriesOf({ non_active_ranks_per_dp: map }: Ntp): ResolvedNtp['nonActive'] {
  const entries = map?.map(([key, localRanks]) => {
    const [dp, cp = null, pp = null] = [key].flat();
    return { dp: dp ?? 0, cp, pp, localRanks };
  });
  return entries ?? null;
}

function resolved(ntp: Ntp): ResolvedNtp {
  const { tp_base: tpBase, tp_spares: tpSpares, num_reduced_tp_dp_ranks: numReducedTpDpRanks } = ntp;
  return { tpBase, tpSpares, numReducedTpDpRanks, nonActive: entriesOf(ntp), failedRanks: [], placement: 'nominal' };
}

function textOf({ world_size, layout, ntp }: Input): string {
  const entries = entriesOf(ntp)?.map(({ localRanks: local_ranks, ...place }) => ({ ...place, local_ranks }));
  return parallelText({ world_size, ...layout }, { ntp: { ...ntp, non_active_ranks_per_dp: entries } });
}

const shapeOf = ({ world_size, layout: { tp, cp, pp } }: Input) => ({ cp, dp: world_size / (tp * cp * pp) });

/** Inputs of kind `init` that a careful checker refuses although Megatron-LM takes them, as the unchecked cases show. */
function isTrap({ input, expect: golden }: (typeof cases)[number]): boolean {
  const noMap = (input.ntp.non_active_ranks_per_dp?.length ?? 0) === 0;
  return noMap || golden.dp_sync_conflicts.length > 0 || input.layout.ep > 1 || input.layout.pp > 1;
}

describe('nonuniform TP', () => {
  test.each(ofKind('spares'))('$id: spares with parity', ({ input, expect: golden }) => {
    const faulty = input.faulty_gpu_map ?? [];
    const count = Math.max(0, ...faulty.map(([, slots]) => slots.length));
    expect(count).toBe(golden.tp_spares);
    const padded = faulty.map(([dp, slots]) => [dp, paddedSlots(input.tp_base ?? 0, slots, count)]);
    expect(padded).toEqual(golden.non_active_ranks_per_dp);
  });

  test.each(ofKind('active'))('$id: active slots', ({ input, expect: golden }) => {
    const ntp = { ...resolved(input.ntp), tpBase: input.tp_base ?? 0 };
    expect(activeSlots(ntp, input.dp_rank, input.cp_rank, input.pp_rank)).toEqual(golden.active);
  });

  test.each(ofKind('init').filter(({ ok }) => ok))('$id: groups, spares, conflicts', ({ input, expect: golden }) => {
    const ntp = resolved(input.ntp);
    expect([...replacementGroups(ntp, shapeOf(input))].map(({ ranks }) => ranks)).toEqual(golden.new_group_calls);
    expect(spareRanks(ntp, shapeOf(input))).toEqual(golden.spares);
    expect(syncConflicts(ntp, shapeOf(input))).toEqual(golden.dp_sync_conflicts);
  });

  test.each(ofKind('init').filter(({ ok }) => ok))(
    '$id: the groups that each rank holds',
    ({ input, expect: golden }) => {
      const ntp = resolved(input.ntp);
      const replaced = [...replacementGroups(ntp, shapeOf(input))];
      const base = check(textOf({ ...input, ntp: { ...input.ntp, tp_spares: 0 } })).resolved;
      for (const family of base ? processGroups(base) : []) {
        const { name } = family;
        if (name === 'tp' || name === 'cp' || name === 'tp_cp' || name === 'mp') {
          // without a pipeline the model-parallel group is the TP group
          const own = replaced.filter((group) => group.name === (name === 'mp' ? 'tp' : name));
          const held = golden[name].of_rank.map((_, rank) => {
            const anew = own.findLast(({ ranks }) => ranks.includes(rank));
            return anew?.ranks ?? family.ranks(family.indicesOf(rank)[0] ?? -1);
          });
          expect(held, name).toEqual(golden[name].of_rank.map((index) => golden[name].groups[index]));
        }
      }
    },
  );

  // with a pipeline, which is refused, stages do not agree
  const flat = ofKind('init').filter(({ ok, input }) => ok && input.layout.pp === 1);

  test.each(flat)('$id: who is reduced, who syncs', ({ input, expect: golden }) => {
    const ntp = resolved(input.ntp);
    const { cp, dp } = shapeOf(input);
    const slices = Array.from({ length: dp * cp }, (_, i) => [Math.floor(i / cp), i % cp] as const);
    const reduced = slices.map(([replica, slice]) => Number(countsAsReduced(ntp, replica, slice)));
    expect(golden.is_reduced_dp).toEqual(reduced.flatMap((is) => Array<number>(ntp.tpBase).fill(is)));
    const sync = { syncing: 1, kept_not_syncing: 0, exited: null };
    const states = slices.flatMap(([replica, slice]) => syncStates(ntp, replica, slice));
    expect(states.map((state) => sync[state])).toEqual(golden.should_dp_sync);
  });

  const split = ofKind('map').filter(
    ({ input, ok, expect: { applied } }) => input.partition_dim !== null && (!ok || applied),
  );
  test.each(split)('$id: splits', ({ input, ok, expect: golden }) => {
    const { tp_base, tp_spares } = input.ntp;
    const splits = reshardSplits(tp_base, tp_spares, input.num_shards, input.shape[input.partition_dim ?? 0] ?? 0);
    expect(splits).toEqual(ok ? { send: golden.send_splits, recv: golden.recv_splits } : null);
  });
});

testLayouts<Input, Expect>('layouts of nonuniform TP', 'ntp', {
  text: ({ id, input }) => (input.kind === 'init' && !id.includes('odd') ? textOf(input) : null),
  verdict: (one) => (one.ok && isTrap(one) ? 'refused' : verdictOf(one.error)),
});

testLayouts<Input, Expect>('what Megatron-LM does not check', 'ntp_unchecked', {
  text: ({ input }) => (input.layout ? textOf(input) : null),
  verdict: ({ error }) => (error ? verdictOf(error) : 'refused'),
});
