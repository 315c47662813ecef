import { assertThat, raise } from '../python';
import { checkUneven, middleOf, type PipelineSettings } from './settings';

/**
 * The layer symbols of hybrid models (`Symbols` in megatron/core/models/hybrid/hybrid_layer_allocation.py): Mamba, gated delta net,
 * attention, sparse attention, multi-latent attention, MLP, MoE.
 */
const HYBRID_SYMBOLS = 'MG*D+-E';

/** Megatron-LM's messages print a Python set, whose order its hash seed decides; these are the orders of seed 0. */
const SYMBOL_SET = "{'G', '+', 'E', 'M', '-', 'D', '*'}";
const SYMBOL_AND_PIPE_SET = "{'G', 'D', '*', '|', '+', 'E', 'M', '-'}";

/** A hybrid pattern in its parts. */
export interface HybridPattern {
  /** The decoder's layers, with `|` between pipeline stages. */
  readonly main: string;
  /** The layers of one prediction depth; empty without MTP. */
  readonly mtp: string;
  readonly mtpDepths: number;
}

/** A hybrid model laid over its pipeline. */
export interface HybridPlan {
  readonly numLayers: number;
  /** `virtual_pipeline_model_parallel_size`: how many segments a rank has; null for one. */
  readonly vpp: number | null;
  /** Prediction depths: of the pattern, else those of `mtp_num_layers`. */
  readonly mtp: number | null;
  readonly pattern: HybridPattern;
  /** The layers of each stage as symbols, and the first one's number: `stages[vpp stage][pp rank]`. */
  readonly stages: readonly (readonly (readonly [symbols: string, offset: number])[])[];
}

/**
 * A hybrid pattern laid over its pipeline, check by check in the order of `validate_args` (megatron/training/arguments.py),
 * `TransformerConfig` and `select_pipeline_segment` as `HybridModel` calls it for every stage. Only inside `attempt`.
 * @param perVirtualStage `num_layers_per_virtual_pipeline_stage`, null where it is not set
 */
export function hybridPlan(
  text: string,
  settings: Omit<PipelineSettings, 'numLayers'>,
  perVirtualStage: number | null = null,
): HybridPlan {
  const [main = ''] = text.split('/');
  checkSymbols(main, 'main');
  const numLayers = main.replaceAll('|', '').length;
  checkOtherSettings(main, settings, perVirtualStage);
  const segments = main.split('|').length;
  const { pp, mtp } = settings;
  assertThat(
    segments === 1 || segments % pp === 0,
    `The number of hybrid pipeline segments described by --hybrid-layer-pattern must be evenly divisible by --pipeline-model-parallel-size. Got ${segments} segments and ${pp} pipeline parallel size.`,
  );
  const vpp = segments > pp ? segments / pp : null;
  const pattern = parseHybridPattern(text);
  assertThat(
    vpp === null || pp > 1,
    'When interleaved schedule is used, pipeline-model-parallel size should be greater than 1',
  );
  if (settings.first !== null || settings.last !== null) {
    checkUneven({ ...settings, numLayers, vpp });
  }
  return {
    numLayers,
    vpp,
    mtp: pattern.mtpDepths > 0 ? pattern.mtpDepths : mtp,
    pattern,
    stages: stagesOf(main, settings, vpp),
  };
}

/** The spellings of a hybrid pattern as a job has them; null where one is not set. */
export interface PatternSpellings {
  readonly pattern: string | null;
  /** `hybrid_override_pattern`, the former name of the pattern. */
  readonly former: string | null;
  /** `mtp_hybrid_override_pattern`: the layers of one MTP depth. */
  readonly depth: string | null;
  /** `mtp_num_layers` */
  readonly depths: number | null;
}

/** The most MTP depths that are written out: more than any model has. */
const MAX_DEPTHS = 1024;

/** The pattern in force, null for a model that is no hybrid: former spellings are merged into it (`validate_args`). */
export function mergedPattern({ pattern, former, depth, depths }: PatternSpellings): string | null {
  const main = pattern ?? former;
  const count = Math.min(depths ?? 0, MAX_DEPTHS);
  return depth !== null && count > 0 && !main?.includes('/') ? `${main ?? ''}${`/${depth}`.repeat(count)}` : main;
}

/** What Megatron-LM says against the spellings. Only inside `attempt`. */
export function checkSpellings({ pattern, former }: PatternSpellings): void {
  assertThat(
    pattern === null || former === null,
    '--hybrid-override-pattern and --hybrid-layer-pattern cannot both be specified. --hybrid-override-pattern is deprecated; use --hybrid-layer-pattern instead.',
  );
}

