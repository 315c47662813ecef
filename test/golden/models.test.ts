import { describe, expect, test } from 'vitest';
import { type Checked, stagePlans } from '../../layout';
import {
  type GoldenCase,
  type GoldenError,
  layoutText,
  loadGolden,
  testLayouts,
  type Verdict,
  verdictOf,
} from './golden';
import { type CommandLine, commandLineText, type Inputs, isPlaced, type StagesInput, sectionsOf } from './inputs';

/** Layers by virtual stage and stage: [layers built, offset of the first]. */
type Placement = readonly (readonly (readonly [count: number, offset: number])[])[];

interface LayersExpect {
  readonly layers?: Placement | null;
  readonly layers_error?: GoldenError | null;
  readonly layers_cover_model?: boolean;
}

/** Flags without which the script stops; a file may leave these facts out, and nothing is known of them then. */
const BASE: Inputs = {
  num_layers: 8,
  hidden_size: 64,
  num_attention_heads: 8,
  seq_length: 64,
  max_position_embeddings: 64,
  micro_batch_size: 1,
};

/** What Megatron-LM takes and cannot mean: a way of context parallelism that no kernel has, fewer layers than none. */
const isNonsense = ({ cp_comm_type, mtp_num_layers }: Inputs): boolean =>
  [cp_comm_type].flat().some((way) => typeof way === 'string' && !/^(p2p|all_gather|a2a|a2a\+p2p)$/.test(way)) ||
  Number(mtp_num_layers ?? 0) < 0;

describe.each([
  ['training_args', undefined],
  ['training_args_dev', 'dev'],
])('%s', (file, megatron) => {
  test('every argument has its place', () => {
    const names = loadGolden<CommandLine, unknown>(file).flatMap(({ input }) => Object.keys(input.flags));
    expect(names.filter((name) => !isPlaced(name))).toEqual([]);
  });

  testLayouts<CommandLine, LayersExpect>('command lines', file, {
    text: ({ input }) => {
      const isWhole = Object.keys(BASE).every((name) => input.flags[name] !== null);
      return isWhole ? commandLineText({ ...input, flags: { ...BASE, ...input.flags } }, megatron) : null;
    },
    verdict: ({ input, error, expect: { layers_error } }) => {
      const verdict = verdictOf(error ?? layers_error);
      return verdict === 'accepted' && isNonsense(input.flags) ? 'refused' : verdict;
    },
  });
});

interface RuleInput {
  readonly kind: 'config' | 'args' | 'microbatches';
  readonly config?: Inputs;
  readonly world_size?: number;
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly global_batch_size?: number;
  readonly micro_batch_size?: number;
  readonly data_parallel_size?: number;
  readonly decrease_batch_size_if_needed?: boolean;
}

/** The layout of a TransformerConfig in the smallest world that holds it; null where it says what a layout cannot. */
function configText(config: Inputs): string | null {
  if (config.mtp_hsm) {
    return null;
  }
  const size = (name: string) => Number(config[name] ?? 1);
  const tp = size('tensor_model_parallel_size');
  const expert = Number(config.expert_tensor_parallel_size ?? tp) * size('expert_model_parallel_size');
  const world_size = tp * size('context_parallel_size') * size('pipeline_model_parallel_size') * expert;
  const disable_bias_linear = config.add_bias_linear === false;
  const sections = sectionsOf({ ...config, disable_bias_linear });
  return sections && layoutText({ world_size, ...sections });
}

/** Arguments of a command line by name. */
function flagsOf(argv: readonly string[]): Inputs {
  const flags = argv.join('\0').split('\0--');
  return Object.fromEntries(
    flags.map((flag) => {
      const [name = '', ...words] = flag.replace(/^--/, '').split('\0');
      const values = words.map((value) => (/^-?\d+$/.test(value) ? Number(value) : value));
      const isList = name === 'hierarchical-context-parallel-sizes';
      return [name.replaceAll('-', '_'), isList ? values : (values[0] ?? true)];
    }),
  );
}

function ruleText({ kind, config = {}, argv = [], env = {}, world_size = 1, ...input }: RuleInput): string | null {
  switch (kind) {
    case 'config':
      return configText(config);
    case 'args': {
      const flags = flagsOf(argv);
      const isSaid = Object.keys(env).every((name) => name === 'CUDA_DEVICE_MAX_CONNECTIONS');
      // a layout may say nothing of sequences; the training script insists on their length
      return isSaid && flags.seq_length !== undefined ? commandLineText({ world_size, env, flags }) : null;
    }
    case 'microbatches': {
      const { data_parallel_size, micro_batch_size, global_batch_size, decrease_batch_size_if_needed } = input;
      const batch = { micro_batch_size, global_batch_size, decrease_batch_size_if_needed };
      return layoutText({ world_size: data_parallel_size, parallelism: {}, batch });
    }
  }
}

