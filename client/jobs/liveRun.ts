import type { GroupOperations, SmokeEvent } from '../../jobs';

/** How often what is known of a run is shown, at most: less often for larger worlds, as all of it is sent each time. Milliseconds. */
const SHORTEST = 250;
const PER_RANK = 0.5;

/** The state of the ranks and groups of a run in progress. */
export class LiveRun {
  readonly #ranks: number[] = [];
  readonly #groups: GroupOperations[] = [];
  #device = '';
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param show shows what is known */
  constructor(
    readonly world: number,
    readonly show: () => void,
  ) {}

  /** The ranks that have come up. */
  get ranks(): readonly number[] {
    return this.#ranks;
  }

  /** The groups that have passed. */
  get groups(): readonly GroupOperations[] {
    return this.#groups;
  }

  get device(): string {
    return this.#device;
  }

  take(event: SmokeEvent): void {
    if (event.ev === 'rank') {
      this.#ranks.push(event.rank);
    } else if (event.ev === 'group' && event.ok) {
      this.#groups.push(event);
    } else if (event.ev === 'phase') {
      this.#device = event.device ?? this.#device;
    }
    this.changed();
  }

  /** Shows what is known soon. */
  changed(): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.show();
      },
      Math.max(SHORTEST, PER_RANK * this.world),
    );
  }

  dispose(): void {
    clearTimeout(this.#timer);
  }
}
