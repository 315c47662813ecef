import { describe, expect, test } from 'vitest';
import { Grid } from '../../layout/grid/grid';
import { loadGolden } from './golden';

interface View {
  readonly shape: readonly number[];
  readonly dim_names: readonly string[];
}

interface Input extends View {
  readonly rank_offset: number;
  readonly views: readonly (View & { readonly name: string })[];
  readonly queries: readonly { readonly dims: string | readonly string[]; readonly view: string | null }[];
}

interface Expect {
  readonly size: number;
  /** What each query gives: rank lists of `get_rank_enum` and `create_pg`, null of another and of a refused one. */
  readonly queries: readonly { readonly enum: readonly (readonly number[])[] | null }[];
}

/** The accepted grids; a layout cannot give two dimensions one name. */
const cases = loadGolden<Input, Expect>('hyper_comm_grid').filter(
  ({ ok, input }) => ok && new Set(input.dim_names).size === input.dim_names.length,
);

/** A view of a grid; without a name the grid's own dimensions. */
function gridOf(input: Input, name: string | null): Grid {
  const { shape, dim_names } = input.views.find((view) => view.name === name) ?? input;
  return new Grid(
    dim_names.map((dim, i) => ({ name: dim, size: shape[i] ?? 1 })),
    input.rank_offset,
  );
}

describe('rank lists of HyperCommGrid', () => {
  test.each(cases)('$id', ({ input, expect: golden }) => {
    expect(gridOf(input, null).size).toBe(golden.size);
    for (const [i, { dims, view }] of input.queries.entries()) {
      const expected = golden.queries[i]?.enum;
      if (expected) {
        const groups = gridOf(input, view).groups([dims].flat());
        expect(Array.from({ length: groups.count }, (_, group) => groups.ranks(group))).toEqual(expected);
      }
    }
  });
});
