import { valueOr } from '../../topology/facts';
import { changes } from '../fixes';
import { countOf, eitherNumber, nearestMultiples } from '../numbers';
import { valueRelated, writtenRelated } from '../related';
import { FORMAT_SOURCE, inFramework, job, type Rule } from '../rule';

export const rolloutGpus: Rule = {
  code: 'rollout-gpus',
  severity: 'error',
  title: "The engines' own GPUs are no whole engines, or more than the cluster has",
  effect: 'the job waits for GPUs for ever, or an engine lacks some',
  what: "`rollout_gpus`, the GPUs that inference engines have beside the trainer's, are not a multiple of the GPUs of one engine (`gpus_per_engine`, or `tp * pp` of the phase `rollout`); or, in a cluster larger than the trainer's world, both together are more GPUs than it has.",
  why: 'Without colocation the scheduler reserves the GPUs of trainer and engines together. Where the cluster has fewer, the placement group never becomes ready, and nothing says so but a log line that is repeated.',
  failing: job(8, 'tp: 4', 'cluster: {nodes: 2, gpus_per_node: 8}', 'rl: {colocated: false, rollout_gpus: 16}'),
  sources: [inFramework('THUDM/slime', 'slime/ray/placement_group.py', '_get_placement_group_layout'), FORMAT_SOURCE],
  *check({ root, world, framework }) {
    const gpus = root.rl.value?.rollout_gpus;
    if (!gpus?.value || root.rl.value?.colocated.value === true) {
      return;
    }
    const rollout = root.phases.value?.find(({ name }) => name === 'rollout')?.value;
    const own = root.rl.value?.gpus_per_engine;
    const perEngine = own?.value ?? (rollout && (valueOr(rollout.tp, 1) ?? 1) * (valueOr(rollout.pp, 1) ?? 1));
    if (perEngine !== undefined && gpus.value % perEngine !== 0) {
      const better = nearestMultiples(perEngine, gpus.value);
      yield {
        message: `rollout_gpus ${gpus.value} is not a multiple of the ${countOf(perEngine, 'GPU')} of an engine. Use rollout_gpus ${eitherNumber(better)}.`,
        ...changes('rollout_gpus', gpus, ...better),
        related: [
          ...(own ? writtenRelated('gpus_per_engine', own) : []),
          ...(rollout && !own?.written ? writtenRelated('tp', rollout.tp) : []),
        ],
      };
    }
    const perNode = root.cluster.value?.gpus_per_node.value;
    if (framework?.name === 'nemo-rl' && perNode && world.size && world.size > perNode && gpus.value % perNode !== 0) {
      const better = nearestMultiples(perNode, gpus.value);
      yield {
        message: `rollout_gpus ${gpus.value} is no whole nodes of ${countOf(perNode, 'GPU')}: with several nodes NeMo-RL gives whole ones to generation. Use rollout_gpus ${eitherNumber(better)}.`,
        ...changes('rollout_gpus', gpus, ...better),
      };
    }
    const { size, clusterSize } = world;
    if (size !== undefined && clusterSize !== undefined && clusterSize > size && size + gpus.value > clusterSize) {
      yield {
        message: `The trainer takes ${countOf(size, 'GPU')} and the engines ${gpus.value}, ${size + gpus.value} together, but the cluster has ${clusterSize}. Use rollout_gpus ${clusterSize - size}, or colocate.`,
        ...changes('rollout_gpus', gpus, clusterSize - size),
        related: [valueRelated('nodes', root.cluster.value?.nodes ?? gpus)],
      };
    }
  },
};
