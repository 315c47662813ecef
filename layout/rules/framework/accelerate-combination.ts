import { sizedDegrees, sizesOf } from '../../frameworks';
import { changeFix } from '../fixes';
import { writtenRelated } from '../related';
import { inFramework, job, type Rule } from '../rule';

/** What accelerate says of tensor or context parallelism beside replication alone. */
const PURE_REPLICATION =
  'Tensor/Context parallelism (tp/cp_size > 1) cannot be used with pure data parallelism (dp_replicate_size > 1 and dp_shard_size == 1). Please set dp_shard_size > 1 and dp_replicate_size == 1 to compose FSDP + TP/CP for 2D parallel, or set dp_replicate_size == 1 and dp_shard_size > 1 to compose HSDP + TP/CP for 3D parallel.';

export const accelerateCombination: Rule = {
  code: 'accelerate-combination',
  severity: 'error',
  title: 'accelerate does not combine these degrees',
  effect: 'accelerate stops on every rank',
  what: 'An accelerate job has `cp` and `ulysses` (the option `sp_size`) above 1; or `tp` or `cp` above 1 beside replicas that are not sharded (`data_parallel_replicate_degree` above 1, `data_parallel_shard_degree` 1).',
  why: 'Context parallelism is ring attention over an FSDP mesh, sequence parallelism is Ulysses of DeepSpeed; the two exclude each other. Tensor and context parallelism live in the mesh of FSDP, which plain replication does not make.',
  failing: job(4, 'cp: 2, ulysses: 2', 'launch: {family: accelerate}'),
  sources: [
    inFramework('huggingface/accelerate', 'src/accelerate/parallelism_config.py', 'ParallelismConfig.__post_init__'),
  ],
  *check({ framework, root, world }) {
    const degrees = framework?.world && sizedDegrees(framework.world, root, world.size);
    if (!degrees) {
      return;
    }
    const { tp = 1, cp = 1, sp = 1, dp_replicate = 1, dp_shard = 1 } = sizesOf(degrees);
    const fieldOf = (name: string) => degrees.find(({ degree }) => degree.name === name)?.field;
    const related = (name: string) => {
      const field = fieldOf(name);
      return field ? writtenRelated(name, field) : [];
    };
    const { parallelism } = root;
    if (cp > 1 && sp > 1) {
      const field = fieldOf('sp');
      yield {
        message: `cp ${cp} (ring attention) and ulysses ${sp} exclude each other. Use cp 1 or ulysses 1.`,
        span: field?.span ?? parallelism.span,
        related: related('cp'),
        predicts: `Context Parallelism (CP) and Sequence Parallelism (SP) are mutually exclusive. Got cp_size=${cp} and sp_size=${sp}. Please set either cp_size=1 or sp_size=1.`,
        fixes: [changeFix('ulysses', field, 1), changeFix('cp', fieldOf('cp'), 1)],
      };
    } else if ((tp > 1 || cp > 1) && dp_replicate > 1 && dp_shard === 1) {
      const name = tp > 1 ? 'tp' : 'cp';
      yield {
        message: `${name} ${tp > 1 ? tp : cp} needs parameters that are sharded, but dp_replicate is ${dp_replicate} and dp_shard 1. Use data_parallel_shard_degree ${dp_replicate} and data_parallel_replicate_degree 1.`,
        span: fieldOf('dp_replicate')?.span ?? parallelism.span,
        related: related(name),
        predicts: PURE_REPLICATION,
      };
    }
  },
};
