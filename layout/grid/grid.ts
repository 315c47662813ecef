import { joinedAxes, type Step, unravel } from './arithmetic';

/** A named dimension of a rank grid, such as `tp`, and how many ranks lie along it. */
export interface Dim {
  readonly name: string;
  readonly size: number;
}

/** The size of a dimension; 1 for one that is not among them. */
export function sizeAlong(dims: readonly Dim[], name: string): number {
  return dims.find((dim) => dim.name === name)?.size ?? 1;
}

/** A dimension with its stride: the distance in global ranks between neighbours along it. */
export interface Axis extends Dim {
  readonly stride: number;
}

/**
 * Ranks `[offset, offset + size)` factored into dimensions, the first of which varies fastest.
 * All arithmetic is by strides: only lists enumerate ranks.
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
    return sizeAlong(this.axes, name);
  }

  /** The index of a global rank along one axis. */
  indexAlong(axis: Axis, rank: number): number {
    return Math.floor((rank - this.offset) / axis.stride) % axis.size;
  }

  /** The index of a global rank along a dimension; 0 along one that the grid does not have. */
  placeAlong(name: string, rank: number): number {
    const axis = this.axes.find((one) => one.name === name);
    return axis ? this.indexAlong(axis, rank) : 0;
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
    const inner: Axis[] = [];
    const outer: Axis[] = [];
    let size = 1;
    let count = 1;
    // one pass, as a layout of a thousand modules has tens of thousands of these
    for (const axis of grid.axes) {
      if (names.includes(axis.name)) {
        inner.push(axis);
        size *= axis.size;
      } else {
        outer.push(axis);
        count *= axis.size;
      }
    }
    this.#inner = inner;
    this.#outer = outer;
    this.size = size;
    this.count = count;
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

  /** The global rank at one place of a group. */
  rankAt(group: number, place: number): number {
    return this.grid.offset + unravel(group, this.#outer) + unravel(place, this.#inner);
  }

  /** The ranks of every group, as `ranks` gives them: one addition a rank. */
  all(): RankLists {
    return RankLists.even(repeated([this.grid.offset], [...this.#inner, ...this.#outer]), this.size);
  }

  /** Of every group the ranks at the given places. */
  allAt(places: readonly number[]): RankLists {
    const first = places.map((place) => this.grid.offset + unravel(place, this.#inner));
    return RankLists.even(repeated(first, this.#outer), places.length);
  }

  /**
   * The steps from the first rank of a group to its others, with those that continue one another joined. Groups of grids over
   * the same ranks are the same where these are, and have none of two ranks or more in common where they are not.
   */
  get steps(): Step[] {
    return joinedAxes(this.#inner.filter(({ size }) => size > 1));
  }

  /** The group that holds a global rank, or -1 where the grid does not hold it. */
  groupOf(rank: number): number {
    return this.grid.has(rank) ? this.#ravel(rank, this.#outer) : -1;
  }

  /** The same as a list: of one group, or of none. */
  indicesOf(rank: number): number[] {
    return this.grid.has(rank) ? [this.groupOf(rank)] : [];
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

/**
 * Many lists of ranks, one behind another in a single array: a million ranks take 4 MB and no garbage. Ranks fit, as a
 * world has at most 2^31.
 */
export class RankLists implements Iterable<Int32Array> {
  /**
   * @param ranks the ranks of all lists
   * @param starts where each list begins in `ranks`, and at last where the last one ends
   */
  constructor(
    readonly ranks: Int32Array,
    readonly starts: Int32Array,
  ) {}

  /** Cuts `ranks` into lists of one size. */
  static even(ranks: Int32Array, size: number): RankLists {
    const starts = new Int32Array(size > 0 ? ranks.length / size + 1 : 1);
    for (let i = 0; i < starts.length; i++) {
      starts[i] = i * size;
    }
    return new RankLists(ranks, starts);
  }

  /**
   * The lists that `listOf` gives for 0 up to `count`.
   * @param total how many ranks they have together
   */
  static of(count: number, total: number, listOf: (index: number) => readonly number[]): RankLists {
    const ranks = new Int32Array(total);
    const starts = new Int32Array(count + 1);
    let at = 0;
    for (let index = 0; index < count; index++) {
      const list = listOf(index);
      ranks.set(list, at);
      at += list.length;
      starts[index + 1] = at;
    }
    return new RankLists(ranks, starts);
  }

  /** The lists of all, in order. */
  static joined(all: readonly RankLists[]): RankLists {
    const ranks = new Int32Array(all.reduce((length, lists) => length + lists.ranks.length, 0));
    const starts = new Int32Array(all.reduce((count, lists) => count + lists.count, 0) + 1);
    let at = 0;
    let index = 0;
    for (const lists of all) {
      ranks.set(lists.ranks, at);
      for (let i = 0; i < lists.count; i++) {
        starts[index++] = at + (lists.starts[i] ?? 0);
      }
      at += lists.ranks.length;
    }
    starts[index] = at;
    return new RankLists(ranks, starts);
  }

  get count(): number {
    return this.starts.length - 1;
  }

  /** The ranks of one list; a view, not a copy. */
  at(index: number): Int32Array {
    return this.ranks.subarray(this.starts[index], this.starts[index + 1]);
  }

  *[Symbol.iterator](): Iterator<Int32Array> {
    for (let index = 0; index < this.count; index++) {
      yield this.at(index);
    }
  }

  /**
   * Lists of `size` ranks made of these, which all have one length: of each the ranks at `places`, in that order, cut
   * anew.
   */
  picked(places: ArrayLike<number>, size: number): RankLists {
    const picked = new Int32Array(this.count * places.length);
    let at = 0;
    for (let index = 0; index < this.count; index++) {
      const start = this.starts[index] ?? 0;
      for (let i = 0; i < places.length; i++) {
        picked[at++] = this.ranks[start + (places[i] ?? 0)] ?? 0;
      }
    }
    return RankLists.even(picked, size);
  }
}

/** The first ranks, and their repetitions along `axes`: each axis repeats all ranks so far, one stride further on. */
function repeated(first: readonly number[], axes: readonly Axis[]): Int32Array {
  const ranks = new Int32Array(axes.reduce((n, axis) => n * axis.size, first.length));
  ranks.set(first.slice(0, ranks.length));
  let known = first.length;
  for (const { size, stride } of axes) {
    for (let i = known; i < known * size; i++) {
      ranks[i] = (ranks[i - known] ?? 0) + stride;
    }
    known *= size;
  }
  return ranks;
}
