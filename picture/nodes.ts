/** On how many machines ranks lie. */
export function nodesOf(ranks: ArrayLike<number>, gpusPerNode: number): number {
  let count = 0;
  let last = -1;
  let isAscending = true;
  for (let i = 0; i < ranks.length; i++) {
    const node = Math.floor((ranks[i] ?? 0) / gpusPerNode);
    isAscending &&= node >= last;
    count += node === last ? 0 : 1;
    last = node;
  }
  return isAscending ? count : new Set(Array.from(ranks, (rank) => Math.floor(rank / gpusPerNode))).size;
}
