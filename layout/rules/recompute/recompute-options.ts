import type { LayoutFacts } from '../../topology/facts';
import { type Condition, firstBroken } from '../conditions';
import type { Rule } from '../rule';
import { megatron } from '../source';

export const recomputeOptions: Rule = {
  code: 'recompute-options',
  severity: 'error',
  title: 'Recomputation whose options do not go together',
  effect: 'Megatron-LM stops on every rank',
  what: '`recompute.granularity` is `selective` with a `method` or `num_layers`; or it is `full`, and a file that describes a whole training job has no `method` or no `num_layers`.',
  why: 'Full recomputation picks layers, by `uniform` pieces or in a `block`; selective recomputation picks modules.',
  failing: `layout: 1
world_size: 8
parallelism: {tp: 2}
recompute: {granularity: selective, num_layers: 4}
`,
  passing: `layout: 1
world_size: 8
parallelism: {tp: 2}
recompute: {granularity: full, method: uniform, num_layers: 4}
`,
  sources: [
    megatron('megatron/training/arguments.py', 'validate_args'),
    megatron('megatron/core/transformer/transformer_config.py', 'TransformerConfig.__post_init__'),
  ],
  *check(facts) {
    yield* firstBroken(facts.text, conditions(facts));
  },
};

function conditions({ root, modules, trainingScript }: LayoutFacts): Condition[] {
  const recompute = root.recompute.value;
  const granularity = recompute?.granularity.value;
  if (!recompute || granularity === undefined) {
    return [];
  }
  const { method, num_layers: layers } = recompute;
  const isSelective = granularity === 'selective';
  const base = { name: 'granularity', field: recompute.granularity };
  const pp = modules[0]?.degrees?.pp ?? 1;
  const perRank = Math.floor((root.model.value?.num_layers.value ?? 0) / pp);
  return [
    {
      name: 'method',
      field: method,
      holds: !isSelective || method.value === undefined,
      message: 'Selective recomputation has no method. Leave method out, or use granularity full.',
      predicts: 'recompute method is not yet supported for selective recomputing granularity',
    },
    {
      ...base,
      // a file that says less than its training script may well leave it out
      holds: isSelective || method.written || !trainingScript,
      message: 'Full recomputation needs a method. Write `method: uniform` or `method: block`.',
      predicts: 'Using recompute_granularity: full so recompute_method must be "block" or "uniform"',
    },
    {
      ...base,
      holds: isSelective || layers.written || !trainingScript,
      message: 'Full recomputation needs a number of layers. Write `num_layers: 1` under recompute.',
      predicts: `When using recompute_granularity: full recompute_num_layers must be between 1 and num_layers_per_pipeline_rank: ${perRank}`,
    },
    {
      name: 'num_layers',
      field: layers,
      holds: !isSelective || layers.value === undefined,
      message: 'Selective recomputation has no number of layers. Leave num_layers out, or use granularity full.',
      predicts: 'When using recompute_granularity: selective recompute_num_layers must be None.',
    },
  ];
}
