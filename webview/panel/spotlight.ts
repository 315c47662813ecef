import type { ResolvedLayout } from '../../layout';
import { groupsNamed } from '../../picture/rankDetails';

/** At most so many ranks that a search found are marked. */
const MAX_MARKED = 4096;

/** Which ranks are looked at: the one under the pointer or chosen, its peers, and those that a search or a list named. */
export class Spotlight {
  /** The rank that is looked at: under the pointer, or else the chosen one; -1 for none. */
  focus: number;
  /** Ranks that a search or a list highlighted; they stay until something else is chosen. */
  highlighted: readonly number[] = [];
  /** Ranks of the list entry that is pointed at. */
  previewed: readonly number[] = [];
  /** The same in the picture of the layout that is compared with, where they are others. */
  previewedBefore: readonly number[] | null = null;
  /** Where a frame that grows by arrow keys began; -1 for none. */
  anchor = -1;
  #index = -1;

  constructor(rank: number) {
    this.focus = rank;
  }

  /** Lets go of all ranks: those of another document. */
  forget(): void {
    this.focus = -1;
    this.highlighted = [];
    this.preview([]);
    this.anchor = -1;
  }

  /** Drops ranks beyond the world; returns whether the focus was one of them. */
  limit(worldSize: number): boolean {
    this.highlighted = this.highlighted.filter((rank) => rank < worldSize);
    this.preview([]);
    const gone = this.focus >= worldSize;
    this.focus = gone ? -1 : this.focus;
    return gone;
  }

  /** Marks ranks while a list entry is pointed at. @param before those of the layout that is compared with, where they are others */
  preview(ranks: readonly number[], before?: readonly number[]): void {
    this.previewed = ranks;
    this.previewedBefore = before ?? null;
  }

  /** The rank to move to when ranks are highlighted: the first, or the next one where the same ranks are highlighted again. */
  next(ranks: readonly number[]): number | undefined {
    const again = ranks.length === this.highlighted.length && ranks.every((rank, i) => rank === this.highlighted[i]);
    this.#index = again ? (this.#index + 1) % Math.max(1, ranks.length) : 0;
    return ranks[this.#index];
  }

  /** Highlights what a search found, as far as it can be marked one by one. */
  highlight(count: number, rankAt: (index: number) => number): void {
    this.highlighted = count > 1 ? Array.from({ length: Math.min(count, MAX_MARKED) }, (_, i) => rankAt(i)) : [];
  }

  /**
   * The ranks that are marked beside the focused one.
   * @param kind the kind of process group whose peers are shown
   */
  peers(layout: ResolvedLayout, kind: string, chosen: number): readonly number[] {
    if (this.previewed.length > 0) {
      return this.previewed;
    }
    if (this.highlighted.length > 0 && this.focus === chosen) {
      return this.highlighted;
    }
    const [group] = this.focus < 0 ? [] : groupsNamed(layout, this.focus, kind);
    return group?.ranks ?? [];
  }
}
