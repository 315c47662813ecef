import { appendKey } from '../../format/edit';
import type { RootKeys } from '../../format/keys';
import type { Section } from '../../format/spec';
import type { LayoutFacts } from '../../topology/facts';
import { type Condition, conditionsOn, firstBroken } from '../conditions';
import { insertFix, suggestion } from '../fixes';
import { job, type Rule, TRANSFORMER_CONFIG, VALIDATE_ARGS } from '../rule';

type Recompute = Section<RootKeys['recompute']['keys']>;

export const recomputeOptions: Rule = {
  code: 'recompute-options',
  severity: 'error',
  title: 'Recomputation options that exclude each other',
  what: '`distribute_saved_activations` is on with `tp` 1, with sequence parallelism, or without full recomputation and a method; `recompute.granularity` is `selective` with a `method` or `num_layers`; or it is `full`, and a file that describes a whole training job has no `method` or no `num_layers`.',
  why: 'Full recomputation picks layers, by `uniform` pieces or in a `block`; selective recomputation picks modules.',
  failing: job(8, 'tp: 2', 'recompute: {granularity: selective, num_layers: 4}'),
  passing: job(8, 'tp: 2', 'recompute: {granularity: full, method: uniform, num_layers: 4}'),
  sources: [VALIDATE_ARGS, TRANSFORMER_CONFIG],
  check: (facts) => firstBroken(facts.text, conditions(facts)),
};

function conditions(facts: LayoutFacts): Condition[] {
  const { text, root, modules, trainingScript } = facts;
  const recompute = root.recompute.value;
  if (!recompute) {
    return [];
  }
  const ofScript = spreadConditions(facts, recompute);
  const granularity = recompute.granularity.value;
  if (granularity === undefined) {
    return ofScript;
  }
  const { method, num_layers: layers, distribute_saved_activations: spread } = recompute;
  const isSelective = granularity === 'selective';
  const pp = modules[0]?.degrees?.pp ?? 1;
  const perRank = Math.floor((root.model.value?.num_layers.value ?? 0) / pp);
  const lines = ['method: uniform', ...(layers.written ? [] : ['num_layers: 1'])];
  const condition = conditionsOn('granularity', recompute.granularity);
  return [
    ...ofScript,
    conditionsOn('method', method)(
      !isSelective || method.value === undefined,
      'Selective recomputation has no method. Remove method, or use granularity full.',
      'recompute method is not yet supported for selective recomputing granularity',
    ),
    condition(
      // a file that says less than its training script may well leave it out
      isSelective || method.written || !trainingScript,
      'Full recomputation needs a method. Write method uniform or block.',
      'Using recompute_granularity: full so recompute_method must be "block" or "uniform"',
      suggestion(
        `Insert ${lines.join(', ')}`,
        lines.map((line) => appendKey(text, root.recompute.span, line)),
      ),
    ),
    condition(
      isSelective || layers.written || !trainingScript,
      'Full recomputation needs a number of layers. Write num_layers 1 under recompute.',
      `When using recompute_granularity: full recompute_num_layers must be between 1 and num_layers_per_pipeline_rank: ${perRank}`,
      insertFix(text, root.recompute.span, 'num_layers: 1'),
    ),
    conditionsOn('num_layers', layers)(
      !isSelective || layers.value === undefined,
      'Selective recomputation has no number of layers. Remove num_layers, or use granularity full.',
      'When using recompute_granularity: selective recompute_num_layers must be None.',
    ),
    conditionsOn('distribute_saved_activations', spread)(
      spread.value !== true || modules[0]?.sequence.value?.sequence_parallel.value !== true,
      'distribute_saved_activations excludes sequence_parallel, which spreads the activations already. Remove it.',
      'distribute_saved_activations: True must be false when sequence parallel is enabled: True',
    ),
  ];
}

/** What spreading the saved activations over the TP ranks asks for, before anything else of recomputation is checked. */
function spreadConditions({ modules }: LayoutFacts, recompute: Recompute): Condition[] {
  const { distribute_saved_activations: field, granularity, method } = recompute;
  const [module] = modules;
  if (field.value !== true || !module?.degrees) {
    return [];
  }
  const condition = conditionsOn('distribute_saved_activations', field);
  return [
    condition(
      module.degrees.tp > 1,
      'distribute_saved_activations needs tensor parallelism; tp is 1. Remove it.',
      'can distribute recomputed activations only across tensor model parallel groups',
    ),
    condition(
      granularity.value === 'full',
      'distribute_saved_activations needs full recomputation. Write granularity full.',
      'distributed recompute activations is only application to full recompute granularity',
    ),
    condition(
      method.value !== undefined,
      'distribute_saved_activations needs a recompute method. Write method uniform or block.',
      'for distributed recompute activations to work you need to use a recompute method ',
    ),
  ];
}
