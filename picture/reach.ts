import { countOf, type GroupFamily, grouped, type ResolvedLayout } from '../layout';
import { familiesOf } from './facts';
import { nodesOf } from './nodes';

/** Members are looked at one by one up to this many; beyond, nothing is said. */
const MAX_MEMBERS = 4_194_304;

/** How far the groups of one kind reach over machines. */
export interface Reach {
  /** How many groups have ranks on several nodes. */
  readonly crossing: number;
  /** The most nodes that one group has ranks on. */
  readonly nodes: number;
}

const known = new WeakMap<GroupFamily, Reach | null>();

/** How far the groups of a family reach; null where they have too many ranks to be looked at. */
export function reachOf(family: GroupFamily, gpusPerNode: number): Reach | null {
  let reach = known.get(family);
  if (reach === undefined) {
    reach = family.count * family.size > MAX_MEMBERS ? null : measured(family, gpusPerNode);
    known.set(family, reach);
  }
  return reach;
}

function measured(family: GroupFamily, gpusPerNode: number): Reach {
  let [crossing, most] = [0, 1];
  for (const ranks of family.all()) {
    const nodes = nodesOf(ranks, gpusPerNode);
    crossing += nodes > 1 ? 1 : 0;
    most = Math.max(most, nodes);
  }
  return { crossing, nodes: most };
}

/** What is said of the groups of one kind: how many there are, of what size, and how far they reach. */
export function groupsSentence(layout: ResolvedLayout, name: string): string {
  const families = familiesOf(layout).filter((family) => family.name === name && family.size > 1);
  const count = families.reduce((sum, family) => sum + family.count, 0);
  const sizes = [...new Set(families.map(({ size }) => size))].sort((a, b) => a - b);
  const reaches = families.map((family) => reachOf(family, layout.gpusPerNode));
  const size =
    sizes.length === 1
      ? countOf(sizes[0] ?? 0, 'rank')
      : `${grouped(sizes[0] ?? 0)} to ${countOf(sizes.at(-1) ?? 0, 'rank')}`;
  return `${name}: ${countOf(count, 'group')} of ${size}${reachSentence(reaches, count)}`;
}

function reachSentence(reaches: readonly (Reach | null)[], count: number): string {
  const all = reaches.flatMap((reach) => reach ?? []);
  if (all.length < reaches.length || count === 0) {
    return '.';
  }
  const crossing = all.reduce((sum, reach) => sum + reach.crossing, 0);
  const nodes = Math.max(...all.map((reach) => reach.nodes));
  if (crossing === 0) {
    return count === 1 ? '; it stays inside one node.' : '; every group stays inside one node.';
  }
  const which = crossing < count ? `${grouped(crossing)} cross` : count === 1 ? 'it crosses' : 'every group crosses';
  const far = nodes === 2 || crossing === count ? countOf(nodes, 'node') : `up to ${countOf(nodes, 'node')}`;
  return `; ${which} ${far}.`;
}
