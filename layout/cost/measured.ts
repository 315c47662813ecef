import { check } from '../check';
import { applyEdits } from '../format/edit';
import type { MeasuredRun } from '../logs';
import { nvlinkDomainOf } from '../topology/nvlinkDomain';
import type { Estimate } from './estimate';
import { type KeyChange, keyEdits } from './keyChanges';
import { fullestOf } from './memory';

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

/** Bandwidths of the links of one GPU in bytes a second; null where no group says them. */
export interface MeasuredLinks {
  readonly nvlink: number | null;
  readonly network: number | null;
}

/**
 * The bandwidths of the links, from what groups reached: at their largest payload, the median group. A group that leaves its NVLink
 * domain shares the network cards of the members that it has in one.
 * @param domain GPUs in an NVLink domain
 */
export function measuredLinks(groups: readonly MeasuredGroup[], domain: number): MeasuredLinks {
  const near: number[] = [];
  const far: number[] = [];
  const largest = groups.reduce((most, { bytes }) => Math.max(most, bytes), 0);
  for (const { ranks, bytes, busBytesPerSecond } of groups) {
    const together = Math.min(...countsByDomain(ranks, domain));
    if (bytes === largest && ranks.length > 1) {
      (together === ranks.length ? near : far).push(
        together === ranks.length ? busBytesPerSecond : busBytesPerSecond / together,
      );
    }
  }
  return { nvlink: median(near), network: median(far) };
}

function countsByDomain(ranks: readonly number[], domain: number): number[] {
  const counts = new Map<number, number>();
  for (const rank of ranks) {
    const at = Math.floor(rank / domain);
    counts.set(at, (counts.get(at) ?? 0) + 1);
  }
  return [...counts.values()];
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

/** The file with the bandwidths that a smoke job measured in place of the vendor's; null where it cannot be written. */
export function withMeasuredLinks(text: string, groups: readonly MeasuredGroup[]): string | null {
  const { facts } = check(text);
  const perNode = facts?.root.cluster.value?.gpus_per_node.value;
  if (!facts || perNode === undefined) {
    return null;
  }
  const { nvlink, network } = measuredLinks(groups, nvlinkDomainOf(facts.root, facts.world.size ?? perNode, perNode));
  const change = (key: string, value: number | null): KeyChange[] =>
    value === null ? [] : [{ section: 'cluster', key, value: `${(value / 1e9).toPrecision(4)}GB` }];
  const edits = keyEdits(facts, [...change('nvlink_bandwidth', nvlink), ...change('network_bandwidth', network)]);
  return edits && applyEdits(text, edits);
}
