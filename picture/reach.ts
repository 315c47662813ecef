import { countOf, crossings, type GridGroups, type GroupFamily, grouped, type ResolvedLayout } from '../layout';
import { familiesOf, nodesOf } from './rankDetails';

/** Members of groups that are not those of a grid are looked at one by one, up to this many. */
const MAX_MEMBERS = 4_194_304;

/** So many groups of a grid are looked at for the most nodes that one lies on: they repeat. */
const SAMPLES = 64;

/** How far the groups of one kind reach over machines: nodes, or NVLink domains. */
export interface Reach {
  /** How many groups have ranks on several of them. */
  readonly crossing: number;
  /** The most of them that one group has ranks on. */
  readonly nodes: number;
}

/** So many borders between nodes are looked at. */
const MAX_BORDERS = 65_536;

const known = new WeakMap<GroupFamily, Map<number, Reach | null>>();

/**
 * How far the groups of a family reach over machines of `gpus` neighbouring ranks; null where they have too many ranks to be
 * looked at.
 */
export function reachOf(family: GroupFamily, gpus: number): Reach | null {
  const reaches = known.get(family) ?? new Map<number, Reach | null>();
  known.set(family, reaches);
  let reach = reaches.get(gpus);
  if (reach === undefined) {
    reach = family.grid ? byStrides(family.grid, gpus) : byMembers(family, gpus);
    reaches.set(gpus, reach);
  }
  return reach;
}

/** Ranks whose GPUs reach each other over NVLink: a node, or a domain of several nodes. */
export const nvlinkRanks = ({ gpusPerNode, gpusPerNvlinkDomain }: ResolvedLayout): number =>
  Math.max(gpusPerNode, gpusPerNvlinkDomain);

/** By arithmetic, whatever the size of the world; null where groups lie too unlike on the nodes. */
function byStrides(groups: GridGroups, gpusPerNode: number): Reach | null {
  const { grid, steps, count } = groups;
  const names = grid.axes
    .filter((axis) => steps.some(({ stride, size }) => axis.stride >= stride && axis.stride < stride * size))
    .map(({ name }) => name);
  const { crossing, exact, first } = crossings(grid, names, gpusPerNode, MAX_BORDERS);
  if (!exact || groups.size > MAX_MEMBERS) {
    return null;
  }
  let nodes = 1;
  for (
    let i = first?.index ?? count;
    i < Math.min(count, (first?.index ?? 0) + SAMPLES) && i * groups.size < MAX_MEMBERS;
    i++
  ) {
    nodes = Math.max(nodes, nodesOf(groups.ranks(i), gpusPerNode));
  }
  return { crossing, nodes };
}

function byMembers(family: GroupFamily, gpusPerNode: number): Reach | null {
  if (family.count * family.size > MAX_MEMBERS) {
    return null;
  }
  let [crossing, most] = [0, 1];
  for (const ranks of family.all()) {
    const nodes = nodesOf(ranks, gpusPerNode);
    crossing += nodes > 1 ? 1 : 0;
    most = Math.max(most, nodes);
  }
  return { crossing, nodes: most };
}

/** Whether any group of one kind has ranks on several nodes, as far as that is known. */
export const leavesNode = (layout: ResolvedLayout, name: string): boolean =>
  familiesOf(layout).some((family) => family.name === name && (reachOf(family, layout.gpusPerNode)?.crossing ?? 1) > 0);

/**
 * What is said of the groups of one kind: how many there are, of what size, how far they reach, and what a rank sends in them.
 * @param sent the traffic of a rank and step in words; empty where it is not known
 */
export function groupsSentence(layout: ResolvedLayout, name: string, sent = ''): string {
  const families = familiesOf(layout).filter((family) => family.name === name && family.size > 1);
  const count = families.reduce((sum, family) => sum + family.count, 0);
  const sizes = [...new Set(families.map(({ size }) => size))].sort((a, b) => a - b);
  const reaches = families.map((family) => reachOf(family, layout.gpusPerNode));
  const size =
    sizes.length === 1
      ? countOf(sizes[0] ?? 0, 'rank')
      : `${grouped(sizes[0] ?? 0)} to ${countOf(sizes.at(-1) ?? 0, 'rank')}`;
  const domains = families.map((family) => reachOf(family, nvlinkRanks(layout)));
  const far = nvlinkRanks(layout) > layout.gpusPerNode ? domainSentence(domains, count) : '';
  return `${name}: ${countOf(count, 'group')} of ${size}${reachSentence(reaches, count, far)}${sent && `; ${sent}`}.`;
}

/** How many groups leave their NVLink domain, where that is larger than a node. */
function domainSentence(reaches: readonly (Reach | null)[], count: number): string {
  const all = reaches.flatMap((reach) => reach ?? []);
  if (all.length < reaches.length) {
    return '';
  }
  const crossing = all.reduce((sum, reach) => sum + reach.crossing, 0);
  if (crossing === 0) {
    return ' of one NVLink domain';
  }
  return crossing === count ? ' and leaves its NVLink domain' : `; ${grouped(crossing)} leave their NVLink domain`;
}

function reachSentence(reaches: readonly (Reach | null)[], count: number, domains: string): string {
  const all = reaches.flatMap((reach) => reach ?? []);
  if (all.length < reaches.length || count === 0) {
    return '';
  }
  const crossing = all.reduce((sum, reach) => sum + reach.crossing, 0);
  const nodes = Math.max(...all.map((reach) => reach.nodes));
  if (crossing === 0) {
    return count === 1 ? '; it stays inside one node' : '; every group stays inside one node';
  }
  const which = crossing < count ? `${grouped(crossing)} cross` : count === 1 ? 'it crosses' : 'every group crosses';
  const same = crossing === count && all.every((reach) => reach.nodes === nodes);
  const far = nodes === 2 || same ? countOf(nodes, 'node') : `up to ${countOf(nodes, 'node')}`;
  return `; ${which} ${far}${domains}`;
}
