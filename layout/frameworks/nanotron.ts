import type { LaunchDocument, LaunchFamily } from '../launch/family';
import { defaultsIn, defaultsOf, listUnmappedTree, type OptionRow, pathsIn, readRows } from '../launch/optionRows';
import { at, optionsOf } from '../launch/sources/tree';
import { derived, type FactPath, Facts, isKnown, mapFound, product } from '../launch/value';
import { deriveFromWorld, setAccumulatedBatch, setWorld } from '../launch/world';
import { configurationsOf, readConfigured } from './configured';
import { type Framework, parallelDegree, type Sizes, sized } from './framework';

const worldOf = ({ tp = 1, cp = 1, dp = 1, pp = 1 }: Sizes): number => tp * cp * dp * pp;

/** The message has the pipeline size in the place of the context-parallel one, as the source does. */
const productWords = (sizes: Sizes, world: number): string => {
  const { tp, cp, dp, pp } = sizes;
  return `TP*CP*DP*PP=${tp}*${pp}*${cp}*${dp}=${worldOf(sizes)} != WORLD_SIZE=${world}`;
};

const OPTIMIZER = 'huggingface/nanotron src/nanotron/serialize/optimizer.py load_optimizer';

/** nanotron: `ParallelContext` in src/nanotron/parallel/context.py. */
export const nanotron: Framework = {
  name: 'nanotron',
  title: 'nanotron',
  revision: '2411b022a7',
  source: 'huggingface/nanotron',
  world: {
    degrees: [parallelDegree('tp'), parallelDegree('cp'), parallelDegree('dp', 'rest'), parallelDegree('pp')],
    predicts: productWords,
    belowOne: (_, sizes, world) =>
      worldOf(sizes) === world ? 'can only specify one unknown dimension' : productWords(sizes, world),
    // the ranks are reshaped with the expert degree, which the product leaves out
    experts: {
      count: () => 1,
      axes: [],
      predicts: (_, __, world) => `cannot reshape array of size ${world} into shape`,
    },
    expertTp: 'tp',
  },
  meshes: [
    {
      axes: ['tp', 'cp', 'dp', 'pp'].map(sized),
      groups: [
        { name: 'tp', carries: 'activations of every layer' },
        { name: 'cp', carries: 'keys and values of attention' },
        { name: 'dp', carries: 'gradients' },
        { name: 'pp', carries: 'activations and their gradients between stages' },
        { name: 'mp', axes: ['tp', 'pp'], carries: 'the norm of gradients' },
        { name: 'dp_cp', axes: ['cp', 'dp'], carries: 'gradients with context parallelism' },
      ],
    },
  ],
  reads:
    'A configuration YAML, alone or behind `torchrun run_train.py --config-file`: `parallelism`, `tokens`, `model.model_config`. The launcher gives the world; a file that is read alone says it by the product of its degrees.',
  notes: [
    '`context_parallel_size` makes groups, but only some models use them; the others train on whole sequences on every rank.',
    'The message of a wrong product names `cp` and shows the pipeline size in its place.',
  ],
  example: 'layout: 1\nworld_size: 16\nlaunch: {family: nanotron}\nparallelism: {tp: 2, pp: 2, dp: 4}\n',
  heads: {
    heads: (heads, tp) => `num_attention_heads (${heads}) must be divisible by tp (${tp})`,
    keyValueHeads: (heads, tp) =>
      heads < tp
        ? `num_key_value_heads (${heads}) must be >= tp (${tp})`
        : `Number of key/value heads (${heads}) must be divisible by TP size (${tp}).`,
  },
  rules: {
    own: ['framework-world', 'framework-experts', 'framework-heads', 'nanotron-nodes', 'nanotron-accumulation'],
    megatron: 'none',
  },
  checkpoint: [
    {
      parts: ['model'],
      outcome: 'loads',
      because: 'weights are put together from all shards and cut anew.',
      source: 'huggingface/nanotron src/nanotron/serialize/weights.py load_weights',
    },
    {
      parts: ['optimizer'],
      changed: ['pp'],
      outcome: 'loads',
      because: 'states are put together from all shards, which nanotron itself asks to check.',
      predicts:
        'You are resuming in a different PP size, so optimizer states need to be checked. Feel free to open a PR if you work on this!',
      source: OPTIMIZER,
    },
    {
      parts: ['optimizer'],
      changed: ['tp'],
      outcome: 'loads',
      because: 'states are put together from all shards and cut anew.',
      source: OPTIMIZER,
    },
    {
      parts: ['optimizer'],
      changed: ['dp'],
      when: (saved) => saved.zeroStage > 0,
      outcome: 'lost',
      because: 'with ZeRO every rank reads a file that has its rank and the number of data-parallel ranks in its name.',
      source: OPTIMIZER,
    },
    { parts: ['optimizer'], outcome: 'loads', because: 'every rank reads the file of its shard.', source: OPTIMIZER },
    {
      parts: ['rng'],
      outcome: 'lost',
      because: 'they are saved, and never read.',
      source: 'huggingface/nanotron src/nanotron/trainer.py',
    },
    {
      parts: ['data'],
      outcome: 'loads',
      because: 'it goes on at the consumed samples, which are in the checkpoint.',
      source: 'huggingface/nanotron src/nanotron/trainer.py',
    },
  ],
};

