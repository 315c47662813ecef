/*
 * Megatron-LM's checks of sizes said again, one after another in the order in which its code makes them, with its words:
 * what a layout is held against where no recorded case exists. Written without the engine, and held against the recorded
 * cases itself. Each function gives the errors in the order of the checks; Megatron-LM raises the first.
 */

import type { ParallelInput, SpecInput } from './inputs';

const product = (sizes: readonly number[]): number => sizes.reduce((n, size) => n * size, 1);

const list = (numbers: readonly number[]): string => `[${numbers.join(', ')}]`;

const count = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** `ModuleGridSpec` for each module, then `create_topology`. */
export function* topologyErrors(world: number, specs: readonly SpecInput[]): Iterable<string> {
  const spans = specs.map(({ name, rank_offset: from, num_ranks }) => ({ name, from, to: from + num_ranks }));
  const shown = `{${spans.map(({ name, from, to }) => `'${name}': (${from}, ${to})`).join(', ')}}`;
  const languages = specs.filter(({ name }) => name === 'language').length;
  const same = spans.every(({ from, to }) => from === spans[0]?.from && to === spans[0].to);
  const apart = spans.every((a, i) => spans.slice(i + 1).every((b) => a.to <= b.from || b.to <= a.from));
  const covered = new Set(spans.flatMap(({ from, to }) => count(to - from).map((i) => from + i)));
  for (const spec of specs) {
    yield* specErrors(spec);
  }
  if (specs.length === 0) {
    yield 'create_topology requires at least one ModuleGridSpec';
  }
  if (languages !== 1) {
    yield `create_topology requires exactly one spec named 'language' (the language module), got ${languages}`;
  }
  for (const spec of specs) {
    yield* gridErrors(world, spec);
  }
  if (!same && !apart) {
    yield `Module grids must either fully share ranks or be pairwise disjoint, got ${shown}`;
  }
  if (covered.size !== world) {
    yield `Module grids must partition the world [0, ${world}) with no gaps, got ${shown}`;
  }
}

function* specErrors({ num_ranks, tp, gtp_remat, cp, pp, ep, expt_tp, expt_gtp_remat }: SpecInput): Iterable<string> {
  const dense = tp * gtp_remat * cp * pp;
  const expert = expt_tp * ep * expt_gtp_remat * pp;
  if (num_ranks % dense !== 0) {
    yield `num_ranks (${num_ranks}) must be divisible by tp*gtp_remat*cp*pp (${dense})`;
  }
  if (num_ranks % expert !== 0) {
    yield `num_ranks (${num_ranks}) must be divisible by expt_tp*ep*expt_gtp_remat*pp (${expert})`;
  }
}

function* gridErrors(world: number, { num_ranks, rank_offset, tp, gtp_remat, cp, pp }: SpecInput): Iterable<string> {
  const shape = list([tp, gtp_remat, cp, num_ranks / (tp * gtp_remat * cp * pp), pp]);
  if (rank_offset < 0) {
    yield `rank_offset must be non-negative, got ${rank_offset}`;
  }
  if (num_ranks > world - rank_offset) {
    yield `Grid shape ${shape} is over sized with world size ${world} and rank offset ${rank_offset}`;
  }
}

/** Whether all modules of a topology that is accepted share their ranks. */
export function isColocated(specs: readonly SpecInput[]): boolean {
  return specs.every(
    ({ rank_offset, num_ranks }) => rank_offset === specs[0]?.rank_offset && num_ranks === specs[0].num_ranks,
  );
}

/** A rank order that the loose matching of names ends in a failure without words. */
export const MALFORMED_ORDER = 'malformed order';

