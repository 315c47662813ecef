import { check } from '../check';
import { applyEdits } from '../format/edit';
import type { MeasuredRun } from '../logs';
import { median } from '../median';
import { nvlinkDomainOf } from '../topology/nvlinkDomain';
import type { Estimate } from './estimate';
import { fewestInDomain } from './groupPlacement';
import { keyChanges, keyEdits } from './keyChanges';
import { fullestOf } from './memory';
import { startsOf } from './time';
import type { Tier } from './traffic';

/** How far a run lies from the estimate of its layout: measured over estimated, null where the log does not tell it. */
export interface Calibrated {
  readonly time: number | null;
  /** The peak of torch's allocator on the fullest rank that reported it. */
  readonly memory: number | null;
  readonly measuredSeconds: number | null;
  readonly measuredPeakBytes: number | null;
}

/** What the log of a run says of an estimate. The run must have had the batch and sequence of the layout. */
export function calibratedBy(run: MeasuredRun, estimate: Estimate): Calibrated {
  const measuredSeconds = run.step_time_s;
  const peaks = run.memory_bytes_peak.flatMap(({ allocated }) => (allocated === null ? [] : [allocated]));
  const measuredPeakBytes = peaks.length > 0 ? Math.max(...peaks) : null;
  const estimated = fullestOf(estimate.perStage);
  return {
    time: measuredSeconds !== null && estimate.stepTimeS ? measuredSeconds / estimate.stepTimeS.median : null,
    memory: measuredPeakBytes !== null && estimated ? measuredPeakBytes / estimated.peakBytes : null,
    measuredSeconds,
    measuredPeakBytes,
  };
}

/** What a group reached in one collective. */
export interface MeasuredGroup {
  readonly ranks: readonly number[];
  /** Bytes that the collective moved. */
  readonly bytes: number;
  /** Bus bandwidth in bytes a second. */
  readonly busBytesPerSecond: number;
}

/** A link of one GPU: bytes a second, and seconds that a collective of two ranks takes at the least, null where one payload was measured. */
export interface MeasuredLink {
  readonly bytesPerSecond: number;
  readonly latencySeconds: number | null;
}

/**
 * The links of a GPU, from what groups reached at every payload; null for those that no group says. A group that leaves its NVLink domain shares the network cards of the members that
 * it has in one.
 * @param domain GPUs in an NVLink domain
 */
export function measuredLinks(
  groups: readonly MeasuredGroup[],
  domain: number,
): Readonly<Record<Tier, MeasuredLink | null>> {
  const calls = groups
    .filter(({ ranks }) => ranks.length > 1)
    .map(({ ranks, bytes, busBytesPerSecond }) => {
      const size = ranks.length;
      const together = fewestInDomain(ranks, domain);
      const sent = (2 * bytes * (size - 1)) / size;
      const isNear = together === size;
      return {
        isNear,
        sent: isNear ? sent : sent / together,
        starts: startsOf(size),
        seconds: sent / busBytesPerSecond,
      };
    });
  return {
    nvlink: linkOf(calls.filter(({ isNear }) => isNear)),
    network: linkOf(calls.filter(({ isNear }) => !isNear)),
  };
}

/** One all-reduce: bytes that a rank sends over the link, latencies that it waits for, and what it took. */
interface Call {
  readonly sent: number;
  readonly starts: number;
  readonly seconds: number;
}

/**
 * The line `seconds = latency * starts + sent / bandwidth` through calls of several payloads, each by its relative error. Where they do
 * not make a line, the median of the largest payload is the bandwidth.
 */
function linkOf(calls: readonly Call[]): MeasuredLink | null {
  const largest = Math.max(0, ...calls.map(({ sent }) => sent));
  const plain = median(calls.filter(({ sent }) => sent === largest).map(({ sent, seconds }) => sent / seconds));
  if (plain === null) {
    return null;
  }
  const sum = (part: (call: Call) => number) =>
    calls.reduce((total, call) => total + part(call) / call.seconds ** 2, 0);
  const [aa, ab, bb] = [sum((c) => c.starts ** 2), sum((c) => c.starts * c.sent), sum((c) => c.sent ** 2)];
  const [at, bt] = [sum((c) => c.starts * c.seconds), sum((c) => c.sent * c.seconds)];
  const determinant = aa * bb - ab * ab;
  const latency = (at * bb - bt * ab) / determinant;
  const perByte = (aa * bt - ab * at) / determinant;
  const isLine = new Set(calls.map(({ sent }) => sent)).size > 1 && latency > 0 && perByte > 0;
  return isLine
    ? { bytesPerSecond: 1 / perByte, latencySeconds: latency }
    : { bytesPerSecond: plain, latencySeconds: null };
}

/** The file with the links that a smoke job measured in place of the table's; null where it cannot be written. */
export function withMeasuredLinks(text: string, groups: readonly MeasuredGroup[]): string | null {
  const { facts } = check(text);
  const perNode = facts?.root.cluster.value?.gpus_per_node.value;
  if (!facts || perNode === undefined) {
    return null;
  }
  const links = measuredLinks(groups, nvlinkDomainOf(facts.root, facts.world.size ?? perNode, perNode));
  const changes = (['nvlink', 'network'] as const).flatMap((name) => {
    const { bytesPerSecond, latencySeconds = null } = links[name] ?? {};
    return keyChanges('cluster', {
      ...(bytesPerSecond && { [`${name}_bandwidth`]: `${(bytesPerSecond / 1e9).toPrecision(4)}GB` }),
      ...(latencySeconds !== null && { [`${name}_latency`]: `${(1e6 * latencySeconds).toPrecision(3)}us` }),
    });
  });
  const edits = keyEdits(facts, changes);
  return edits && applyEdits(text, edits);
}
