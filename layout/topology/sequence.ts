/** A half-open range of token positions. */
export type TokenRange = readonly [start: number, end: number];

/** Which original token positions one rank holds, in the order in which it holds them. */
export interface SequenceShare {
  readonly cpRank: number;
  readonly tpRank: number;
  readonly embeddings: readonly TokenRange[];
  readonly labels: readonly TokenRange[];
}

/** How one sequence is spread over the ranks of a replica. */
export interface SequencePlan {
  /** Tokens in the sequence. */
  readonly length: number;
  readonly cp: number;
  readonly tp: number;
  readonly sequenceParallel: boolean;
}

/**
 * By what the length of a sequence must be divisible: `2 * cp` for context parallelism (each rank takes one chunk from the
 * front and one from the back), times `tp` under sequence parallelism (`PartitionAdapter.shard` in
 * megatron/core/models/mimo/partition/utils.py).
 * @param rankByRank GPT models cut each rank's share, of both its chunks, among `tp` (`_split_along_first_dim` in
 * megatron/core/tensor_parallel/mappings.py): together a multiple of `cp * lcm(2, tp)`
 */
export function sequenceDivisor(
  { cp, tp, sequenceParallel }: Omit<SequencePlan, 'length'>,
  rankByRank = false,
): number {
  if (!sequenceParallel) {
    return cp > 1 ? 2 * cp : 1;
  }
  const even = rankByRank && tp % 2 === 0 ? 1 : 2;
  return (cp > 1 ? even * cp : 1) * tp;
}

/**
 * The positions of a context-parallel rank: chunk r and chunk 2 * cp - 1 - r of 2 * cp, so that causal attention costs all
 * ranks the same (`get_batch_on_this_cp_rank` in megatron/core/utils.py).
 */
export function contextRanges({ length, cp }: SequencePlan, cpRank: number): TokenRange[] {
  if (cp === 1) {
    return joined([[0, length]]);
  }
  const chunk = length / (2 * cp);
  const back = 2 * cp - 1 - cpRank;
  return joined([
    [cpRank * chunk, (cpRank + 1) * chunk],
    [back * chunk, (back + 1) * chunk],
  ]);
}

/** What one rank holds: labels by its context-parallel rank, embeddings cut further by `tp` under sequence parallelism. */
export function sequenceShare(plan: SequencePlan, cpRank: number, tpRank: number): SequenceShare {
  const labels = contextRanges(plan, cpRank);
  const held = plan.length / plan.cp;
  const part = held / plan.tp;
  const embeddings = plan.sequenceParallel ? slice(labels, tpRank * part, (tpRank + 1) * part) : labels;
  return { cpRank, tpRank, embeddings, labels };
}

/** Every rank's share, context-parallel rank by rank. */
export function* sequenceShares(plan: SequencePlan): Iterable<SequenceShare> {
  for (let cpRank = 0; cpRank < plan.cp; cpRank++) {
    for (let tpRank = 0; tpRank < plan.tp; tpRank++) {
      yield sequenceShare(plan, cpRank, tpRank);
    }
  }
}

/** The tokens from `start` to `end` of what some ranges hold one after another. */
function slice(ranges: readonly TokenRange[], start: number, end: number): TokenRange[] {
  const parts: TokenRange[] = [];
  let before = 0;
  for (const [from, to] of ranges) {
    const low = Math.max(start - before, 0);
    const high = Math.min(end - before, to - from);
    if (low < high) {
      parts.push([from + low, from + high]);
    }
    before += to - from;
  }
  return parts;
}

/** Neighbouring ranges as one; empty ones left out. */
function joined(ranges: readonly TokenRange[]): TokenRange[] {
  const result: TokenRange[] = [];
  for (const [start, end] of ranges) {
    const last = result.at(-1);
    if (last && last[1] === start) {
      result[result.length - 1] = [last[0], end];
    } else if (end > start) {
      result.push([start, end]);
    }
  }
  return result;
}
