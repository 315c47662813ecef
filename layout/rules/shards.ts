import { appendKey } from '../format/edit';
import type { Field } from '../format/spec';
import type { LayoutFacts, ModuleFacts } from '../topology/facts';
import { valueOr } from '../topology/facts';
import { changeFix, suggestion } from './fixes';
import { either, nearestMultiples } from './numbers';
import type { Report, Rule } from './rule';
import { otherSource } from './source';

/** What the dense and the expert number of weight shards are called, here and in Megatron-LM. */
const DENSE = {
  shards: 'num_weight_shards',
  remat: 'gtp_remat',
  tp: 'tp',
  flag: 'tensor_parallel_num_weight_shards',
  tpFlag: 'tensor_model_parallel_size',
} as const;
const EXPERT = {
  shards: 'expt_num_weight_shards',
  remat: 'expt_gtp_remat',
  tp: 'expt_tp',
  flag: 'expert_tensor_parallel_num_weight_shards',
  tpFlag: 'expert_tensor_parallel_size',
} as const;

export const weightShards: Rule = {
  code: 'weight-shards',
  severity: 'error',
  title: 'A number of weight shards that tp does not divide',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`num_weight_shards` is less than `tp` or not a multiple of it; likewise `expt_num_weight_shards` and `expt_tp`.',
  why: 'Each of the `tp` parts of a weight is cut into the same number of shards, so their total is `tp * gtp_remat`.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 2
  num_weight_shards: 3
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
  num_weight_shards: 4
batch: {micro_batch_size: 1, global_batch_size: 8}
`,
  sources: [otherSource('`resolve_tensor_parallel_weight_shards` in megatron/core/model_parallel_config.py')],
  *check(facts) {
    for (const module of facts.modules) {
      const { fields } = module;
      const tp = valueOr(fields.tp, 1);
      yield* shardReports(DENSE, fields.num_weight_shards, tp, fields.tp);
      yield* shardReports(EXPERT, fields.expt_num_weight_shards, expertTp(module, tp), expertField(module));
    }
  },
};

/** `expt_tp` defaults to `tp` under `parallelism` and to 1 in a module. */
function expertTp({ fields, own }: ModuleFacts, tp: number | undefined): number | undefined {
  return fields.expt_tp.written ? fields.expt_tp.value : own ? 1 : tp;
}

function expertField({ fields, own }: ModuleFacts): Field<number> {
  return fields.expt_tp.written || own ? fields.expt_tp : fields.tp;
}

function tooFewShards(names: typeof DENSE | typeof EXPERT, shards: number, tp: number): string {
  return `${names.flag} (${shards}) must be >= ${names.tpFlag} (${tp}).`;
}

/**
 * What Megatron-LM says of weight shards below 1, written as their number or, under `parallelism`, as a degree that
 * makes one. Null for other keys.
 * @param path of the key
 */
export function shardsBelowOne({ modules }: LayoutFacts, path: string, value: number): string | null {
  const names = [DENSE, EXPERT].find(({ shards, remat }) => path.endsWith(`.${shards}`) || path.endsWith(`.${remat}`));
  const module = modules.find(({ name }) => name === null || path.startsWith(`modules.${name}.`));
  const dense = module && valueOr(module.fields.tp, 1);
  const tp = module && (names === EXPERT ? expertTp(module, dense) : dense);
  if (!names || !module || tp === undefined) {
    return null;
  }
  if (path.endsWith(`.${names.shards}`)) {
    return tooFewShards(names, value, tp);
  }
  // a written number of shards wins over the degree, and a module hands the degree on as it is
  return module.own || module.fields[names.shards].written ? null : tooFewShards(names, value * tp, tp);
}

function* shardReports(
  names: typeof DENSE | typeof EXPERT,
  shards: Field<number>,
  tp: number | undefined,
  tpField: Field<number>,
): Iterable<Report> {
  if (shards.value === undefined || tp === undefined || (shards.value >= tp && shards.value % tp === 0)) {
    return;
  }
  const few = shards.value < tp;
  const better = few ? [tp, 2 * tp] : nearestMultiples(tp, shards.value);
  const sorted = [...better].sort((a, b) => a - b);
  yield {
    message: `${names.shards} is ${shards.value}, which is ${few ? 'less than' : 'not a multiple of'} ${names.tp} ${tp}. Use ${either(sorted)}.`,
    span: shards.span,
    related: tpField.written ? [{ message: `${names.tp} is ${tp} here`, span: tpField.span }] : [],
    predicts: few
      ? tooFewShards(names, shards.value, tp)
      : `${names.flag} (${shards.value}) must be divisible by ${names.tpFlag} (${tp}).`,
    fixes: better.map((value) => changeFix(names.shards, shards.span, value)),
  };
}

export const expertTpDefault: Rule = {
  code: 'expert-tp-default',
  severity: 'warning',
  title: 'An expt_tp that is left to its default',
  effect: 'the job runs, but slowly or not as the author thinks',
  what: 'A module has `ep` and `tp` above 1 and does not write `expt_tp`.',
  why: 'A module takes `expt_tp` as 1, while `initialize_model_parallel` takes it as `tp`: the same numbers mean two different expert grids, depending on how the job is launched.',
  failing: `layout: 1
world_size: 8
modules:
  language: {num_ranks: 8, tp: 2, ep: 2}
`,
  passing: `layout: 1
world_size: 8
modules:
  language: {num_ranks: 8, tp: 2, ep: 2, expt_tp: 1}
`,
  sources: [
    otherSource(
      '`ModuleGridSpec` in examples/mimo/training/topology.py; `initialize_model_parallel` in megatron/core/parallel_state.py',
    ),
  ],
  *check({ text, modules }) {
    for (const { own, degrees, fields, span, name } of modules) {
      if (own && degrees && degrees.ep > 1 && degrees.tp > 1 && !fields.expt_tp.written) {
        const edit = appendKey(text, span, 'expt_tp: 1');
        yield {
          message: `\`${name}\` leaves expt_tp to its default, which is 1 in a module (but tp, ${degrees.tp}, under initialize_model_parallel). Write expt_tp.`,
          span: fields.ep.span,
          related: [{ message: `tp is ${degrees.tp} here`, span: fields.tp.span }],
          fixes: edit ? [suggestion('Insert `expt_tp: 1`', [edit])] : [],
        };
      }
    }
  },
};
