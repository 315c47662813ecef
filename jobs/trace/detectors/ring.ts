import type { Run } from '../rankRun';
import type { RunContext } from '../suspect';
import { operationText, ranksText, rounded } from '../texts';
import { type Wait, type WaitGraph, waitsFor } from '../waits';
import { CONFIDENCE } from './confidence';
import { byRankText } from './disagreement';
import type { Detector, Finding, Scene } from './scene';

/** Ranks wait for each other in a ring: some of them run the operations in another order. */
export const RING: Detector = {
  name: 'ring',
  detect: (scene) => (scene.graph.waits.size > 0 && scene.graph.stalled.size === 0 ? ringFinding(scene) : null),
};

function ringFinding({ run, graph, context }: Scene): Finding {
  const ring = ringOf(graph);
  const shown = ring.every((rank) => run.ranks.get(rank)?.whole === true);
  const order = shown ? ': they run the same operations in different order' : ', as far as the files tell';
  const why = [`${ranksText(ring, true)} wait for one another${order}.`];
  if (!shown) {
    const open = 'Without all their dumps it is not known which of them is wrong.';
    return { verdict: 'unknown', suspects: [], mismatch: null, why: [...why, open] };
  }
  const behind = ring.filter((rank) => isBehindPeers(rank, run, context));
  const named = behind.length > 0 && behind.length < ring.length ? behind : ring;
  const suspects = named.map((rank) => {
    const wait = graph.waits.get(rank);
    const text =
      wait && `It waits in ${operationText(wait.entry, context)} for ${ranksText(waitsFor(wait))}, in a ring.`;
    return {
      rank,
      confidence: rounded(named.length === 1 ? CONFIDENCE.open : CONFIDENCE.history / named.length),
      lost: false,
      because: text ? [text] : [],
    };
  });
  const entries = ring.flatMap((rank) => graph.waits.get(rank)?.entry ?? []);
  const [first] = entries;
  return {
    verdict: 'mismatch',
    suspects,
    mismatch: first
      ? {
          group: context.nameOf(first),
          seq: first.seq,
          what: 'order',
          by_rank: byRankText(entries, ring, context),
        }
      : null,
    why,
  };
}

/** A ring of the wait-for graph; every rank in it waits for the next. */
function ringOf(graph: WaitGraph): number[] {
  const path: number[] = [];
  let [rank] = graph.waits.keys();
  while (rank !== undefined && !path.includes(rank)) {
    path.push(rank);
    const wait: Wait | undefined = graph.waits.get(rank);
    rank = wait && waitsFor(wait).find((other) => graph.waits.has(other));
  }
  return rank === undefined ? path : path.slice(path.indexOf(rank));
}

/** Whether a rank has entered fewer operations than another one with the same program. */
function isBehindPeers(rank: number, run: Run, context: RunContext): boolean {
  const own = run.ranks.get(rank);
  const program = context.programOf(rank);
  return (
    own?.whole === true &&
    run.all.some(
      (other) => other.whole && context.programOf(other.rank) === program && other.lastRecord > own.lastRecord,
    )
  );
}
