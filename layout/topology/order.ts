import { ORDER_TOKENS } from '../format/keys';

/** What is wrong with a rank order. */
export interface OrderProblem {
  readonly unknown: readonly string[];
  readonly repeated: readonly string[];
}

/** The tokens of an order such as `tp-cp-ep-dp-pp`; `gtp_remat` may stand among them. */
export function orderTokens(order: string): string[] {
  return order.split('-');
}

/** The tokens that no grid has, and those that stand twice. */
export function orderProblem(order: string): OrderProblem {
  const tokens = orderTokens(order);
  const known = new Set<string>([...ORDER_TOKENS, 'gtp_remat']);
  return {
    unknown: tokens.filter((token) => !known.has(token)),
    repeated: tokens.filter((token, i) => known.has(token) && tokens.indexOf(token) !== i),
  };
}

/**
 * The dense grid's dims in rank order, the fastest first: `gtp_remat` behind `tp`, dims of size 1 that the order leaves
 * out at the end (`RankGenerator` in megatron/core/parallel_state.py). Null where the order cannot be read.
 */
export function denseOrder(order: string): string[] | null {
  return completed(order, 'tp', ['tp', 'gtp_remat', 'cp', 'dp', 'pp']);
}

/** The expert grid's dims: `gtp_remat` behind `ep`, and every dim under its expert name. Null as for `denseOrder`. */
export function expertOrder(order: string): string[] | null {
  const names: Readonly<Record<string, string>> = { tp: 'expt_tp', gtp_remat: 'expt_gtp_remat', dp: 'expt_dp' };
  return completed(order, 'ep', ['tp', 'ep', 'gtp_remat', 'dp', 'pp'])?.map((token) => names[token] ?? token) ?? null;
}

function completed(order: string, before: string, wanted: readonly string[]): string[] | null {
  const { unknown, repeated } = orderProblem(order);
  if (unknown.length > 0 || repeated.length > 0) {
    return null;
  }
  const tokens = orderTokens(order);
  if (!tokens.includes('gtp_remat')) {
    const at = tokens.indexOf(before);
    tokens.splice(at < 0 ? tokens.length : at + 1, 0, 'gtp_remat');
  }
  const kept = tokens.filter((token) => wanted.includes(token));
  return [...kept, ...wanted.filter((token) => !kept.includes(token))];
}
