/*
 * Megatron-LM's checks of sizes said again, one after another in the order in which its code makes them, with its words:
 * what a layout is held against where no recorded case exists. Written without the engine, and held against the recorded
 * cases itself. Each function gives the first error, or null where Megatron-LM accepts.
 */

type Verdict = string | null;

/** The first of some checks that fails: what is not tried yet costs nothing. */
function first(...checks: readonly (() => Verdict)[]): Verdict {
  for (const check of checks) {
    const verdict = check();
    if (verdict !== null) {
      return verdict;
    }
  }
  return null;
}

const when = (fails: boolean, message: string): Verdict => (fails ? message : null);

const product = (sizes: readonly number[]): number => sizes.reduce((n, size) => n * size, 1);

const list = (numbers: readonly number[]): string => `[${numbers.join(', ')}]`;

const count = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** One argument list of `ModuleGridSpec`. */
export interface SpecInput {
  readonly name: string;
  readonly num_ranks: number;
  readonly tp: number;
  readonly gtp_remat: number;
  readonly cp: number;
  readonly pp: number;
  readonly ep: number;
  readonly expt_tp: number;
  readonly expt_gtp_remat: number;
  readonly rank_offset: number;
}

/** `ModuleGridSpec` for each module, then `create_topology`. */
export function topologyVerdict(world: number, specs: readonly SpecInput[]): Verdict {
  const spans = specs.map(({ name, rank_offset: from, num_ranks }) => ({ name, from, to: from + num_ranks }));
  const shown = `{${spans.map(({ name, from, to }) => `'${name}': (${from}, ${to})`).join(', ')}}`;
  const languages = specs.filter(({ name }) => name === 'language').length;
  const same = spans.every(({ from, to }) => from === spans[0]?.from && to === spans[0].to);
  const apart = spans.every((a, i) => spans.slice(i + 1).every((b) => a.to <= b.from || b.to <= a.from));
  const covered = new Set(spans.flatMap(({ from, to }) => count(to - from).map((i) => from + i)));
  return first(
    ...specs.map((spec) => () => specVerdict(spec)),
    () => when(specs.length === 0, 'create_topology requires at least one ModuleGridSpec'),
    () =>
      when(
        languages !== 1,
        `create_topology requires exactly one spec named 'language' (the language module), got ${languages}`,
      ),
    ...specs.map((spec) => () => gridVerdict(world, spec)),
    () => when(!same && !apart, `Module grids must either fully share ranks or be pairwise disjoint, got ${shown}`),
    () =>
      when(covered.size !== world, `Module grids must partition the world [0, ${world}) with no gaps, got ${shown}`),
  );
}

function specVerdict({ num_ranks, tp, gtp_remat, cp, pp, ep, expt_tp, expt_gtp_remat }: SpecInput): Verdict {
  const dense = tp * gtp_remat * cp * pp;
  const expert = expt_tp * ep * expt_gtp_remat * pp;
  return first(
    () => when(num_ranks % dense !== 0, `num_ranks (${num_ranks}) must be divisible by tp*gtp_remat*cp*pp (${dense})`),
    () =>
      when(
        num_ranks % expert !== 0,
        `num_ranks (${num_ranks}) must be divisible by expt_tp*ep*expt_gtp_remat*pp (${expert})`,
      ),
  );
}

function gridVerdict(world: number, { num_ranks, rank_offset, tp, gtp_remat, cp, pp }: SpecInput): Verdict {
  const shape = list([tp, gtp_remat, cp, num_ranks / (tp * gtp_remat * cp * pp), pp]);
  return first(
    () => when(rank_offset < 0, `rank_offset must be non-negative, got ${rank_offset}`),
    () =>
      when(
        num_ranks > world - rank_offset,
        `Grid shape ${shape} is over sized with world size ${world} and rank offset ${rank_offset}`,
      ),
  );
}

