import type { LaunchDocument, LaunchFamily } from '../launch/family';
import { defaultsIn, defaultsOf, listUnmappedTree, type OptionRow, pathsIn, readRows } from '../launch/optionRows';
import { textOf } from '../launch/sources/shell/words';
import { at } from '../launch/sources/tree';
import { Facts } from '../launch/value';
import { LAUNCHERS_WORLD, setWorld } from '../launch/world';
import { readConfigured } from './configured';
import type { Framework } from './framework';

/** axolotl: trains with transformers over torch FSDP or DeepSpeed. */
export const axolotl: Framework = {
  name: 'axolotl',
  title: 'axolotl',
  revision: '067b021c8',
  source: 'axolotl-ai-cloud/axolotl',
  world: null,
  meshes: [],
  rules: { own: [], megatron: 'none' },
  reads:
    'A configuration YAML, alone or behind `axolotl train`: degrees, shard and replica sizes, batch and length. The launcher gives the world.',
  notes: ['axolotl hands its degrees to accelerate, whose own rules are not applied here.'],
  example: 'layout: 1\nworld_size: 8\nlaunch: {family: axolotl}\nparallelism: {tp: 2}\n',
};

const OPTIONS: readonly OptionRow[] = [
  ['parallelism.tp', 'tensor_parallel_size', 'integer', 1],
  ['parallelism.cp', 'sequence_parallel_degree', 'integer', null],
  ['parallelism.cp', 'context_parallel_size', 'integer', 1],
  ['parallelism.ep', 'expert_parallel_size', 'integer'],
  ['fsdp.data_parallel_shard_degree', 'dp_shard_size', 'integer'],
  ['fsdp.data_parallel_replicate_degree', 'dp_replicate_size', 'integer'],
  ['batch.micro_batch_size', 'micro_batch_size', 'integer'],
  ['sequence.seq_length', 'sequence_len', 'integer'],
  ['model.from', 'base_model', 'text'],
];

const DEFAULTS = /* @__PURE__ */ defaultsOf(
  axolotl,
  'src/axolotl/utils/schemas/config.py, src/axolotl/utils/distributed.py',
  defaultsIn(OPTIONS),
);

const DOCUMENT = {
  evidence: ({ tree }: LaunchDocument) =>
    at(tree, 'base_model') && ['datasets', 'micro_batch_size', 'rl', 'adapter'].some((name) => at(tree, name))
      ? ('own' as const)
      : null,
  read({ tree, job }: LaunchDocument): Facts {
    const facts = new Facts();
    readRows(tree, OPTIONS, facts);
    facts.takeDefaults(DEFAULTS);
    setWorld(facts, job?.world ?? { total: LAUNCHERS_WORLD });
    listUnmappedTree(tree, '', pathsIn(OPTIONS), facts);
    return facts;
  },
};

/** axolotl's configuration; the world is the launcher's. */
export const axolotlLaunch: LaunchFamily<'axolotl'> = {
  name: 'axolotl',
  document: DOCUMENT,
  command: {
    evidence: ({ program, script, args }) =>
      (program === 'axolotl' && /^(train|preprocess)$/.test(textOf(args[0]) ?? '')) || script === 'axolotl.cli.train'
        ? 'own'
        : null,
    read: (job, context) => readConfigured(job, context, DOCUMENT),
  },
};
