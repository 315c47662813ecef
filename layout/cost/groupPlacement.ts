import { Grid, type GridGroups } from '../grid/grid';
import { gridDims } from '../topology/generators';
import type { CostJob, Hardware } from './job';

/** How the members of the process groups of one kind lie on the machines. */
export interface GroupPlacement {
  /** Ranks in one group. */
  readonly ranks: number;
  /** The fewest members that a group has in an NVLink domain that it reaches; `ranks` where it stays in one domain. */
  readonly together: number;
}

/** The groups over which a job talks, in its own rank order. */
export interface GroupPlacements {
  readonly tp: GroupPlacement;
  readonly cp: GroupPlacement;
  /** Levels of hierarchical context parallelism: the inner one sends all to all, the outer one round a ring. */
  readonly cpInner: GroupPlacement;
  readonly cpOuter: GroupPlacement;
  /** Ranks that share the shards of one optimizer instance, and ranks that hold the same shard of several. */
  readonly dp: GroupPlacement;
  readonly dpInstances: GroupPlacement;
  readonly ep: GroupPlacement;
  readonly exptTp: GroupPlacement;
  readonly exptDp: GroupPlacement;
  readonly exptDpInstances: GroupPlacement;
  readonly embedding: GroupPlacement;
  /** Whether a stage's neighbour, the one after it in the ring of stages, lies in another NVLink domain. */
  readonly pipelineCrosses: readonly boolean[];
}

/** How many placements are remembered: a plan asks for the same ones many times. */
const MAX_REMEMBERED = 256;
const remembered = new Map<string, GroupPlacements>();

/** Where the groups of a job lie, by the grids that Megatron-LM makes of its order. */
export function groupPlacements(job: CostJob): GroupPlacements {
  const { degrees, hardware, optimizer, order, rankOffset, communication } = job;
  const facts = [Object.values(degrees), hardware.gpusPerNvlinkDomain, optimizer.instances, order, rankOffset];
  const key = [...facts, communication.contextLevels].join(' ');
  const known = remembered.get(key) ?? placementsOf(job);
  if (remembered.size >= MAX_REMEMBERED) {
    remembered.clear();
  }
  remembered.set(key, known);
  return known;
}

function placementsOf(job: CostJob): GroupPlacements {
  const { degrees, hardware, optimizer } = job;
  const { dense, expert } = gridsOf(job);
  const domain = hardware.gpusPerNvlinkDomain;
  const [inner = 1] = job.communication.contextLevels;
  const levels = split(dense, 'cp', inner);
  const shards = split(dense, 'dp', degrees.dp / optimizer.instances);
  const expertShards = split(expert, 'expt_dp', degrees.exptDp / optimizer.instances);
  const place = (grid: Grid, names: readonly string[]) => placementOf(grid.groups(names), domain);
  return {
    tp: place(dense, ['tp']),
    cp: place(dense, ['cp']),
    cpInner: place(levels, ['cp']),
    cpOuter: place(levels, ['outer']),
    dp: place(shards, ['dp', 'cp']),
    dpInstances: place(shards, ['outer']),
    ep: place(expert, ['ep']),
    exptTp: place(expert, ['expt_tp']),
    exptDp: place(expertShards, ['expt_dp']),
    exptDpInstances: place(expertShards, ['outer']),
    embedding: embeddingPlacement(dense, domain),
    pipelineCrosses: pipelineCrossings(dense, domain),
  };
}

/** The grids of dense and of expert parameters. The order of a job has been checked; the default stands for one that cannot be used. */
function gridsOf({ degrees, order, rankOffset }: CostJob): { readonly dense: Grid; readonly expert: Grid } {
  const { tp, cp, pp, dp, ep, exptTp, exptDp } = degrees;
  const sizes = { tp, cp, dp, pp, ep: 1, gtp_remat: 1 };
  const expertSizes = { tp: exptTp, cp: 1, dp: exptDp, pp, ep, gtp_remat: 1 };
  const dims = gridDims(order, sizes, expertSizes) ?? gridDims('tp-cp-ep-dp-pp', sizes, expertSizes);
  return { dense: new Grid(dims?.dense ?? [], rankOffset), expert: new Grid(dims?.expert ?? [], rankOffset) };
}

/** The grid with one dimension in two: `size` neighbours keep its name, their repetitions are `outer`. */
function split(grid: Grid, name: string, size: number): Grid {
  return new Grid(
    grid.axes.flatMap((axis) =>
      axis.name === name && Number.isInteger(axis.size / size)
        ? [
            { name, size },
            { name: 'outer', size: axis.size / size },
          ]
        : [axis],
    ),
    grid.offset,
  );
}

/** Groups and members that are looked at one by one where domains cut the grid unevenly. */
const MAX_GROUPS = 64;
const MAX_MEMBERS = 1024;

/** Where the groups of a kind lie. @param domain GPUs in an NVLink domain */
export function placementOf(groups: GridGroups, domain: number): GroupPlacement {
  const even = groups.grid.offset % domain === 0 ? evenlyTogether(groups, domain) : null;
  return { ranks: groups.size, together: even ?? fewestTogether(groups, domain) };
}

