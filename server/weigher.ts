import type { CancellationToken } from 'vscode-languageserver';
import { type Alternatives, alternativesKey, type Checked, tradeoffSteps } from '../layout';
import type { WeighedText } from './messages';
import { inSlices } from './slices';

/** For how many models and machines the alternatives are kept. */
const MAX_KEPT = 4;

/** Weighs layouts against others, in slices: no request waits for it, and a newer text takes its place. */
export class Weigher {
  /** What does not change with a degree is worked out once. */
  readonly #known = new Map<string, Alternatives>();

  /**
   * The trade-offs of a layout; null where they were cancelled.
   * @param sent the key of the alternatives that are not wanted again
   */
  async tradeoffs(checked: Checked, token: CancellationToken, sent: string | null = null): Promise<WeighedText | null> {
    const key = alternativesKey(checked.text);
    const tradeoffs = await inSlices(tradeoffSteps(checked, this.#known.get(key) ?? null), token);
    if (!tradeoffs) {
      return null;
    }
    const { neighbours, alternatives } = tradeoffs;
    this.#keep(key, alternatives);
    return { key, neighbours, alternatives: key === sent ? null : alternatives };
  }

  #keep(key: string, alternatives: Alternatives): void {
    this.#known.delete(key);
    this.#known.set(key, alternatives);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KEPT && oldest !== undefined) {
      this.#known.delete(oldest);
    }
  }
}
