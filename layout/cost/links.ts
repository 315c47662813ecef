import type { CostJob, Hardware } from './job';

/** Over which link a process group talks: inside one NVLink domain, or through the network as well. */
export type Tier = 'nvlink' | 'network';

/** What a process group is made of on the machines. */
export interface Link {
  readonly tier: Tier;
  readonly ranks: number;
  /** Bytes a second that each rank of the group sends while all groups of its kind talk. */
  readonly bytesPerSecond: number;
}

/**
 * The link of the groups whose neighbouring members lie `stride` ranks apart.
 * A ring that leaves a domain does so once for every member that it has there, so groups with several members in a domain share
 * more network cards.
 */
export function linkOf(
  { gpu, gpusPerNvlinkDomain, networkBytesPerSecond }: Hardware,
  ranks: number,
  stride: number,
): Link {
  const span = (ranks - 1) * stride + 1;
  if (span <= gpusPerNvlinkDomain) {
    return { tier: 'nvlink', ranks, bytesPerSecond: gpu.nvlinkBytesPerSecond };
  }
  const together = Math.max(1, Math.min(ranks, Math.floor(gpusPerNvlinkDomain / stride)));
  return {
    tier: 'network',
    ranks,
    bytesPerSecond: Math.min(gpu.nvlinkBytesPerSecond, networkBytesPerSecond * together),
  };
}

/** The links of a job's groups in Megatron's default rank order, tp-cp-ep-dp-pp. */
export function linksOf({
  degrees,
  hardware,
}: CostJob): Readonly<Record<'tp' | 'cp' | 'dp' | 'pp' | 'ep' | 'exptTp' | 'exptDp', Link>> {
  const { tp, cp, dp, pp, ep, exptTp, exptDp } = degrees;
  const link = (ranks: number, stride: number) => linkOf(hardware, ranks, stride);
  return {
    tp: link(tp, 1),
    cp: link(cp, tp),
    dp: link(dp * cp, tp),
    pp: link(pp, tp * cp * dp),
    exptTp: link(exptTp, 1),
    ep: link(ep, exptTp),
    exptDp: link(exptDp, exptTp * ep),
  };
}
