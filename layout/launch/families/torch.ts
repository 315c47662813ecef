import { DEFAULTS } from '../defaults';
import { derived, Facts, type Found, isKnown } from '../facts';
import type { DocumentFamily, LaunchDocument } from '../family';
import { at, optionsOf, type TreeMap, textAtPath } from '../tree';
import { deriveFromWorld, setWorld } from '../world';
import { listUnmappedTree, readKeys } from './keys';
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

/** Hugging Face accelerate's configuration: `num_processes` is the world, `parallelism_config` the degrees. */
export const accelerateDocument: DocumentFamily = {
  name: 'accelerate',
  matches: ({ tree }) => at(tree, 'distributed_type') !== undefined || at(tree, 'parallelism_config') !== undefined,
  read({ tree }) {
    const facts = new Facts();
    const section = at(tree, 'parallelism_config');
    readKeys(
      section,
      [
        ['parallelism_config_tp_size', 'parallelism.tp', 'integer'],
        ['parallelism_config_cp_size', 'parallelism.cp', 'integer'],
        ['parallelism_config_dp_replicate_size', 'fsdp.data_parallel_replicate_degree', 'integer'],
        ['parallelism_config_dp_shard_size', 'fsdp.data_parallel_shard_degree', 'integer'],
      ],
      facts,
    );
    if (section) {
      facts.takeDefaults(DEFAULTS.accelerate);
    }
    const megatron = at(tree, 'megatron_lm_config');
    readKeys(
      megatron,
      [
        ['megatron_lm_tp_degree', 'parallelism.tp', 'integer'],
        ['megatron_lm_pp_degree', 'parallelism.pp', 'integer'],
        ['megatron_lm_sequence_parallelism', 'sequence.sequence_parallel', 'boolean'],
        ['megatron_lm_use_distributed_optimizer', 'optimizer.use_distributed_optimizer', 'boolean'],
      ],
      facts,
    );
    const options = optionsOf(tree);
    setWorld(facts, {
      nodes: options.integer('num_machines'),
      total: options.integer('num_processes') ?? { unknown: 'num_processes' },
    });
    if (section) {
      dpOfProduct(facts);
    }
    listUnmappedTree(tree, '', ACCELERATE_MAPPED, facts);
    return facts;
  },
};

const ACCELERATE_MAPPED: ReadonlySet<string> = new Set(
  'num_machines num_processes parallelism_config_tp_size parallelism_config_cp_size parallelism_config_dp_replicate_size parallelism_config_dp_shard_size megatron_lm_tp_degree megatron_lm_pp_degree megatron_lm_sequence_parallelism megatron_lm_use_distributed_optimizer'.split(
    ' ',
  ),
);

function dpOfProduct(facts: Facts): void {
  const dp = derived(
    [facts.get('fsdp.data_parallel_replicate_degree'), facts.get('fsdp.data_parallel_shard_degree')],
    (a, b) => a * b,
    'dp',
  );
  if (isKnown(dp)) {
    facts.setDefault('parallelism.dp', dp.value);
  }
}

/** axolotl's configuration; the world is the launcher's. */
export const axolotlDocument: DocumentFamily = {
  name: 'axolotl',
  matches: ({ tree }) =>
    at(tree, 'base_model') !== undefined &&
    (at(tree, 'datasets') !== undefined ||
      at(tree, 'micro_batch_size') !== undefined ||
      at(tree, 'rl') !== undefined ||
      at(tree, 'adapter') !== undefined),
  read({ tree, job }) {
    const facts = new Facts();
    readKeys(
      tree,
      [
        ['tensor_parallel_size', 'parallelism.tp', 'integer'],
        ['sequence_parallel_degree', 'parallelism.cp', 'integer'],
        ['context_parallel_size', 'parallelism.cp', 'integer'],
        ['expert_parallel_size', 'parallelism.ep', 'integer'],
        ['dp_shard_size', 'fsdp.data_parallel_shard_degree', 'integer'],
        ['dp_replicate_size', 'fsdp.data_parallel_replicate_degree', 'integer'],
        ['micro_batch_size', 'batch.micro_batch_size', 'integer'],
        ['sequence_len', 'sequence.seq_length', 'integer'],
      ],
      facts,
    );
    facts.takeDefaults(DEFAULTS.axolotl);
    setWorld(facts, job?.world ?? { total: { unknown: 'the world of the launcher' } });
    listUnmappedTree(tree, '', AXOLOTL_MAPPED, facts);
    return facts;
  },
};

const AXOLOTL_MAPPED: ReadonlySet<string> = new Set(
  'tensor_parallel_size context_parallel_size sequence_parallel_degree expert_parallel_size dp_shard_size dp_replicate_size micro_batch_size sequence_len'.split(
    ' ',
  ),
);

/** nanotron's configuration: dp is written, and the world is the product of the degrees without ep. */
export const nanotronDocument: DocumentFamily = {
  name: 'nanotron',
  matches: ({ tree }) => at(tree, 'parallelism.dp') !== undefined && at(tree, 'parallelism.tp') !== undefined,
  read(document) {
    const facts = new Facts();
    readNanotron(document, facts);
    return facts;
  },
};

function readNanotron({ tree, job }: LaunchDocument, facts: Facts): void {
  readKeys(
    tree,
    [
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
    ],
    facts,
  );
  facts.takeDefaults(DEFAULTS.nanotron);
  readMode(tree, facts);
  const degrees = ['dp', 'pp', 'tp', 'cp'].map((name) => facts.get(`parallelism.${name}`));
  const world = derived(degrees, (...sizes) => sizes.reduce((product, size) => product * size, 1), 'world_size');
  setWorld(facts, isKnown(job?.world.total) ? job.world : { ...job?.world, total: world });
  batchOf(tree, facts);
  deriveFromWorld(facts);
  listUnmappedTree(tree, '', NANOTRON_MAPPED, facts);
}

const NANOTRON_MAPPED: ReadonlySet<string> = new Set(
  'tp pp dp context_parallel_size expert_parallel_size tp_mode sequence_length micro_batch_size batch_accumulation_per_replica dtype hidden_size num_hidden_layers num_attention_heads num_key_value_heads intermediate_size vocab_size max_position_embeddings make_vocab_size_divisible_by'.split(
    ' ',
  ),
);

/** Sequence parallelism is a mode of tensor parallelism. */
function readMode(tree: TreeMap, facts: Facts): void {
  const mode = optionsOf(at(tree, 'parallelism')).string('tp_mode');
  if (isKnown(mode)) {
    facts.set('sequence.sequence_parallel', {
      value: mode.value.toUpperCase() === 'REDUCE_SCATTER',
      source: mode.source,
    });
  }
}

/** The global batch: micro-batch size x accumulation x dp. */
function batchOf(tree: TreeMap, facts: Facts): void {
  const accumulation = optionsOf(at(tree, 'tokens')).integer('batch_accumulation_per_replica');
  const global: Found<number> | undefined = derived(
    [accumulation, facts.get('batch.micro_batch_size'), facts.get('parallelism.dp')],
    (steps, micro, dp) => steps * micro * dp,
    'global_batch_size',
  );
  if (isKnown(global) && textAtPath(tree, 'tokens.batch_accumulation_per_replica') !== null) {
    facts.set('batch.global_batch_size', global);
  }
}
