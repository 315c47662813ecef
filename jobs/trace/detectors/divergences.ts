import { groupedBy } from '../../collections';
import { brokenHabit, type Divergence, divergenceAmong } from '../programs';
import type { Run } from '../rankRun';
import type { RunContext } from '../suspect';
import type { WaitGraph } from '../waits';

/** Where ranks with one program do not do the same. */
export function divergencesOf(run: Run, graph: WaitGraph, context: RunContext): Divergence[] {
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
