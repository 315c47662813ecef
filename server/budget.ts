/**
 * The time for trying edits in one request: each costs a check of the file, and a file may have a thousand findings. Any
 * layout that a person writes is done long before.
 */
export class Budget {
  readonly #end = performance.now() + 100;

  get isSpent(): boolean {
    return performance.now() > this.#end;
  }
}
