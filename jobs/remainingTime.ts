import type { SmokeProgress } from './smokeRun';

/** Foretells how long a run will still take: by an earlier run of the same layout there, else by the pace of its groups. */
export class RemainingTime {
  #firstGroup: { at: number; done: number } | undefined;

  /**
   * @param before how long the last passed run of this layout on this cluster took, in seconds
   * @param began when this run began, in milliseconds
   */
  constructor(
    readonly before: number | undefined,
    readonly began: number,
  ) {}

  /**
   * @param now in milliseconds
   * @returns seconds; undefined where nothing can be said yet
   */
  secondsLeft({ groups, allGroups }: SmokeProgress, now: number): number | undefined {
    if (groups > 0) {
      this.#firstGroup ??= { at: now, done: groups };
      const { at, done } = this.#firstGroup;
      if (groups > done) {
        return (((now - at) / (groups - done)) * (allGroups - groups)) / 1000;
      }
    }
    const left = this.before === undefined ? undefined : this.before - (now - this.began) / 1000;
    return left !== undefined && left > 0 ? left : undefined;
  }
}
