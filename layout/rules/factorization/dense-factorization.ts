import { setKey } from '../../format/edit';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import { suggestion } from '../fixes';
import { job, megatron, PARALLEL_STATE, type Report, type Rule, VALIDATE_ARGS } from '../rule';
import { denseReplica, isUndivided, type Replica, undividedReport } from './replica';

export const denseFactorization: Rule = {
  code: 'dense-factorization',
  severity: 'error',
  title: 'The ranks do not divide into whole replicas',
  what: 'The number of ranks (`world_size` under `parallelism`, `num_ranks` of a module) is not a multiple of `tp * gtp_remat * cp * pp`, the ranks that one replica of the model takes.',
  why: 'Megatron-LM builds whole replicas only. The error comes when the process groups are made, after the job has waited in the queue.',
  failing: job(16, 'tp: 8, pp: 3'),
  sources: [
    PARALLEL_STATE,
    VALIDATE_ARGS,
    megatron('examples/mimo/training/topology.py', 'ModuleGridSpec.__post_init__'),
  ],
  *check(facts) {
    for (const module of facts.modules) {
      const replica = denseReplica(module);
      if (replica && isUndivided(module, replica)) {
        yield packedReport(facts, replica) ?? {
          ...undividedReport(facts, module, replica, prediction(facts, module)),
          ...ofFramework(facts, module),
        };
      }
    }
  },
};

/** The words of a framework that looks at the sizes before Megatron-LM does. */
function ofFramework({ framework, root }: LayoutFacts, { degrees, ranks }: ModuleFacts): Partial<Report> {
  const words = degrees && ranks !== undefined ? framework?.dividesWords?.(root, { ...degrees }, ranks) : null;
  return framework && words ? { predicts: words, speaker: framework.title } : {};
}

function prediction({ trainingScript }: LayoutFacts, { name, ranks, denseModel }: ModuleFacts): string {
  if (trainingScript) {
    return `world size (${ranks}) is not divisible by total_model_size (total_model_size=${denseModel})`;
  }
  return name === null
    ? `world_size (${ranks}) is not divisible by ${denseModel}`
    : `num_ranks (${ranks}) must be divisible by tp*gtp_remat*cp*pp (${denseModel})`;
}

/** A world that counts every slot of the grid, where packed nonuniform TP launches the healthy ones only. */
function packedReport(facts: LayoutFacts, replica: Replica): Report | null {
  const { size, idle, span } = facts.world;
  if (size === undefined || idle === 0 || size % replica.ranks !== 0) {
    return null;
  }
  const launched = size - idle;
  const edit = setKey(facts.text, facts.span, 'world_size', facts.root.world_size, launched);
  return {
    message: `world_size ${size} counts every slot, but packed placement launches the ${launched} that stay. Use world_size ${launched}.`,
    span,
    fixes: [suggestion(`Change world_size to ${launched}`, [edit])],
  };
}