const OPTIONS: readonly OptionRow[] = [
  ['parallelism.tp', 'parallelism.tp', 'integer'],
  ['parallelism.pp', 'parallelism.pp', 'integer'],
  ['parallelism.dp', 'parallelism.dp', 'integer'],
  ['parallelism.cp', 'parallelism.context_parallel_size', 'integer', 1],
  ['parallelism.ep', 'parallelism.expert_parallel_size', 'integer', 1],
  ['parallelism.pipeline_schedule', 'parallelism.pp_engine', 'text'],
  ['sequence.seq_length', 'tokens.sequence_length', 'integer'],
  ['batch.micro_batch_size', 'tokens.micro_batch_size', 'integer'],
  ['model.params_dtype', 'model.dtype', 'type'],
  ['model.make_vocab_size_divisible_by', 'model.make_vocab_size_divisible_by', 'integer'],
  ['model.hidden_size', 'model.model_config.hidden_size', 'integer'],
  ['model.num_layers', 'model.model_config.num_hidden_layers', 'integer'],
  ['model.num_attention_heads', 'model.model_config.num_attention_heads', 'integer'],
  ['model.num_query_groups', 'model.model_config.num_key_value_heads', 'integer'],
  ['model.ffn_hidden_size', 'model.model_config.intermediate_size', 'integer'],
  ['model.vocab_size', 'model.model_config.vocab_size', 'integer'],
  ['sequence.max_seq_len', 'model.model_config.max_position_embeddings', 'integer'],
];

const DEFAULTS = /* @__PURE__ */ defaultsOf(nanotron, 'src/nanotron/config/parallelism_config.py', defaultsIn(OPTIONS));

/** The degrees that make up the world: ep borrows its ranks. */
const WORLD: readonly FactPath[] = ['parallelism.dp', 'parallelism.pp', 'parallelism.tp', 'parallelism.cp'];

const DOCUMENT = {
  evidence: ({ tree }: LaunchDocument) =>
    at(tree, 'parallelism.dp') && at(tree, 'parallelism.tp') ? ('own' as const) : null,
  read: readNanotron,
};

/** nanotron's configuration: dp is written, and the world is the product of the degrees without ep. */
export const nanotronLaunch: LaunchFamily<'nanotron'> = {
  name: 'nanotron',
  document: DOCUMENT,
  command: {
    evidence: (job) =>
      /(^|\/)(run_train|train_\w+)\.py$/.test(job.script ?? '') && configurationsOf(job).length > 0
        ? 'configuration'
        : null,
    read: (job, context) => readConfigured(job, context, DOCUMENT),
  },
};

function readNanotron({ tree, job }: LaunchDocument): Facts {
  const facts = new Facts();
  readRows(tree, OPTIONS, facts);
  facts.takeDefaults(DEFAULTS);
  // sequence parallelism is a mode of tensor parallelism
  const mode = optionsOf(at(tree, 'parallelism')).string('tp_mode');
  facts.set(
    'sequence.sequence_parallel',
    mapFound(mode, (value) => value.toUpperCase() === 'REDUCE_SCATTER'),
  );
  const world = derived(
    WORLD.map((key) => facts.get(key)),
    (...sizes) => product(sizes),
    'world_size',
  );
  // a configuration that is read alone says its world by its degrees
  const isLaunched = job && [job.world.total, job.world.nodes, job.world.perNode].some((part) => isKnown(part));
  setWorld(facts, isLaunched ? job.world : { total: world });
  setAccumulatedBatch(facts, optionsOf(at(tree, 'tokens')).integer('batch_accumulation_per_replica'));
  deriveFromWorld(facts);
  const others = ['parallelism.tp_mode', 'tokens.batch_accumulation_per_replica'];
  listUnmappedTree(tree, '', pathsIn(OPTIONS, ...others), facts);
  return facts;
}