/** Whether all modules of a topology that is accepted share their ranks. */
export function isColocated(specs: readonly SpecInput[]): boolean {
  return specs.every(
    ({ rank_offset, num_ranks }) => rank_offset === specs[0]?.rank_offset && num_ranks === specs[0].num_ranks,
  );
}

/** Arguments of `initialize_model_parallel`. */
export interface ParallelInput {
  readonly world_size: number;
  readonly tp: number;
  readonly gtp_remat: number;
  readonly cp: number;
  readonly pp: number;
  readonly vpp: number | null;
  readonly ep: number;
  readonly etp: number | null;
  readonly expt_gtp_remat: number;
  readonly num_distributed_optimizer_instances: number;
  readonly order: string;
  readonly hierarchical_context_parallel_sizes: readonly number[] | null;
  readonly use_sharp: boolean;
  readonly sharp_enabled_group: string | null;
}

/** A rank order that the loose matching of names ends in a failure without words. */
export const MALFORMED_ORDER = 'malformed order';

/** `initialize_model_parallel`. */
export function parallelVerdict(input: ParallelInput): Verdict {
  const { world_size: world, tp, gtp_remat, cp, pp, vpp, ep, expt_gtp_remat, order } = input;
  const instances = input.num_distributed_optimizer_instances;
  const levels = input.hierarchical_context_parallel_sizes ?? [];
  const model = tp * gtp_remat * pp * cp;
  const expertModel = (input.etp ?? tp) * ep * expt_gtp_remat * pp;
  const dp = world / model;
  const exptDp = world / expertModel;
  const dense = { tp, pp, dp, ep: 1, cp, gtp_remat };
  const expert = { tp: input.etp ?? tp, pp, dp: exptDp, ep, cp: 1, gtp_remat: expt_gtp_remat };
  return first(
    () => sharpVerdict(input),
    () =>
      when(
        (gtp_remat > 1 || expt_gtp_remat > 1) && instances > 1,
        'GTP_remat with num_distributed_optimizer_instances > 1 is not yet supported.',
      ),
    () => when(world % model !== 0, `world_size (${world}) is not divisible by ${model}`),
    () =>
      when(vpp !== null && pp <= 1, 'pipeline-model-parallel size should be greater than 1 with interleaved schedule'),
    () => orderVerdict(injected(order, ['tp']), dense),
    () =>
      when(
        world % expertModel !== 0,
        `world_size (${world}) is not divisible by expert_tensor_model_pipeline_parallel size (${expertModel})`,
      ),
    () => orderVerdict(injected(order, ['ep', 'tp']), expert),
    () =>
      when(
        !order.endsWith('pp') && pp !== 1 && exptDp !== dp,
        'When not using pp-last rank ordering, the data parallel size of the attention and moe layers must be the same',
      ),
    () => {
      const [own, other] = [
        pipelines(injected(order, ['tp']), dense),
        pipelines(injected(order, ['ep', 'tp']), expert),
      ];
      return when(
        own !== other,
        `Pipeline parallel groups are expected to be the same for Non-Expert and Expert part,     but got ${own} and ${other}`,
      );
    },
    () => when((dp * cp) % instances !== 0, 'Data parallel size should be divisible by partial DistOpt shard factor'),
    () =>
      when(
        input.use_sharp && (input.sharp_enabled_group ?? 'dp') === 'dp',
        'data parallel group with CP (with GTP_remat) is not initialized',
      ),
    () => when(levels.length > 0 && product(levels) !== cp, ''),
    () =>
      when(exptDp % instances !== 0, 'Expert data parallel size should be divisible by partial DistOpt shard factor'),
  );
}

