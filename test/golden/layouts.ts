import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { RULES } from '../../layout';
import { layoutFileValues } from '../../layout/launch';
import { passingText } from '../../layout/rules/page';
import { loadGolden } from './golden';
import { type ParallelInput, parallelText, type TopologyInput, topologyText } from './inputs';

const layoutsIn = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(join(import.meta.dirname, folder))
      .filter((name) => name.endsWith('.layout.yaml'))
      .map((name) => [name, readFileSync(join(import.meta.dirname, folder, name), 'utf8')]),
  );

/** The layouts that ship with the program, by their names. */
export const EXAMPLES = layoutsIn('../../examples');

/** What launch files of the frameworks' own repositories are imported as. */
export const IMPORTED = layoutsIn('../../docs/frameworks/examples');

const degree = fc.constantFrom(1, 2, 4);
const degrees = fc.record({ tp: degree, cp: degree, pp: degree, ep: degree, dp: degree });

/** Homogeneous layouts; each value stands in them or not. */
export const homogeneousLayouts = fc
  .tuple(degrees, fc.infiniteStream(fc.boolean()))
  .map(([{ tp, cp, pp, ep, dp }, choices]) => {
    const world = tp * cp * pp * dp;
    const maybe = (line: string) => (choices.next().value ? [line] : []);
    return [
      'layout: 1',
      choices.next().value ? `world_size: ${world}` : `cluster: {nodes: ${world}, gpus_per_node: 4}`,
      'parallelism:',
      `  tp: ${tp}`,
      ...maybe(`  cp: ${cp}`),
      ...maybe(`  pp: ${pp}`),
      ...(pp > 1 ? maybe('  vpp: 2') : []),
      ...maybe(`  ep: ${ep}`),
      ...maybe('  expt_tp: 1'),
      ...maybe('  order: tp-cp-ep-pp-dp'),
      ...maybe('  num_distributed_optimizer_instances: 2'),
      'model:',
      '  num_layers: 32',
      ...maybe('  hidden_size: 4096'),
      ...maybe('  num_attention_heads: 32'),
      ...maybe('  num_query_groups: 8'),
      ...maybe('  num_experts: 16'),
      ...maybe('  gated_linear_unit: true'),
      ...maybe('  params_dtype: fp16'),
      'sequence:',
      '  seq_length: 4096',
      ...(tp > 1 ? maybe('  sequence_parallel: true') : []),
      'batch:',
      '  micro_batch_size: 1',
      ...maybe('  global_batch_size: 256'),
      ...maybe('optimizer: {use_distributed_optimizer: true, overlap_grad_reduce: true}'),
      ...maybe('recompute: {granularity: full, method: uniform, num_layers: 1}'),
      ...maybe('moe: {moe_token_dispatcher_type: alltoall}'),
    ].join('\n');
  });

/** The layouts that Megatron-LM accepts, the examples, and the files on which no rule fires. */
const ALL: readonly string[] = [
  ...loadGolden<ParallelInput, unknown>('homogeneous').flatMap(({ ok, input }) => (ok ? parallelText(input) : [])),
  ...loadGolden<TopologyInput, unknown>('hetero').flatMap(({ ok, input }) => (ok ? (topologyText(input) ?? []) : [])),
  ...EXAMPLES.values(),
  ...RULES.map(passingText),
];

/** One layout of each shape: which keys it writes, and which of them say more than 1. */
export const SHAPES: readonly string[] = [
  ...new Map(
    ALL.map((text) => {
      const values = [...(layoutFileValues('', text) ?? [])];
      return [JSON.stringify(values.map(([key, { value }]) => [key, value === 1])), text];
    }),
  ).values(),
];
