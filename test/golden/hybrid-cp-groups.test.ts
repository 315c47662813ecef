import { describe, expect, test } from 'vitest';
import { check, processGroups } from '../../layout';
import { layoutText, loadGolden, predictions, ranksOf } from './golden';

interface Input {
  readonly revision: 'main' | 'dev';
  readonly world_size: number;
  readonly tp: number;
  readonly pp: number;
  readonly cp: number;
  readonly ep: number;
  readonly gtp_remat: number;
  readonly min_size: number;
  readonly order: string;
}

interface Expect {
  readonly group_order: readonly string[];
  readonly groups: Readonly<Record<string, number[][]>>;
}

const textOf = ({ revision, world_size, tp, pp, cp, ep, gtp_remat, min_size, order }: Input): string =>
  layoutText({
    world_size,
    megatron: revision,
    parallelism: {
      tp,
      pp,
      cp,
      ep,
      gtp_remat,
      order,
      ...(revision === 'main'
        ? { hybrid_context_parallel: true }
        : { dynamic_context_parallel: true, min_dynamic_context_parallel_size: min_size }),
    },
  });

/** The training script refuses a pipeline under hybrid context parallelism; a bare call makes its groups. */
const SCRIPT_ONLY = 'Hybrid context parallelism not supported with pipeline parallelism';

describe('groups of hybrid and dynamic context parallelism', () => {
  test.each(loadGolden<Input, Expect>('hybrid_cp_groups'))('$id', ({ input, ok, error, expect: golden }) => {
    const checked = check(textOf(input));
    const found = predictions(checked).filter((message) => message !== SCRIPT_ONLY);
    if (!ok) {
      expect(predictions(checked)).not.toEqual([]);
      if (error?.origin === 'megatron' && input.pp === 1) {
        expect(found).toContain(error.message);
      }
      return;
    }
    expect(found).toEqual([]);
    const families = checked.resolved ? processGroups(checked.resolved) : [];
    const own = families.filter(({ name }) => /^(hybrid|dynamic)_dp_cp_/.test(name));
    const goldenName = (name: string) => name.toUpperCase().replace('_CP_', '_CP_GROUP_');
    expect(own.map(({ name }) => goldenName(name))).toEqual(golden.group_order);
    expect(Object.fromEntries(own.map((family) => [goldenName(family.name), ranksOf(family)]))).toEqual(golden.groups);
  });
});