/** Whether Megatron-LM accepts a configuration and builds fewer or more layers than were asked for. */
function buildsOther({ input: { config }, expect: { layers } }: GoldenCase<RuleInput, LayersExpect>): boolean {
  const held = (layers ?? []).flat().flatMap(([count, first]) => Array.from({ length: count }, (_, i) => first + i));
  const wanted = Array.from({ length: Number(config?.num_layers ?? 0) }, (_, i) => i);
  return Boolean(config && layers) && held.sort((a, b) => a - b).join() !== wanted.join();
}

testLayouts<RuleInput, LayersExpect>('sizes of models, sequences and batches', 'model_rules', {
  text: ({ input }) => ruleText(input),
  verdict: (one, { text }) => {
    const verdict = verdictOf(one.error ?? one.expect.layers_error);
    // a degree of 0 has no meaning, whatever Python makes of it
    return verdict === 'accepted' && (buildsOther(one) || text.includes('ep: 0')) ? 'refused' : verdict;
  },
  // the first step of training says it where all checks of the arguments pass
  beyond: () => ['sequence-parallel-with-experts'],
});

testLayouts<
  { readonly pattern: string; readonly pp: number; readonly world_size: number; readonly flags: Inputs },
  LayersExpect
>('hybrid layer patterns', 'hybrid_pattern', {
  text: ({ input: { pattern, pp, world_size, flags } }) => {
    const model = { ...BASE, num_layers: null, position_embedding_type: 'none', hybrid_layer_pattern: pattern };
    const sections = sectionsOf({ ...model, disable_bias_linear: false, ...flags, pipeline_model_parallel_size: pp });
    return sections && layoutText({ world_size, ...sections });
  },
  verdict: ({ error, expect: { layers_cover_model } }) => (error || layers_cover_model ? verdictOf(error) : 'refused'),
});

interface Cli {
  readonly error: GoldenError | null;
  readonly layers_error?: GoldenError | null;
}

type StagesExpect = LayersExpect & { readonly cli?: Cli };

function stagesText(input: StagesInput, more: object = {}): string {
  const { pp, vpp, num_layers, mtp_num_layers } = input;
  return layoutText({
    world_size: pp,
    parallelism: {
      pp,
      vpp,
      pipeline_model_parallel_layout: input.layout,
      account_for_embedding_in_pipeline_split: input.account_for_embedding,
      account_for_loss_in_pipeline_split: input.account_for_loss,
    },
    model: {
      num_layers,
      mtp_num_layers,
      num_layers_in_first_pipeline_stage: input.first,
      num_layers_in_last_pipeline_stage: input.last,
      hidden_size: 64,
      num_attention_heads: 8,
    },
    ...more,
  });
}

/** A verdict on stages: sizes below 1 and layers that no stage holds are refused, though Megatron-LM may not see them. */
function stagesVerdict({ facts }: Checked, error: GoldenError | null | undefined, covers = true): Verdict {
  return error || (covers && facts?.read.tooSmall.length === 0) ? verdictOf(error) : 'refused';
}

/** What makes a file a job of the training script: its words are those of the command line. */
const SCRIPT = { sequence: { seq_length: 64 }, batch: { micro_batch_size: 1 } };

describe.each(['pipeline_layout', 'pipeline_split'])('%s', (file) => {
  testLayouts<StagesInput, StagesExpect>('of a configuration', file, {
    // a bare configuration takes any vpp with pp 1; the groups do not
    text: ({ input }) => (input.pp > 1 || input.vpp === null ? stagesText(input) : null),
    verdict: ({ error, expect: { layers_error, layers_cover_model } }, checked) =>
      stagesVerdict(checked, error ?? layers_error, layers_cover_model),
    accepted: ({ facts }, { expect: { layers } }) => {
      const [plan] = facts ? stagePlans(facts) : [];
      const decoders = plan?.stages()?.map((stage) => stage.layers.filter((layer) => layer.startsWith('t')).length);
      expect(decoders).toEqual(layers?.flat().map(([count]) => count));
    },
  });

  testLayouts<StagesInput, StagesExpect>('of the training script', file, {
    text: ({ input, expect: { cli } }) => (cli ? stagesText(input, SCRIPT) : null),
    verdict: ({ expect: { cli, layers_cover_model } }, checked) =>
      stagesVerdict(checked, cli?.error ?? cli?.layers_error, layers_cover_model),
  });
});
