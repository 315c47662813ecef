/** How many elements each rank of a healthy replica sends to and receives from each other one. */
export interface ReshardSplits {
  readonly send: readonly (readonly number[])[];
  readonly recv: readonly (readonly number[])[];
}

/**
 * Whether `ntp_map` can fold the units of the spare slots onto the others. It cuts the units into equal chunks, one a slot
 * that stays, the last one with what is left; then it takes the units of the spares from the chunks in turn, and stops
 * with an IndexError at a chunk that is missing or empty (megatron/core/distributed/nonuniform_tp.py).
 * @param units that the dimension is cut into, such as heads
 */
export function canFold(tpBase: number, tpSpares: number, units: number): boolean {
  const reduced = tpBase - tpSpares;
  if (reduced < 1 || units < 1) {
    return false;
  }
  const last = units - Math.ceil(units / reduced) * (reduced - 1);
  const taken = Math.floor((Math.floor(units / tpBase) * tpSpares) / reduced);
  return last >= Math.max(1, taken);
}

/**
 * The splits by which a healthy replica folds the shards of its spare slots onto the slots that reduced replicas have: the
 * shards of the spares go round robin (`ntp_map`).
 * @param numShards units that the dimension is cut into, such as heads
 * @param partitionSize elements of the partition dimension on one rank
 * @returns null where Megatron-LM fails: too few shards for the reduced ranks
 */
export function reshardSplits(
  tpBase: number,
  tpSpares: number,
  numShards: number,
  partitionSize: number,
): ReshardSplits | null {
  if (!canFold(tpBase, tpSpares, numShards)) {
    return null;
  }
  const reduced = tpBase - tpSpares;
  const perRank = Math.floor(numShards / tpBase);
  const perShard = Math.floor((partitionSize * tpBase) / numShards);
  // how many of the first `shards` shards of the spares go to a slot
  const dealt = (shards: number, to: number) => Math.ceil(Math.max(0, shards - to) / reduced);
  const slots = Array.from({ length: tpBase }, (_, slot) => slot);
  const sent = (from: number, to: number) => {
    const spare = from - reduced;
    const units = dealt((spare + 1) * perRank, to) - dealt(spare * perRank, to);
    return spare >= 0 && to < reduced ? units * perShard : 0;
  };
  return {
    send: slots.map((from) => slots.map((to) => sent(from, to))),
    recv: slots.map((to) => slots.map((from) => sent(from, to))),
  };
}
