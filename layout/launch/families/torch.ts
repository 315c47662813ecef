import { DEFAULTS } from '../defaults';
import type { DocumentFamily } from '../family';
import { derived, Facts, isKnown, mapFound, product } from '../foundValues';
import { at, optionsOf } from '../tree';
import { deriveFromWorld, LAUNCHERS_WORLD, setWorld } from '../world';
import { type KeyMap, listUnmappedTree, namesIn, readKeys } from './keys';
import { deriveShards, readTitanTree, TITAN_MAPPED } from './torchtitan';

/** torchtitan's TOML files (until its commit 9810191bb). */
export const torchtitanDocument: DocumentFamily = {
  name: 'torchtitan',
  matches: ({ tree, file }) =>
    /\.toml$/.test(file) &&
    (at(tree, 'parallelism') !== undefined || (at(tree, 'training') !== undefined && at(tree, 'model') !== undefined)),
  read({ tree, job }) {
    const facts = new Facts();
    readTitanTree(tree, null, facts);
    setWorld(facts, job?.world ?? { total: { unknown: 'the world: NGPU of the launcher' } });
    deriveShards(facts);
    listUnmappedTree(tree, '', TITAN_MAPPED, facts);
    return facts;
  },
};

const REPLICATE = 'fsdp.data_parallel_replicate_degree';
const SHARD = 'fsdp.data_parallel_shard_degree';

const ACCELERATE: KeyMap = [
  ['parallelism_config.parallelism_config_tp_size', 'parallelism.tp', 'integer'],
  ['parallelism_config.parallelism_config_cp_size', 'parallelism.cp', 'integer'],
  ['parallelism_config.parallelism_config_sp_size', 'parallelism.ulysses', 'integer'],
  ['parallelism_config.parallelism_config_dp_replicate_size', REPLICATE, 'integer'],
  ['parallelism_config.parallelism_config_dp_shard_size', SHARD, 'integer'],
  ['megatron_lm_config.megatron_lm_tp_degree', 'parallelism.tp', 'integer'],
  ['megatron_lm_config.megatron_lm_pp_degree', 'parallelism.pp', 'integer'],
  ['megatron_lm_config.megatron_lm_sequence_parallelism', 'sequence.sequence_parallel', 'boolean'],
  ['megatron_lm_config.megatron_lm_use_distributed_optimizer', 'optimizer.use_distributed_optimizer', 'boolean'],
];

/** Hugging Face accelerate's configuration: `num_processes` is the world, `parallelism_config` the degrees. */
export const accelerateDocument: DocumentFamily = {
  name: 'accelerate',
  matches: ({ tree }) => at(tree, 'distributed_type') !== undefined || at(tree, 'parallelism_config') !== undefined,
  read({ tree }) {
    const facts = new Facts();
    readKeys(tree, ACCELERATE, facts);
    if (at(tree, 'parallelism_config')) {
      facts.takeDefaults(DEFAULTS.accelerate);
      dpOfProduct(facts);
    }
    facts.engine = at(tree, 'megatron_lm_config') ? 'megatron' : null;
    const options = optionsOf(tree);
    setWorld(facts, {
      nodes: options.integer('num_machines'),
      total: options.integer('num_processes') ?? { unknown: 'num_processes' },
    });
    listUnmappedTree(tree, '', namesIn(ACCELERATE, 'num_machines', 'num_processes'), facts);
    return facts;
  },
};

function dpOfProduct(facts: Facts): void {
  const dp = derived([facts.get(REPLICATE), facts.get(SHARD)], (a, b) => a * b, 'dp');
  if (isKnown(dp)) {
    facts.setDefault('parallelism.dp', dp.value);
  }
}

const AXOLOTL: KeyMap = [
  ['tensor_parallel_size', 'parallelism.tp', 'integer'],
  ['sequence_parallel_degree', 'parallelism.cp', 'integer'],
  ['context_parallel_size', 'parallelism.cp', 'integer'],
  ['expert_parallel_size', 'parallelism.ep', 'integer'],
  ['dp_shard_size', SHARD, 'integer'],
  ['dp_replicate_size', REPLICATE, 'integer'],
  ['micro_batch_size', 'batch.micro_batch_size', 'integer'],
  ['sequence_len', 'sequence.seq_length', 'integer'],
  ['base_model', 'model.from', 'text'],
];