function sharpVerdict({
  use_sharp,
  sharp_enabled_group: group,
  num_distributed_optimizer_instances: instances,
}: ParallelInput): Verdict {
  if (!use_sharp) {
    return when(group !== null, 'sharp_enabled_group is only valid when use_sharp is True');
  }
  return first(
    () => when(group !== null && group !== 'dp' && group !== 'dp_replica', 'Invalid sharp_enabled_group'),
    () =>
      when(
        group === 'dp_replica' && instances <= 1,
        'dp_replica group requires num_distributed_optimizer_instances > 1',
      ),
  );
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
function orderVerdict(order: string, sizes: Sizes): Verdict {
  const absent = NAMES.find((name) => !order.toLowerCase().includes(name) && sizes[name] !== 1);
  const tokens = orderTokens(order);
  const malformed = new Set(tokens).size !== tokens.length || NAMES.some((name) => !tokens.includes(name));
  return absent
    ? `The size of (${absent}) is (${sizes[absent]}), but you haven'tspecified the order (${order}).`
    : when(malformed || tokens.length !== NAMES.length, MALFORMED_ORDER);
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
export function flagsVerdict(input: FlagsInput): Verdict {
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
  return first(
    () => when(cp !== 1, 'hetero MIMO training currently supports CP=1 only'),
    () => when((experts ?? 0) % ep !== 0, `--num-experts (${experts}) must be divisible by --llm-ep (${ep})`),
    () => shardsVerdict(input.shards, tp, 'tensor_parallel_num_weight_shards', 'tensor_model_parallel_size'),
    () =>
      shardsVerdict(
        input.expt_shards,
        exptTp,
        'expert_tensor_parallel_num_weight_shards',
        'expert_tensor_parallel_size',
      ),
    () => when(!encoder && offset !== 0, '--llm-only requires --llm-offset 0 so language ranks cover WORLD_SIZE'),
    () =>
      when(
        !encoder && !isWhole,
        `--llm-only requires the language grid to cover every torchrun rank exactly once; ${cover}`,
      ),
    () =>
      when(
        encoder !== null && (micro * dp * gtp) % encoder.dp !== 0,
        `--micro-batch-size * --llm-dp * GTP must be divisible by --encoder-dp (got ${micro} * ${dp} * ${gtp} % ${encoder?.dp} != 0)`,
      ),
    () => when(shared.length > 0, `hetero MIMO expects disjoint module rank spans; spans overlap at ${list(shared)}`),
    () => when(!isWhole, `The non-colocated module grids must cover every torchrun rank exactly once; ${cover}`),
    () =>
      when(size % expert !== 0, `num_ranks (${size}) must be divisible by expt_tp*ep*expt_gtp_remat*pp (${expert})`),
  );
}

/** `resolve_tensor_parallel_weight_shards`. */
function shardsVerdict(shards: number | null, tp: number, name: string, tpName: string): Verdict {
  return first(
    () => when(shards !== null && shards < tp, `${name} (${shards}) must be >= ${tpName} (${tp}).`),
    () => when(shards !== null && shards % tp !== 0, `${name} (${shards}) must be divisible by ${tpName} (${tp}).`),
  );
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
export function modelVerdict(input: ModelInput): Verdict {
  const { tp, pp, vpp, ep, layers, heads, experts } = input;
  const groups = input.groups ?? heads;
  const even = input.first === null && input.last === null;
  const perStage = layers / pp;
  return first(
    () =>
      when(
        heads % tp !== 0,
        `num_attention_heads (${heads}) must be a multiple of tensor_model_parallel_size (${tp}).`,
      ),
    () =>
      when(
        groups % tp !== 0 && tp % groups !== 0,
        `num_query_groups (${groups}) must be a multiple or divisor of tensor_model_parallel_size (${tp}).`,
      ),
    () => when(ep > 1 && experts === null, 'num_moe_experts must be non None to use expert-parallel.'),
    () => (even ? null : unevenVerdict(input)),
    () =>
      when(
        even && layers % pp !== 0,
        `num_layers=${layers} should be divisible by config.pipeline_model_parallel_size=${pp}`,
      ),
    () =>
      when(
        even && vpp !== null && perStage % vpp !== 0,
        `num_layers_per_pipeline_rank ${perStage}             should be divisible by vp_size ${vpp}`,
      ),
  );
}

function unevenVerdict({ layers, pp, vpp, first: start, last: end }: ModelInput): Verdict {
  const middle = layers - (start ?? 0) - (end ?? 0);
  const stages = pp - (start === null ? 0 : 1) - (end === null ? 0 : 1);
  const rest = (size: number | null) => (vpp === null || size === null ? 0 : size % vpp);
  return first(
    () =>
      when(
        rest(start) !== 0,
        `number of layers at first stage: ${start}must be divisible by virtual pipelineparallel degree ${vpp}`,
      ),
    () =>
      when(
        rest(end) !== 0,
        `number of layers at last stage: ${end}must be divisible by virtual pipelineparallel degree ${vpp}`,
      ),
    () =>
      when(
        (middle !== 0) !== (stages !== 0),
        `Mismatch: ${middle} middle layers remaining but ${stages} middle PP stages available.`,
      ),
    () =>
      when(
        stages !== 0 && middle % stages !== 0,
        `number of layers at middle stage: ${middle} must be divisible bythe middle pipeline model parallel size ${stages}`,
      ),
    () =>
      when(
        stages !== 0 && rest(middle / stages) !== 0,
        `number of layers on each middle pipeline rank:${middle / stages} must be divisible by virtualpipeline parallel degree ${vpp}`,
      ),
    () => when(middle < 0 || stages < 0, SILENT_LOSS),
  );
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
export function scriptVerdict(input: ScriptInput): Verdict {
  const { world_size: world, tp, cp, pp, ep, vpp, shards, layers, heads, hidden, experts, levels, micro } = input;
  const gtp = (shards ?? tp) / tp;
  const model = tp * gtp * pp * cp;
  const dp = world / model;
  const global = input.global ?? micro * dp;
  const { seq_length: length, max_position: most } = input;
  // sequence parallelism is switched off without tensor parallelism
  const sequence_parallel = input.sequence_parallel && tp > 1;
  const even = vpp === null && input.first === null && input.last === null;
  return first(
    () => shardsVerdict(shards, tp, 'tensor_parallel_num_weight_shards', 'tensor_model_parallel_size'),
    () =>
      when(
        world % model !== 0,
        `world size (${world}) is not divisible by total_model_size (total_model_size=${model})`,
      ),
    () => when(levels !== null && product(levels) !== cp, ''),
    () =>
      when(
        input.cp_comm_type === 'a2a+p2p' && levels === null,
        '--hierarchical-context-parallel-sizes must be set when a2a+p2p is used in cp comm',
      ),
    () =>
      when(
        global % (micro * dp * gtp) !== 0,
        `eval_global_batch_size (${global}) must be divisible by eval_micro_batch_size (${micro}) * data_parallel_size (${dp}) * gtp_weight_remat_size (${gtp})`,
      ),
    () => when(even && layers % pp !== 0, 'Number of layers should be divisible by the pipeline-model-parallel size'),
    () =>
      when(
        vpp !== null && pp <= 1,
        'When interleaved schedule is used, pipeline-model-parallel size should be greater than 1',
      ),
    () => when(hidden % heads !== 0, ''),
    () =>
      when(
        cp > 1 && length % (2 * cp) !== 0,
        'seq-length should be a multiple of 2 * context-parallel-size if context-parallel-size > 1.',
      ),
    () =>
      when(
        most !== null && most < length,
        `max_position_embeddings (${most}) must be greater than or equal to seq_length (${length}).`,
      ),
    () =>
      when(
        input.tp_comm_overlap && !sequence_parallel,
        'Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled',
      ),
    () => when(ep > 1 && experts === null, 'num_experts must be non None to use expert model parallelism'),
    () =>
      when(
        ep > 1 && (experts ?? 0) % ep !== 0,
        'Number of experts should be a multiple of expert model parallel_size.',
      ),
    () => modelVerdict({ ...input, sequence_parallel }),
    // the first MoE layer of the first step; the missing space is Megatron's
    () =>
      when(
        experts !== null && tp > 1 && !sequence_parallel,
        'During training, performance may degrade if MoE and tensor parallelismare enabled without also enabling sequence parallelism.',
      ),
  );
}
