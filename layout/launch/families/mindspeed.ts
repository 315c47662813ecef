import { DEFAULTS } from '../defaults';
import { Facts } from '../facts';
import type { CommandFamily, LaunchContext } from '../family';
import { readFlags } from '../flags';
import type { Job } from '../launchers';
import type { Dialect } from '../megatron';
import { deriveFromWorld, setWorld } from '../world';
import { hasFlag, listUnmapped, readMegatronCommand } from './megatron-lm';

const DIALECT: Dialect = { defaults: DEFAULTS.megatron, switches: 'bare', expertTpIsTp: true };

const OWN_FLAGS = [
  '--context-parallel-algo',
  '--ulysses-degree-in-cp',
  '--num-layer-list',
  '--noop-layers',
  '--schedules-method',
  '--moe-tp-extend-ep',
  '--use-fused-rmsnorm',
  '--use-fused-swiglu',
  '--use-fused-rotary-pos-emb',
  '--use-rotary-position-embeddings',
  '--spec',
];

/** MindSpeed-LLM: Megatron-LM's flags on Ascend NPUs, and its FSDP2 trainer. */
export const mindspeed: CommandFamily = {
  name: 'mindspeed',
  matches(job, context) {
    const isOwnScript = /(^|\/)(posttrain_gpt|train_fsdp2|pretrain_gpt|pretrain_mamba|train_grpo|rlhf_gpt)\.py$/.test(
      job.script ?? '',
    );
    if (hasFlag(job, '--parallel.fsdp_size') || /train_fsdp2\.py$/.test(job.script ?? '')) {
      return 3;
    }
    if (!isOwnScript && !hasFlag(job, '--tensor-model-parallel-size')) {
      return 0;
    }
    return isOnNpu(context) || (hasFlag(job, ...OWN_FLAGS.slice(0, 7)) && isOwnScript) ? 3 : 0;
  },
  read(job) {
    const facts = new Facts();
    if (hasFlag(job, '--parallel.fsdp_size')) {
      readFsdp(job, facts);
    } else {
      readMegatronCommand(job, DIALECT, facts);
    }
    return facts;
  },
};

function isOnNpu({ text, file }: LaunchContext): boolean {
  return (
    /\bNPUS_PER_NODE\b|\bASCEND|\bHCCL_|ascend-toolkit|\bmindspeed\b|\bCPU_AFFINITY_CONF\b|torch_npu/i.test(text) ||
    /mindspeed/i.test(file)
  );
}

/** The FSDP2 trainer takes dotted flags: `--parallel.fsdp_size 8`. */
function readFsdp(job: Job, facts: Facts): void {
  const { options } = readFlags(job.args, job.place);
  const names: Readonly<Record<string, string>> = {
    'parallel.tensor_parallel_size': 'parallelism.tp',
    'parallel.expert_parallel_size': 'parallelism.ep',
    'parallel.context_parallel_size': 'parallelism.cp',
    'parallel.pipeline_parallel_size': 'parallelism.pp',
    'training.micro_batch_size': 'batch.micro_batch_size',
    'training.global_batch_size': 'batch.global_batch_size',
  };
  for (const [name, key] of Object.entries(names)) {
    facts.set(key, options.has(name) ? options.integer(name) : undefined);
  }
  listUnmapped(options, new Set(Object.keys(names)), facts);
  setWorld(facts, job.world);
  deriveFromWorld(facts);
}
