import { hasFlag, type Job } from '../launch/commands';
import type { LaunchContext, LaunchFamily } from '../launch/family';
import { readFlags } from '../launch/flags';
import { defaultsIn, listUnmappedTree, type OptionRow, pathsIn, readRows } from '../launch/optionRows';
import type { Options } from '../launch/options';
import { applyOverrides } from '../launch/sources/omegaconf';
import { at, emptyMap, type Tree } from '../launch/sources/tree';
import { type Defaults, Facts, isKnown, type Reason } from '../launch/value';
import { LAUNCHERS_WORLD, setWorld } from '../launch/world';
import { MEGATRON_DIALECT, readMegatronCommand } from './megatron-lm';

/** MindSpeed-LLM's own flags. */
const OWN_FLAGS = [
  '--context-parallel-algo',
  '--ulysses-degree-in-cp',
  '--num-layer-list',
  '--noop-layers',
  '--schedules-method',
  '--moe-tp-extend-ep',
  '--use-fused-rmsnorm',
];

/** The settings of the FSDP2 trainer (mindspeed_llm/fsdp2/utils/arguments.py). */
const FSDP_OPTIONS: readonly OptionRow[] = [
  ['parallelism.tp', 'parallel.tp_size', 'integer', 1],
  ['parallelism.cp', 'parallel.cp_size', 'integer', 1],
  ['parallelism.ep', 'parallel.ep_size', 'integer', 1],
  ['fsdp.data_parallel_shard_degree', 'parallel.fsdp_size', 'integer', 1],
  ['batch.micro_batch_size', 'training.per_device_train_batch_size', 'integer'],
  ['sequence.seq_length', 'data.cutoff_len', 'integer'],
];

const FSDP_DEFAULTS: Defaults = {
  framework: 'MindSpeed-LLM, FSDP2',
  version: 'master c77308a1',
  source: 'mindspeed_llm/fsdp2/utils/arguments.py',
  values: defaultsIn(FSDP_OPTIONS),
};

/** MindSpeed-LLM: Megatron-LM's flags on Ascend NPUs, and its FSDP2 trainer. */
export const mindspeed: LaunchFamily<'mindspeed'> = {
  name: 'mindspeed',
  command: {
    evidence(job, context) {
      if (isFsdp(job)) {
        return 'own';
      }
      const isOwnScript = /(^|\/)(posttrain_gpt|train_fsdp2|pretrain_gpt|pretrain_mamba|train_grpo|rlhf_gpt)\.py$/.test(
        job.script ?? '',
      );
      const isMegatron = isOwnScript || hasFlag(job, '--tensor-model-parallel-size');
      return isMegatron && (isOnNpu(context) || (isOwnScript && hasFlag(job, ...OWN_FLAGS))) ? 'own' : null;
    },
    read(job, context) {
      const facts = new Facts();
      if (isFsdp(job)) {
        readFsdpCommand(job, context, facts);
      } else {
        const options = readMegatronCommand(job, MEGATRON_DIALECT, facts, ['context_parallel_algo']);
        readLayerList(options, facts);
        readContextAlgorithm(options, facts);
      }
      return facts;
    },
  },
  /** The YAML file of the FSDP2 trainer. */
  document: {
    evidence: ({ tree }) => (at(tree, 'parallel.fsdp_size') ? 'own' : null),
    read({ tree }) {
      const facts = new Facts();
      readFsdp(tree, null, facts);
      setWorld(facts, { total: LAUNCHERS_WORLD });
      return facts;
    },
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

/** The ways of context parallelism that Megatron-LM has too; the others have no key. */
const ALGORITHMS: Readonly<Record<string, string>> = { ulysses_cp_algo: 'a2a', megatron_cp_algo: 'p2p' };

function readContextAlgorithm(options: Options, facts: Facts): void {
  const found = options.given.string('context_parallel_algo');
  const way = isKnown(found) ? ALGORITHMS[found.value] : undefined;
  if (isKnown(found) && way !== undefined) {
    facts.set('sequence.cp_comm_type', { value: way, source: found.source });
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

/** The FSDP2 trainer takes a YAML file and dotted flags over it: `--parallel.fsdp_size 8`. */
function readFsdpCommand(job: Job, context: LaunchContext, facts: Facts): void {
  const { options, positional } = readFlags(job.args, job.place);
  const path = positional.find(({ text }) => /\.(ya?ml|json)$/.test(text ?? ''))?.text;
  const found = path ? context.findTree(path) : null;
  const base = found?.tree ?? emptyMap(job.place);
  const dotted = new Map([...options.entries].filter(([name]) => name.includes('.')));
  readFsdp(applyOverrides(base, dotted), path && !found ? { missing: `file ${path}` } : options.blocked, facts);
  setWorld(facts, job.world);
}

function readFsdp(tree: Tree, blocked: Reason | null, facts: Facts): void {
  readRows(tree, FSDP_OPTIONS, facts);
  if (blocked === null) {
    facts.takeDefaults(FSDP_DEFAULTS);
  }
  listUnmappedTree(tree, '', pathsIn(FSDP_OPTIONS), facts);
}
