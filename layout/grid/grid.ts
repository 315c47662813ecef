/** A named dimension of a rank grid, such as `tp`, and how many ranks lie along it. */
export interface Dim {
  readonly name: string;
  readonly size: number;
}

/** A dimension with its stride: the distance in global ranks between neighbours along it. */
export interface Axis extends Dim {
  readonly stride: number;
}

/**
 * Ranks `[offset, offset + size)` factored into dimensions, the first of which varies fastest.
 * All arithmetic is by strides: nothing here enumerates ranks unless it is asked for a list.
 */
export class Grid {
  readonly axes: readonly Axis[];
  /** The number of ranks: the product of all sizes. */
  readonly size: number;

  /** @param offset the first global rank */
  constructor(
    dims: readonly Dim[],
    readonly offset = 0,
  ) {
    let stride = 1;
    this.axes = dims.map(({ name, size }) => {
      const axis = { name, size, stride };
      stride *= size;
      return axis;
    });
    this.size = stride;
  }

  /** Whether a global rank lies in this grid. */
  has(rank: number): boolean {
    return rank >= this.offset && rank < this.offset + this.size;
  }

  /** The size along a dimension; 1 for a dimension that the grid does not have. */
  sizeOf(name: string): number {
    return this.axes.find((axis) => axis.name === name)?.size ?? 1;
  }

  /** The index of a global rank along one axis. */
  indexAlong(axis: Axis, rank: number): number {
    return Math.floor((rank - this.offset) / axis.stride) % axis.size;
  }

  /** The coordinates of a global rank, in the order of the axes. */
  coordinates(rank: number): number[] {
    return this.axes.map((axis) => this.indexAlong(axis, rank));
  }

  /** The global rank at the given coordinates (one an axis, in the order of the axes). */
  rankAt(coordinates: readonly number[]): number {
    return this.axes.reduce((rank, axis, i) => rank + (coordinates[i] ?? 0) * axis.stride, this.offset);
  }

  /**
   * The groups that the named dimensions span: one group for each combination of the other coordinates.
   * Dimensions that the grid lacks count as size 1.
   */
  groups(names: readonly string[]): GridGroups {
    return new GridGroups(this, names);
  }
}

/**
 * All groups over some dimensions of a grid, by arithmetic. Groups are numbered, and ranks inside a group ordered, with
 * the grid's first dimension varying fastest (megatron/core/parallel_state.py
 * `generate_masked_orthogonal_rank_groups`; the same order as megatron/core/hyper_comm_grid.py `get_rank_enum`).
 */
export class GridGroups {
  readonly #inner: readonly Axis[];
  readonly #outer: readonly Axis[];
  /** How many ranks one group has. */
  readonly size: number;
  /** How many groups there are. */
  readonly count: number;

  constructor(
    readonly grid: Grid,
    names: readonly string[],
  ) {
    this.#inner = grid.axes.filter((axis) => names.includes(axis.name));
    this.#outer = grid.axes.filter((axis) => !names.includes(axis.name));
    this.size = this.#inner.reduce((n, axis) => n * axis.size, 1);
    this.count = this.#outer.reduce((n, axis) => n * axis.size, 1);
  }

  /** The global ranks of a group, ascending where the grid's strides ascend. */
  ranks(group: number): number[] {
    const base = this.grid.offset + unravel(group, this.#outer);
    const ranks = new Array<number>(this.size);
    for (let i = 0; i < this.size; i++) {
      ranks[i] = base + unravel(i, this.#inner);
    }
    return ranks;
  }

  /** The group that holds a global rank, or -1 where the grid does not hold it. */
  groupOf(rank: number): number {
    return this.grid.has(rank) ? this.#ravel(rank, this.#outer) : -1;
  }

  /** The place of a global rank inside its group. */
  placeOf(rank: number): number {
    return this.#ravel(rank, this.#inner);
  }

  #ravel(rank: number, axes: readonly Axis[]): number {
    let index = 0;
    let weight = 1;
    for (const axis of axes) {
      index += this.grid.indexAlong(axis, rank) * weight;
      weight *= axis.size;
    }
    return index;
  }
}

/** The distance from a group's base of its `index`-th member, counting along `axes` with the first varying fastest. */
function unravel(index: number, axes: readonly Axis[]): number {
  let rest = index;
  let distance = 0;
  for (const { size, stride } of axes) {
    distance += (rest % size) * stride;
    rest = Math.floor(rest / size);
  }
  return distance;
}
