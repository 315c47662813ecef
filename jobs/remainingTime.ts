import type { SmokeProgress } from './smokeRun';

/** Predicts the remaining time of a run from the pace of its groups, before that from an earlier run of the same layout. */
export class RemainingTime {
  #firstGroup: { at: number; done: number } | undefined;

  /**
   * @param before the time of the last passed run of this layout on this cluster, in seconds
   * @param began the start of this run, in milliseconds
   */
  constructor(
    readonly before: number | undefined,
    readonly began: number,
  ) {}

  /**
   * @param now in milliseconds
   * @returns seconds; undefined for unknown
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