/** axolotl's configuration; the world is the launcher's. */
export const axolotlDocument: DocumentFamily = {
  name: 'axolotl',
  matches: ({ tree }) =>
    at(tree, 'base_model') !== undefined &&
    ['datasets', 'micro_batch_size', 'rl', 'adapter'].some((name) => at(tree, name) !== undefined),
  read({ tree, job }) {
    const facts = new Facts();
    readKeys(tree, AXOLOTL, facts);
    facts.takeDefaults(DEFAULTS.axolotl);
    setWorld(facts, job?.world ?? { total: LAUNCHERS_WORLD });
    listUnmappedTree(tree, '', namesIn(AXOLOTL), facts);
    return facts;
  },
};

const NANOTRON: KeyMap = [
  ['parallelism.tp', 'parallelism.tp', 'integer'],
  ['parallelism.pp', 'parallelism.pp', 'integer'],
  ['parallelism.dp', 'parallelism.dp', 'integer'],
  ['parallelism.context_parallel_size', 'parallelism.cp', 'integer'],
  ['parallelism.expert_parallel_size', 'parallelism.ep', 'integer'],
  ['tokens.sequence_length', 'sequence.seq_length', 'integer'],
  ['tokens.micro_batch_size', 'batch.micro_batch_size', 'integer'],
  ['model.dtype', 'model.params_dtype', 'type'],
  ['model.make_vocab_size_divisible_by', 'model.make_vocab_size_divisible_by', 'integer'],
  ['model.model_config.hidden_size', 'model.hidden_size', 'integer'],
  ['model.model_config.num_hidden_layers', 'model.num_layers', 'integer'],
  ['model.model_config.num_attention_heads', 'model.num_attention_heads', 'integer'],
  ['model.model_config.num_key_value_heads', 'model.num_query_groups', 'integer'],
  ['model.model_config.intermediate_size', 'model.ffn_hidden_size', 'integer'],
  ['model.model_config.vocab_size', 'model.vocab_size', 'integer'],
  ['model.model_config.max_position_embeddings', 'sequence.max_seq_len', 'integer'],
];

/** nanotron's configuration: dp is written, and the world is the product of the degrees without ep. */
export const nanotronDocument: DocumentFamily = {
  name: 'nanotron',
  matches: ({ tree }) => at(tree, 'parallelism.dp') !== undefined && at(tree, 'parallelism.tp') !== undefined,
  read({ tree, job }) {
    const facts = new Facts();
    readKeys(tree, NANOTRON, facts);
    facts.takeDefaults(DEFAULTS.nanotron);
    // sequence parallelism is a mode of tensor parallelism
    const mode = optionsOf(at(tree, 'parallelism')).string('tp_mode');
    facts.set('parallelism.pipeline_schedule', optionsOf(at(tree, 'parallelism')).string('pp_engine'));
    const isReduceScatter = mapFound(mode, (value) => value.toUpperCase() === 'REDUCE_SCATTER');
    facts.set('sequence.sequence_parallel', isReduceScatter);
    const degrees = (['dp', 'pp', 'tp', 'cp'] as const).map((name) => facts.get(`parallelism.${name}`));
    const world = derived(degrees, (...sizes) => product(sizes), 'world_size');
    // a configuration that is read alone says its world by its degrees
    const isLaunched = job && [job.world.total, job.world.nodes, job.world.perNode].some((part) => isKnown(part));
    setWorld(facts, isLaunched ? job.world : { total: world });
    const accumulation = optionsOf(at(tree, 'tokens')).integer('batch_accumulation_per_replica');
    const factors = [accumulation, facts.get('batch.micro_batch_size'), facts.get('parallelism.dp')];
    const batch = derived(factors, (...sizes) => product(sizes), 'global_batch_size');
    facts.set('batch.global_batch_size', isKnown(batch) ? batch : undefined);
    deriveFromWorld(facts);
    listUnmappedTree(tree, '', namesIn(NANOTRON, 'tp_mode', 'pp_engine', 'batch_accumulation_per_replica'), facts);
    return facts;
  },
};