/** `initialize_model_parallel`. */
export function* parallelErrors(input: ParallelInput): Iterable<string> {
  const { world_size: world, tp, gtp_remat, cp, pp, vpp, ep, expt_gtp_remat, order } = input;
  const instances = input.num_distributed_optimizer_instances;
  const levels = input.hierarchical_context_parallel_sizes ?? [];
  const model = tp * gtp_remat * pp * cp;
  const expertModel = (input.etp ?? tp) * ep * expt_gtp_remat * pp;
  const dp = world / model;
  const exptDp = world / expertModel;
  const dense = { tp, pp, dp, ep: 1, cp, gtp_remat };
  const expert = { tp: input.etp ?? tp, pp, dp: exptDp, ep, cp: 1, gtp_remat: expt_gtp_remat };
  yield* sharpErrors(input);
  if ((gtp_remat > 1 || expt_gtp_remat > 1) && instances > 1) {
    yield 'GTP_remat with num_distributed_optimizer_instances > 1 is not yet supported.';
  }
  if (world % model !== 0) {
    yield `world_size (${world}) is not divisible by ${model}`;
  }
  if (vpp !== null && pp <= 1) {
    yield 'pipeline-model-parallel size should be greater than 1 with interleaved schedule';
  }
  yield* orderErrors(injected(order, ['tp']), dense);
  if (world % expertModel !== 0) {
    yield `world_size (${world}) is not divisible by expert_tensor_model_pipeline_parallel size (${expertModel})`;
  }
  yield* orderErrors(injected(order, ['ep', 'tp']), expert);
  if (!order.endsWith('pp') && pp !== 1 && exptDp !== dp) {
    yield 'When not using pp-last rank ordering, the data parallel size of the attention and moe layers must be the same';
  }
  const own = pipelines(injected(order, ['tp']), dense);
  const other = pipelines(injected(order, ['ep', 'tp']), expert);
  if (own !== other) {
    yield `Pipeline parallel groups are expected to be the same for Non-Expert and Expert part,     but got ${own} and ${other}`;
  }
  if ((dp * cp) % instances !== 0) {
    yield 'Data parallel size should be divisible by partial DistOpt shard factor';
  }
  if (input.use_sharp && (input.sharp_enabled_group ?? 'dp') === 'dp') {
    yield 'data parallel group with CP (with GTP_remat) is not initialized';
  }
  if (levels.length > 0 && product(levels) !== cp) {
    yield '';
  }
  if (exptDp % instances !== 0) {
    yield 'Expert data parallel size should be divisible by partial DistOpt shard factor';
  }
}

function* sharpErrors({
  use_sharp,
  sharp_enabled_group: group,
  num_distributed_optimizer_instances: instances,
}: ParallelInput): Iterable<string> {
  if (!use_sharp) {
    if (group !== null) {
      yield 'sharp_enabled_group is only valid when use_sharp is True';
    }
    return;
  }
  if (group !== null && group !== 'dp' && group !== 'dp_replica') {
    yield 'Invalid sharp_enabled_group';
  }
  if (group === 'dp_replica' && instances <= 1) {
    yield 'dp_replica group requires num_distributed_optimizer_instances > 1';
  }
}

type Sizes = Readonly<Record<string, number>>;

/** The order with `gtp_remat` behind the first anchor that it has. */
function injected(order: string, anchors: readonly string[]): string {
  const tokens = order.split('-');
  const anchor = anchors.find((token) => tokens.includes(token));
  if (!tokens.includes('gtp_remat')) {
    tokens.splice(anchor === undefined ? 0 : tokens.indexOf(anchor) + 1, 0, 'gtp_remat');
  }
  return tokens.join('-');
}

const NAMES = ['tp', 'pp', 'dp', 'ep', 'cp', 'gtp_remat'];

/** `RankGenerator`: names are looked for anywhere in the text. */
function* orderErrors(order: string, sizes: Sizes): Iterable<string> {
  const absent = NAMES.find((name) => !order.toLowerCase().includes(name) && sizes[name] !== 1);
  const tokens = orderTokens(order);
  const malformed = new Set(tokens).size !== tokens.length || NAMES.some((name) => !tokens.includes(name));
  if (absent) {
    yield `The size of (${absent}) is (${sizes[absent]}), but you haven'tspecified the order (${order}).`;
  }
  if (malformed || tokens.length !== NAMES.length) {
    yield MALFORMED_ORDER;
  }
}

function orderTokens(order: string): string[] {
  const text = order.toLowerCase();
  return [...text.split('-'), ...NAMES.filter((name) => !text.includes(name))];
}

/** All pipeline groups as Python prints them, rank by rank. */
function pipelines(order: string, sizes: Sizes): string {
  const tokens = orderTokens(order);
  const world = product(tokens.map((token) => sizes[token] ?? 1));
  const groups = new Map<string, number[]>();
  for (let rank = 0; rank < world; rank++) {
    let rest = rank;
    const others: number[] = [];
    for (const token of tokens) {
      const size = sizes[token] ?? 1;
      others.push(token === 'pp' ? 0 : rest % size);
      rest = Math.floor(rest / size);
    }
    const key = others.join();
    groups.set(key, [...(groups.get(key) ?? []), rank]);
  }
  return `[${[...groups.values()].map(list).join(', ')}]`;
}

/** The flags of examples/mimo/training/args.py that a layout can say. */
export interface FlagsInput {
  readonly world_size: number;
  /** Null for `--llm-only`. */
  readonly encoder: { readonly tp: number; readonly dp: number } | null;
  readonly offset: number;
  readonly tp: number;
  readonly cp: number;
  readonly pp: number;
  readonly dp: number;
  readonly ep: number;
  readonly expt_tp: number | null;
  readonly shards: number | null;
  readonly expt_shards: number | null;
  readonly num_experts: number | null;
  readonly micro_batch_size: number;
}