/** Members of a group in one domain where every domain holds as many; null where strides and domains do not divide. */
function evenlyTogether(groups: GridGroups, domain: number): number | null {
  let together = 1;
  for (const { size, stride } of groups.steps) {
    if (domain % (size * stride) === 0) {
      together *= size;
    } else if (domain % stride === 0 && (size * stride) % domain === 0) {
      together *= domain / stride;
    } else if (stride % domain !== 0) {
      return null;
    }
  }
  return together;
}

function fewestTogether(groups: GridGroups, domain: number): number {
  const looked = Array.from({ length: Math.min(groups.count, MAX_GROUPS) }, (_, group) =>
    fewestInDomain(
      Array.from({ length: Math.min(groups.size, MAX_MEMBERS) }, (_, place) => groups.rankAt(group, place)),
      domain,
    ),
  );
  return Math.min(groups.size, ...looked);
}

/** The fewest of some ranks that lie in one domain. */
export function fewestInDomain(ranks: readonly number[], domain: number): number {
  const members = new Map<number, number>();
  for (const rank of ranks) {
    const at = Math.floor(rank / domain);
    members.set(at, (members.get(at) ?? 0) + 1);
  }
  return Math.min(...members.values());
}

/** Whether each stage and the next one lie in two domains, on some rank. */
function pipelineCrossings(grid: Grid, domain: number): boolean[] {
  const groups = grid.groups(['pp']);
  return Array.from({ length: groups.size }, (_, stage) => crosses(groups, [stage, (stage + 1) % groups.size], domain));
}

/** The first and the last stage, which share a tied embedding. */
function embeddingPlacement(grid: Grid, domain: number): GroupPlacement {
  const groups = grid.groups(['pp']);
  const ranks = Math.min(2, groups.size);
  return { ranks, together: crosses(groups, [0, groups.size - 1], domain) ? 1 : ranks };
}

function crosses(groups: GridGroups, [from, to]: readonly [number, number], domain: number): boolean {
  const apart = Math.abs(groups.rankAt(0, from) - groups.rankAt(0, to));
  if (apart >= domain || apart === 0) {
    return apart > 0;
  }
  const domainOf = (group: number, place: number) => Math.floor(groups.rankAt(group, place) / domain);
  // as many groups as there are ranks in a domain meet every way in which its border can fall
  const looked = Math.min(groups.count, Math.max(MAX_GROUPS, 2 * domain));
  return Array.from({ length: looked }, (_, group) => domainOf(group, from) !== domainOf(group, to)).some(Boolean);
}

/** Bytes that one rank sends over each kind of link in one call. */
export interface Sent {
  readonly nvlinkBytes: number;
  readonly networkBytes: number;
}

/**
 * One turn of a ring after which every rank has all parts of `bytes`: each passes on all parts but one. Rings leave a domain once
 * a member that they have there, so the members share their network cards.
 */
export function ring(bytes: number, { ranks, together }: GroupPlacement): Sent {
  const sent = (bytes * (ranks - 1)) / ranks;
  return together >= ranks
    ? { nvlinkBytes: sent, networkBytes: 0 }
    : { nvlinkBytes: (sent * (together - 1)) / together, networkBytes: sent / together };
}

/** Every rank sends an equal part of its `bytes` to each member; what leaves the domain goes over its own network card. */
export function allToAll(bytes: number, { ranks, together }: GroupPlacement): Sent {
  return { nvlinkBytes: (bytes * (together - 1)) / ranks, networkBytes: (bytes * (ranks - together)) / ranks };
}

/**
 * Each token goes to the ranks of `choices` evenly spread experts, once to a rank: it crosses the network once for each domain, and is
 * handed on there (DeepEP and HybridEP, the backends of the flex dispatcher).
 * @param bytes of all tokens, each once
 */
export function onceADomain(bytes: number, choices: number, { ranks, together }: GroupPlacement): Sent {
  const reached = (places: number) => 1 - (1 - 1 / places) ** choices;
  const domains = ranks / together;
  return {
    // of the ranks of a domain that a token reaches, one has it already
    nvlinkBytes: (bytes * ranks * reached(ranks) * (together - 1)) / together,
    networkBytes: bytes * (domains - 1) * reached(domains),
  };
}

/** All bytes go to one neighbour; of a group that leaves its domain, some rank sends all of them over its own network card. */
export function pointToPoint(bytes: number, leaves: boolean): Sent {
  return leaves ? { nvlinkBytes: 0, networkBytes: bytes } : { nvlinkBytes: bytes, networkBytes: 0 };
}

/** Whether a group has members in several NVLink domains. */
export const leavesDomain = ({ ranks, together }: GroupPlacement): boolean => together < ranks;

/** Seconds that a number of bytes need at the bandwidths of the data sheet: no collective is faster. */
export function linkSeconds({ gpu, networkBytesPerSecond }: Hardware, { nvlinkBytes, networkBytes }: Sent): number {
  return Math.max(nvlinkBytes / gpu.nvlinkBytesPerSecond, networkBytes / networkBytesPerSecond);
}
