import { groupedBy } from '../../collections';
import { brokenHabit, type Divergence, divergenceAmong } from '../programs';
import type { Run } from '../rankRun';
import type { RunContext } from '../suspect';
import { type WaitGraph, waitGraph } from '../waits';
import { DISAGREEMENT } from './disagreement';
import { ENDED, STOPPED } from './ended';
import { LATE } from './late';
import { HEALTHY, NOTHING_SEEN, STALLED } from './quiet';
import { RING } from './ring';
import type { Detector, Finding, Scene } from './scene';

/** The explanations of what a run does, in the order in which they are tried: the first that applies is the verdict. */
const DETECTORS: readonly Detector[] = [DISAGREEMENT, LATE, ENDED, STOPPED, RING, STALLED, HEALTHY, NOTHING_SEEN];

/** What is found, with the waits that it rests on. */
export interface Assessment extends Finding {
  readonly graph: WaitGraph;
}

/** Finds the ranks that block a run. */
export function assess(run: Run, context: RunContext): Assessment {
  const graph = waitGraph(run);
  const moves = graph.waits.size === 0 && graph.stalled.size === 0;
  const scene: Scene = { run, graph, context, divergences: moves ? [] : divergencesOf(run, graph, context) };
  for (const detector of DETECTORS) {
    const found = detector.detect(scene);
    if (found) {
      return { ...found, graph, why: [...found.why, ...context.open] };
    }
  }
  return { verdict: 'unknown', suspects: [], mismatch: null, graph, why: [] };
}

/** Where ranks with one program do not do the same. */
function divergencesOf(run: Run, graph: WaitGraph, context: RunContext): Divergence[] {
  const dumped = run.all.filter(({ whole }) => whole);
  return [...groupedBy(dumped, ({ rank }) => context.programOf(rank)).values()].flatMap((peers) => {
    const [only] = peers;
    if (peers.length > 1) {
      return divergenceAmong(peers, context.nameOf);
    }
    const broken = only && graph.waits.has(only.rank) ? brokenHabit(only, context.nameOf) : null;
    return broken ? [broken] : [];
  });
}