/** `validate_hetero_grid_args`, then `build_module_grid_specs`. */
export function* flagsErrors(input: FlagsInput): Iterable<string> {
  const {
    world_size: world,
    encoder,
    offset,
    tp,
    cp,
    pp,
    dp,
    ep,
    num_experts: experts,
    micro_batch_size: micro,
  } = input;
  const exptTp = input.expt_tp ?? 1;
  const gtp = (input.shards ?? tp) / tp;
  const size = tp * gtp * cp * pp * dp;
  const encoderRanks = count(encoder ? encoder.tp * encoder.dp : 0);
  const ranks = count(size).map((i) => offset + i);
  const shared = encoderRanks.filter((rank) => ranks.includes(rank));
  const covered = [...new Set([...encoderRanks, ...ranks])].sort((a, b) => a - b);
  const cover = `covered=${list(covered)}, world=${list(count(world))}`;
  const isWhole = covered.join() === count(world).join();
  const expert = exptTp * ep * ((input.expt_shards ?? exptTp) / exptTp) * pp;
  if (cp !== 1) {
    yield 'hetero MIMO training currently supports CP=1 only';
  }
  if ((experts ?? 0) % ep !== 0) {
    yield `--num-experts (${experts}) must be divisible by --llm-ep (${ep})`;
  }
  yield* shardsErrors(input.shards, tp, 'tensor_parallel_num_weight_shards', 'tensor_model_parallel_size');
  yield* shardsErrors(
    input.expt_shards,
    exptTp,
    'expert_tensor_parallel_num_weight_shards',
    'expert_tensor_parallel_size',
  );
  if (!encoder && offset !== 0) {
    yield '--llm-only requires --llm-offset 0 so language ranks cover WORLD_SIZE';
  }
  if (!encoder && !isWhole) {
    yield `--llm-only requires the language grid to cover every torchrun rank exactly once; ${cover}`;
  }
  if (encoder !== null && (micro * dp * gtp) % encoder.dp !== 0) {
    yield `--micro-batch-size * --llm-dp * GTP must be divisible by --encoder-dp (got ${micro} * ${dp} * ${gtp} % ${encoder?.dp} != 0)`;
  }
  if (shared.length > 0) {
    yield `hetero MIMO expects disjoint module rank spans; spans overlap at ${list(shared)}`;
  }
  if (!isWhole) {
    yield `The non-colocated module grids must cover every torchrun rank exactly once; ${cover}`;
  }
  if (size % expert !== 0) {
    yield `num_ranks (${size}) must be divisible by expt_tp*ep*expt_gtp_remat*pp (${expert})`;
  }
}

/** `resolve_tensor_parallel_weight_shards`. */
function* shardsErrors(shards: number | null, tp: number, name: string, tpName: string): Iterable<string> {
  if (shards !== null && shards < tp) {
    yield `${name} (${shards}) must be >= ${tpName} (${tp}).`;
  }
  if (shards !== null && shards % tp !== 0) {
    yield `${name} (${shards}) must be divisible by ${tpName} (${tp}).`;
  }
}

/** What a `TransformerConfig` and the model that is built by it ask of the sizes. */
export interface ModelInput {
  readonly tp: number;
  readonly pp: number;
  readonly vpp: number | null;
  readonly ep: number;
  readonly layers: number;
  readonly heads: number;
  readonly groups: number | null;
  readonly experts: number | null;
  readonly first: number | null;
  readonly last: number | null;
  readonly sequence_parallel: boolean;
}

/** Stages that overlap: Megatron-LM builds another number of layers without a word. */
export const SILENT_LOSS = 'layers lost without a word';

/** `TransformerConfig.__post_init__`, then `get_num_layers_to_build`. */
export function* modelErrors(input: ModelInput): Iterable<string> {
  const { tp, pp, vpp, ep, layers, heads, experts } = input;
  const groups = input.groups ?? heads;
  const even = input.first === null && input.last === null;
  const perStage = layers / pp;
  if (heads % tp !== 0) {
    yield `num_attention_heads (${heads}) must be a multiple of tensor_model_parallel_size (${tp}).`;
  }
  if (groups % tp !== 0 && tp % groups !== 0) {
    yield `num_query_groups (${groups}) must be a multiple or divisor of tensor_model_parallel_size (${tp}).`;
  }
  if (ep > 1 && experts === null) {
    yield 'num_moe_experts must be non None to use expert-parallel.';
  }
  if (!even) {
    yield* unevenErrors(input);
  }
  if (even && layers % pp !== 0) {
    yield `num_layers=${layers} should be divisible by config.pipeline_model_parallel_size=${pp}`;
  }
  if (even && vpp !== null && perStage % vpp !== 0) {
    yield `num_layers_per_pipeline_rank ${perStage}             should be divisible by vp_size ${vpp}`;
  }
}

