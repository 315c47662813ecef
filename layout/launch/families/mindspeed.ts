import { DEFAULTS } from '../defaults';
import type { CommandFamily, DocumentFamily, LaunchContext } from '../family';
import { readFlags } from '../flags';
import { Facts } from '../foundValues';
import type { Job } from '../launchers';
import type { Dialect } from '../megatron';
import { applyOverrides } from '../omegaconf';
import type { Options } from '../options';
import { at, type Tree } from '../tree';
import { setWorld } from '../world';
import { listUnmappedTree, readKeys } from './keys';
import { hasFlag, readMegatronCommand } from './megatron-lm';

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
    if (isFsdp(job)) {
      return 3;
    }
    if (!isOwnScript && !hasFlag(job, '--tensor-model-parallel-size')) {
      return 0;
    }
    return isOnNpu(context) || (hasFlag(job, ...OWN_FLAGS.slice(0, 7)) && isOwnScript) ? 3 : 0;
  },
  read(job, context) {
    const facts = new Facts();
    if (isFsdp(job)) {
      readFsdpCommand(job, context, facts);
    } else {
      readLayerList(readMegatronCommand(job, DIALECT, facts), facts);
    }
    return facts;
  },
};

/**
 * `--num-layer-list 15,15,15,16` decides the layers of each pipeline stage, for which layouts have no key. MindSpeed-LLM
 * ignores the list where layers are switched off (mindspeed_llm/features_manager/pipeline_parallel/num_layer_list.py, c77308a1).
 */
function readLayerList(options: Options, facts: Facts): void {
  if (options.has('num_layer_list') && !options.has('noop_layers')) {
    facts.set('parallelism.pipeline_model_parallel_layout', { unknown: '--num-layer-list, which decides the stages' });
  }
}

function isFsdp(job: Job): boolean {
  return hasFlag(job, '--parallel.fsdp_size') || /train_fsdp2\.py$/.test(job.script ?? '');
}

function isOnNpu({ text, file }: LaunchContext): boolean {
  return (
    /\bNPUS_PER_NODE\b|\bASCEND|\bHCCL_|ascend-toolkit|\bmindspeed\b|\bCPU_AFFINITY_CONF\b|torch_npu/i.test(text) ||
    /mindspeed/i.test(file)
  );
}

/** The settings of the FSDP2 trainer (mindspeed_llm/fsdp2/utils/arguments.py). */
const FSDP_KEYS = [
  ['parallel.tp_size', 'parallelism.tp', 'integer'],
  ['parallel.cp_size', 'parallelism.cp', 'integer'],
  ['parallel.ep_size', 'parallelism.ep', 'integer'],
  ['parallel.fsdp_size', 'fsdp.data_parallel_shard_degree', 'integer'],
  ['training.per_device_train_batch_size', 'batch.micro_batch_size', 'integer'],
  ['data.cutoff_len', 'sequence.seq_length', 'integer'],
] as const;

/** The FSDP2 trainer takes a YAML file and dotted flags over it: `--parallel.fsdp_size 8`. */
function readFsdpCommand(job: Job, context: LaunchContext, facts: Facts): void {
  const { options, positional } = readFlags(job.args, job.place);
  const path = positional.find(({ text }) => /\.(ya?ml|json)$/.test(text ?? ''))?.text;
  const found = path ? context.findTree(path) : null;
  const base = found?.tree ?? {
    kind: 'map',
    entries: new Map(),
    place: job.place,
  };
  const dotted = new Map([...options.entries].filter(([name]) => name.includes('.')));
  readFsdp(applyOverrides(base, dotted), path && !found ? `file ${path}, which was not found` : options.blocked, facts);
  setWorld(facts, job.world);
}

/** The YAML file of the FSDP2 trainer. */
export const mindspeedDocument: DocumentFamily = {
  name: 'mindspeed',
  matches: ({ tree }) => at(tree, 'parallel.fsdp_size') !== undefined,
  read({ tree }) {
    const facts = new Facts();
    readFsdp(tree, null, facts);
    setWorld(facts, { total: { unknown: 'the world of the launcher' } });
    return facts;
  },
};

function readFsdp(tree: Tree, blocked: string | null, facts: Facts): void {
  readKeys(tree, FSDP_KEYS, facts);
  if (blocked === null) {
    facts.takeDefaults(DEFAULTS.mindspeedFsdp);
  }
  listUnmappedTree(tree, '', new Set(FSDP_KEYS.map(([path]) => path)), facts);
}
