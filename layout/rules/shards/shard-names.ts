import { type LayoutFacts, type ModuleFacts, valueOr } from '../../topology/facts';

/** What the dense and the expert number of weight shards are called, here and in Megatron-LM. */
export const DENSE_SHARDS = {
  shards: 'num_weight_shards',
  remat: 'gtp_remat',
  tp: 'tp',
  flag: 'tensor_parallel_num_weight_shards',
  tpFlag: 'tensor_model_parallel_size',
} as const;

export const EXPERT_SHARDS = {
  shards: 'expt_num_weight_shards',
  remat: 'expt_gtp_remat',
  tp: 'expt_tp',
  flag: 'expert_tensor_parallel_num_weight_shards',
  tpFlag: 'expert_tensor_parallel_size',
} as const;

/** Either of the two. */
export type ShardNames = typeof DENSE_SHARDS | typeof EXPERT_SHARDS;

/** `expt_tp` defaults to `tp` under `parallelism` and to 1 in a module. */
export function expertTp({ fields, own }: ModuleFacts, tp: number | undefined): number | undefined {
  return fields.expt_tp.written ? fields.expt_tp.value : own ? 1 : tp;
}

export function tooFewShards(names: ShardNames, shards: number, tp: number): string {
  return `${names.flag} (${shards}) must be >= ${names.tpFlag} (${tp}).`;
}

/** The grid that a key belongs to; `parallelism` is the only one where it is written. */
export function moduleOf({ modules }: LayoutFacts, path: string): ModuleFacts | undefined {
  return modules.find(({ name }) => name === null || path.startsWith(`modules.${name}.`));
}

/**
 * What Megatron-LM says of weight shards below 1, written as their number or, under `parallelism`, as a degree that
 * makes one. Null for other keys.
 * @param path of the key
 */
export function shardsBelowOne(facts: LayoutFacts, path: string, value: number): string | null {
  const names = [DENSE_SHARDS, EXPERT_SHARDS].find(
    ({ shards, remat }) => path.endsWith(`.${shards}`) || path.endsWith(`.${remat}`),
  );
  const module = moduleOf(facts, path);
  const dense = module && valueOr(module.fields.tp, 1);
  const tp = module && (names === EXPERT_SHARDS ? expertTp(module, dense) : dense);
  if (!names || !module || tp === undefined) {
    return null;
  }
  if (path.endsWith(`.${names.shards}`)) {
    return tooFewShards(names, value, tp);
  }
  // a written number of shards wins over the degree, and a module hands the degree on as it is
  return module.own || module.fields[names.shards].written ? null : tooFewShards(names, value * tp, tp);
}