function* unevenErrors({ layers, pp, vpp, first: start, last: end }: ModelInput): Iterable<string> {
  const middle = layers - (start ?? 0) - (end ?? 0);
  const stages = pp - (start === null ? 0 : 1) - (end === null ? 0 : 1);
  const rest = (size: number | null) => (vpp === null || size === null ? 0 : size % vpp);
  if (rest(start) !== 0) {
    yield `number of layers at first stage: ${start}must be divisible by virtual pipelineparallel degree ${vpp}`;
  }
  if (rest(end) !== 0) {
    yield `number of layers at last stage: ${end}must be divisible by virtual pipelineparallel degree ${vpp}`;
  }
  if ((middle !== 0) !== (stages !== 0)) {
    yield `Mismatch: ${middle} middle layers remaining but ${stages} middle PP stages available.`;
  }
  if (stages !== 0 && middle % stages !== 0) {
    yield `number of layers at middle stage: ${middle} must be divisible bythe middle pipeline model parallel size ${stages}`;
  }
  if (stages !== 0 && rest(middle / stages) !== 0) {
    yield `number of layers on each middle pipeline rank:${middle / stages} must be divisible by virtualpipeline parallel degree ${vpp}`;
  }
  if (middle < 0 || stages < 0) {
    yield SILENT_LOSS;
  }
}

/** A command line of the training script. */
export interface ScriptInput extends ModelInput {
  readonly world_size: number;
  readonly cp: number;
  readonly shards: number | null;
  readonly hidden: number;
  readonly seq_length: number;
  readonly max_position: number | null;
  readonly tp_comm_overlap: boolean;
  readonly levels: readonly number[] | null;
  readonly cp_comm_type: string | null;
  readonly micro: number;
  readonly global: number | null;
}

/** `validate_args`, then what the configuration and the model ask. */
export function* scriptErrors(input: ScriptInput): Iterable<string> {
  const { world_size: world, tp, cp, pp, ep, vpp, shards, layers, heads, hidden, experts, levels, micro } = input;
  const gtp = (shards ?? tp) / tp;
  const model = tp * gtp * pp * cp;
  const dp = world / model;
  const global = input.global ?? micro * dp;
  const { seq_length: length, max_position: most } = input;
  // sequence parallelism is switched off without tensor parallelism
  const sequence_parallel = input.sequence_parallel && tp > 1;
  const even = vpp === null && input.first === null && input.last === null;
  yield* shardsErrors(shards, tp, 'tensor_parallel_num_weight_shards', 'tensor_model_parallel_size');
  if (world % model !== 0) {
    yield `world size (${world}) is not divisible by total_model_size (total_model_size=${model})`;
  }
  if (levels !== null && product(levels) !== cp) {
    yield '';
  }
  if (input.cp_comm_type === 'a2a+p2p' && levels === null) {
    yield '--hierarchical-context-parallel-sizes must be set when a2a+p2p is used in cp comm';
  }
  if (global % (micro * dp * gtp) !== 0) {
    yield `eval_global_batch_size (${global}) must be divisible by eval_micro_batch_size (${micro}) * data_parallel_size (${dp}) * gtp_weight_remat_size (${gtp})`;
  }
  if (even && layers % pp !== 0) {
    yield 'Number of layers should be divisible by the pipeline-model-parallel size';
  }
  if (vpp !== null && pp <= 1) {
    yield 'When interleaved schedule is used, pipeline-model-parallel size should be greater than 1';
  }
  if (hidden % heads !== 0) {
    yield '';
  }
  if (cp > 1 && length % (2 * cp) !== 0) {
    yield 'seq-length should be a multiple of 2 * context-parallel-size if context-parallel-size > 1.';
  }
  if (most !== null && most < length) {
    yield `max_position_embeddings (${most}) must be greater than or equal to seq_length (${length}).`;
  }
  if (input.tp_comm_overlap && !sequence_parallel) {
    yield 'Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled';
  }
  if (ep > 1 && experts === null) {
    yield 'num_experts must be non None to use expert model parallelism';
  }
  if (ep > 1 && (experts ?? 0) % ep !== 0) {
    yield 'Number of experts should be a multiple of expert model parallel_size.';
  }
  yield* modelErrors({ ...input, sequence_parallel });
  // the first MoE layer of the first step; the missing space is that of Megatron-LM
  if (experts !== null && tp > 1 && !sequence_parallel) {
    yield 'During training, performance may degrade if MoE and tensor parallelismare enabled without also enabling sequence parallelism.';
  }
}
