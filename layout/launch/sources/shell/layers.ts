/** How many layers a lookup walks through before they become one. */
const MAX_DEPTH = 24;

/** Changes on top of those below; a layer that others stand on never changes. */
interface Layer<Value> {
  /** `undefined` stands for a name that was deleted. */
  readonly changes: Map<string, Value | undefined>;
  readonly below: Layer<Value> | null;
  readonly depth: number;
}

/**
 * Values by name, of which a copy costs nothing: both copies stand on the same layers and write their changes on top, so
 * that what two copies changed since they parted is known without a look at the rest.
 */
export class Layers<Value extends object | string | true> {
  #top: Layer<Value>;
  #isShared = false;

  constructor(entries: Iterable<readonly [string, Value]> = []) {
    this.#top = { changes: new Map(entries), below: null, depth: 1 };
  }

  get(name: string): Value | undefined {
    for (let layer: Layer<Value> | null = this.#top; layer; layer = layer.below) {
      if (layer.changes.has(name)) {
        return layer.changes.get(name);
      }
    }
    return undefined;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** Sets a value; `undefined` deletes it. */
  set(name: string, value: Value | undefined): void {
    if (this.#isShared) {
      const below = this.#top;
      this.#top = { changes: new Map(), below, depth: below.depth + 1 };
      this.#isShared = false;
    }
    this.#top.changes.set(name, value);
  }

  copy(): Layers<Value> {
    if (this.#top.depth > MAX_DEPTH) {
      this.#top = { changes: new Map(this.all()), below: null, depth: 1 };
    }
    const copy = new Layers<Value>();
    copy.#top = this.#top;
    copy.#isShared = true;
    this.#isShared = true;
    return copy;
  }

  /** All values as they are now, in the order in which their names came up. */
  all(): ReadonlyMap<string, Value> {
    const layers: Layer<Value>[] = [];
    for (let layer: Layer<Value> | null = this.#top; layer; layer = layer.below) {
      layers.push(layer);
    }
    const all = new Map<string, Value>();
    for (const [name, value] of layers.reverse().flatMap(({ changes }) => [...changes])) {
      if (value === undefined) {
        all.delete(name);
      } else {
        all.set(name, value);
      }
    }
    return all;
  }

  /** The names that this or the other may have changed since one was copied from the other, or both from a third. */
  changedSince(other: Layers<Value>): ReadonlySet<string> {
    const names = new Set<string>();
    let mine: Layer<Value> | null = this.#top;
    let theirs: Layer<Value> | null = other.#top;
    while (mine !== theirs) {
      const isMineHigher = (mine?.depth ?? 0) >= (theirs?.depth ?? 0);
      const higher: Layer<Value> | null = isMineHigher ? mine : theirs;
      for (const name of higher?.changes.keys() ?? []) {
        names.add(name);
      }
      if (isMineHigher) {
        mine = mine?.below ?? null;
      } else {
        theirs = theirs?.below ?? null;
      }
    }
    return names;
  }
}
