import { describe, expect, test } from 'vitest';
import { check, isBridge, processGroups } from '../../layout';
import { layoutText, loadGolden, predictions, ranksOf } from './golden';

interface GridInput {
  readonly shape: readonly number[];
  readonly dim_names: readonly string[];
  readonly rank_offset: number;
}

interface Input {
  readonly world_size: number;
  readonly src: GridInput;
  readonly dest: GridInput;
  readonly batch_sizes: readonly number[];
}

interface Expect {
  readonly direction: string;
  readonly scale: number;
  readonly gather_group_ranks: readonly (readonly number[])[];
  readonly ranks: Readonly<Record<string, { readonly gather_group: readonly number[] | null }>>;
}

const MODULE_ORDER = ['tp', 'gtp_remat', 'cp', 'dp', 'pp'];

/** A layout's modules have their dims in one order, and colocated ones cover the whole world from rank 0. */
function expressible({ world_size, src, dest }: Input): boolean {
  return [src, dest].every(({ shape, dim_names, rank_offset }) => {
    const kept = dim_names.filter((_, i) => (shape[i] ?? 1) > 1);
    const places = kept.map((name) => MODULE_ORDER.indexOf(name));
    const inOrder = places.every((place, i) => place >= 0 && (i === 0 || place > (places[i - 1] ?? -1)));
    return (
      inOrder &&
      dim_names.includes('tp') &&
      dim_names.includes('dp') &&
      rank_offset === 0 &&
      shape.reduce((n, size) => n * size, 1) === world_size
    );
  });
}

function textOf({ world_size, src, dest }: Input, micro?: number): string {
  const module = ({ shape, dim_names }: GridInput) => ({
    num_ranks: world_size,
    ...Object.fromEntries(dim_names.map((name, i) => [name, shape[i]]).filter(([name]) => name !== 'dp')),
  });
  return layoutText({
    world_size,
    modules: { images: module(src), language: module(dest) },
    batch: micro === undefined ? null : { micro_batch_size: micro },
  });
}

describe('bridges between colocated modules', () => {
  const cases = loadGolden<Input, Expect>('colocated_bridge').filter(({ input }) => expressible(input));
  // under generalized TP some ranks are in no gather group and wait in the world group: accepted, and hangs
  const hangs = ({ expect: golden }: (typeof cases)[number]) =>
    golden.gather_group_ranks.length > 0 && Object.values(golden.ranks).some((rank) => rank.gather_group === null);
  const accepted = cases.filter((one) => one.ok && !hangs(one));

  test('there are enough of them', () => {
    expect(accepted.length).toBeGreaterThan(10);
  });

  test.each(accepted)('$id: direction, scale and groups', ({ input, expect: golden }) => {
    const checked = check(textOf(input));
    expect(predictions(checked)).toEqual([]);
    const bridges = checked.resolved ? processGroups(checked.resolved).filter(isBridge) : [];
    expect(bridges.map(({ direction, scale }) => ({ direction, scale }))).toEqual([
      { direction: golden.direction, scale: golden.scale },
    ]);
    expect(bridges.flatMap(ranksOf)).toEqual(golden.gather_group_ranks);
  });

  test.each(accepted)('$id: batches', ({ input, expect: golden }) => {
    for (const size of input.batch_sizes) {
      const found = predictions(check(textOf(input, size)));
      const message = `ColocatedBridgeCommunicator: batch dim size ${size} is not divisible by ${golden.direction} scale=${golden.scale}.`;
      expect(found).toEqual(size % golden.scale === 0 ? [] : [message]);
    }
  });

  test.each(cases.filter((one) => one.ok && hangs(one)))('$id: accepted, and hangs', ({ input }) => {
    const errors = check(textOf(input)).diagnostics.filter(({ severity }) => severity === 'error');
    expect(errors.map(({ code }) => code)).toEqual(['colocated-bridge']);
  });

  test.each(cases.filter(({ ok }) => !ok))('$id: refused with the same words', ({ input, error }) => {
    expect(predictions(check(textOf(input)))).toContain(error?.message);
  });
});
