import type { LayoutFacts } from '../topology/facts';
import { costJobs } from './fromLayout';
import { type CostJob, microbatches, ranksOf } from './job';

/** A way to continue after GPUs have failed. */
export interface FailureAnswer {
  readonly answer: 'drop-replicas' | 'nonuniform-tp' | 'spare-nodes';
  /** The share of the job's compute that is left, 0 to 1; null where the layout does not allow this answer. */
  readonly computeKept: number | null;
  /** GPUs that do no work: failed, removed with them, or held in reserve. */
  readonly idleGpus: number;
  /** GPU-hours a day that do no training. */
  readonly gpuHoursADay: number;
}

/**
 * What is lost after GPUs have failed, each in a replica of its own, which is the worst case.
 *
 * A dropped replica takes its `tp x cp x pp` GPUs with it. Nonuniform TP removes as many TP slots as failed from each slice of the
 * replica (`compute_uniform_tp_spares_with_parity`, megatron/core/distributed/nonuniform_tp.py of dev), and the replica takes
 * the whole sequences that the rest of its ranks carry. A spare node stands ready for every node that lost a GPU.
 * @param failed GPUs, at least 1
 */
export function failureAnswers(job: CostJob, failed: number): readonly FailureAnswer[] {
  const { tp, cp, pp, dp } = job.degrees;
  const world = ranksOf(job);
  const replica = tp * cp * pp;
  const hit = Math.min(failed, dp);
  const answer = (name: FailureAnswer['answer'], kept: number | null, idle: number, lost: number): FailureAnswer => ({
    answer: name,
    computeKept: kept,
    idleGpus: idle,
    gpuHoursADay: Math.round(24 * lost),
  });
  const dropped = 1 - hit / dp;
  const narrow = narrowReplicas(job, failed);
  const spareGpus = Math.min(failed, Math.ceil(world / job.hardware.gpusPerNode)) * job.hardware.gpusPerNode;
  return [
    answer('drop-replicas', dropped, hit * replica, hit * replica),
    answer('nonuniform-tp', narrow?.kept ?? null, narrow?.idle ?? 0, narrow ? (1 - narrow.kept) * world : 0),
    answer('spare-nodes', 1, spareGpus, spareGpus),
  ];
}

/** The same for a layout file; null where it has modules, or cannot be estimated. */
export function failuresOf(facts: LayoutFacts, failed: number): readonly FailureAnswer[] | null {
  const [only, ...more] = costJobs(facts);
  return only?.ok && more.length === 0 ? failureAnswers(only.job, failed) : null;
}

/** Replicas that go on with fewer TP ranks; null where `pp` or `tp` rules it out, as the helper handles one stage alone. */
function narrowReplicas(job: CostJob, failed: number): { readonly kept: number; readonly idle: number } | null {
  const { tp, cp, pp, dp } = job.degrees;
  const hit = Math.min(failed, dp);
  const spares = Math.ceil(failed / dp);
  if (pp > 1 || spares >= tp) {
    return null;
  }
  const sequences = microbatches(job) * job.batch.micro;
  const share = Math.floor((sequences * (tp - spares)) / tp) / sequences;
  return { kept: 1 - (hit * (1 - share)) / dp, idle: hit * spares * cp };
}