/** Splits a pattern such as `M*M*|M*M*\/MM\/MM` into its parts (`parse_hybrid_pattern`). Only inside `attempt`. */
export function parseHybridPattern(text: string): HybridPattern {
  const [main = '', ...depths] = text.split('/');
  checkSymbols(main, 'main');
  if (depths.every((depth) => depth === '')) {
    return { main, mtp: '', mtpDepths: 0 };
  }
  const [first = ''] = depths;
  for (const [i, depth] of depths.entries()) {
    if (depth !== first) {
      raise(
        'ValueError',
        `All MTP patterns must be identical. Pattern 1 is '${first}', but pattern ${i + 1} is '${depth}'. Full pattern: '${text}'`,
      );
    }
  }
  checkSymbols(first, 'MTP');
  return { main, mtp: first, mtpDepths: depths.length };
}

function checkSymbols(part: string, name: 'main' | 'MTP'): void {
  for (const char of part) {
    if (!HYBRID_SYMBOLS.includes(char) && !(name === 'main' && char === '|')) {
      const symbols = name === 'main' ? SYMBOL_AND_PIPE_SET : SYMBOL_SET;
      raise('ValueError', `In ${name} pattern, '${char}' is not a valid layer symbol. Valid symbols are: ${symbols}`);
    }
  }
  if (part.includes('*') && /[D+]/.test(part)) {
    raise('ValueError', 'Not supported to have both Attention and MLA/DSA in one model');
  }
}

/** What a pattern excludes, in the order in which `validate_args` looks. */
function checkOtherSettings(
  main: string,
  settings: Omit<PipelineSettings, 'numLayers'>,
  perVirtualStage: number | null,
): void {
  const ends = { first: settings.first, last: settings.last };
  for (const [name, layers] of Object.entries(ends)) {
    assertThat(
      layers === null || !main.includes('|'),
      `If --hybrid-layer-pattern contains pipe separators, --decoder-${name}-pipeline-num-layers should not be specified as the pipeline layout is explicitly defined.`,
    );
  }
  assertThat(
    perVirtualStage === null,
    '--num-layers-per-virtual-pipeline-stage should not be used with --hybrid-layer-pattern. To specify virtual pipelining, describe a number of pipeline segments in --hybrid-layer-pattern that is a multiple of --pipeline-model-parallel-size greater than 1',
  );
  assertThat(
    settings.vpp === null,
    '--num-virtual-stages-per-pipeline-rank should not be used with --hybrid-layer-pattern. Virtual pipeline stages are derived from the number of | segments in the pattern.',
  );
  const excluded = {
    'pipeline-model-parallel-layout': settings.layout !== null,
    'account-for-embedding-in-pipeline-split': settings.accountForEmbedding,
    'account-for-loss-in-pipeline-split': settings.accountForLoss,
  };
  for (const [flag, written] of Object.entries(excluded)) {
    assertThat(
      !written,
      `--${flag} should not be used with --hybrid-layer-pattern. Pipeline stage layout is defined by | separators in the pattern.`,
    );
  }
}

function stagesOf(
  main: string,
  settings: Omit<PipelineSettings, 'numLayers'>,
  vpp: number | null,
): (readonly [string, number])[][] {
  const { pp } = settings;
  const segments = main.split('|');
  if (segments.length === 1 && pp > 1) {
    return [Array.from({ length: pp }, (_, rank) => sliceOf(main, settings, rank))];
  }
  let next = 0;
  const placed = segments.map((symbols): readonly [string, number] => {
    const offset = next;
    next += symbols.length;
    return [symbols, offset];
  });
  return Array.from({ length: vpp ?? 1 }, (_, stage) => placed.slice(stage * pp, (stage + 1) * pp));
}

/** The layers of a rank where the pattern has no pipes: equal runs, or ends of another size. */
function sliceOf(
  main: string,
  { pp, first, last }: Omit<PipelineSettings, 'numLayers'>,
  rank: number,
): readonly [string, number] {
  const layers = main.length;
  if (first === null && last === null) {
    if (layers % pp !== 0) {
      raise(
        'ValueError',
        `Number of layers (${layers}) must be evenly divisible by pipeline-model-parallel-size (${pp}) when no pipe separators are specified in the pattern.`,
      );
    }
    return [main.slice((rank * layers) / pp, ((rank + 1) * layers) / pp), (rank * layers) / pp];
  }
  const { layers: middle, stages } = middleOf({ numLayers: layers, pp, first, last });
  // that they divide has been checked with the configuration
  const each = stages > 0 ? middle / stages : 0;
  const [offset, count] =
    rank === 0 && first !== null
      ? [0, first]
      : rank === pp - 1 && last !== null
        ? [layers - last, last]
        : [(first === null ? rank : rank - 1) * each + (first ?? 0), each];
  return [main.slice(offset, offset + count), offset];
}

/** Whether the stages hold the layers of the pattern in their order, each exactly once. */
export function coversPattern({ stages, pattern }: HybridPlan): boolean {
  const built = stages.flat().map(([symbols]) => symbols);
  return built.join('') === pattern.main.replaceAll('|', '');
}
