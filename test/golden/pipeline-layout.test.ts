import { describe, expect, test } from 'vitest';
import { check, stagePlans } from '../../layout';
import { virtualSizeOf } from '../../layout/topology/pipeline/arguments';
import { coversModel, placeLayers } from '../../layout/topology/pipeline/placement';
import { type PipelineSettings, pipelineOf } from '../../layout/topology/pipeline/settings';
import { attempt } from '../../layout/topology/python';
import { type GoldenCase, type GoldenError, layoutText, loadGolden, predictions } from './golden';

interface Cli {
  readonly ok: boolean;
  readonly stage: string | null;
  readonly error: GoldenError | null;
}

interface LayoutExpect {
  readonly cli?: Cli;
  readonly vpp: number | null;
  readonly mtp_standalone: boolean;
  readonly stages: readonly (readonly (readonly string[])[])[];
  readonly layers: unknown;
  readonly mtp: unknown;
  readonly layers_cover_model: boolean;
}

interface LayoutInput {
  readonly layout: string | readonly unknown[];
  readonly num_layers: number;
  readonly pp: number;
  readonly vpp: number | null;
  readonly mtp_num_layers: number | null;
}

interface SplitInput {
  readonly num_layers: number;
  readonly pp: number;
  readonly vpp: number | null;
  readonly first: number | null;
  readonly last: number | null;
  readonly account_for_embedding: boolean;
  readonly account_for_loss: boolean;
  readonly mtp_num_layers: number | null;
}

interface SplitExpect {
  readonly cli?: Cli & { readonly layers_error?: GoldenError | null };
  readonly layers: unknown;
  readonly layers_error: GoldenError | null;
  readonly mtp: unknown;
  readonly layers_cover_model?: boolean;
}

const plain: PipelineSettings = {
  numLayers: 1,
  pp: 1,
  vpp: null,
  first: null,
  last: null,
  accountForEmbedding: false,
  accountForLoss: false,
  mtp: null,
  layout: null,
};

function expectRaised(raised: { readonly type: string; readonly message: string }, error: GoldenError | null): void {
  expect(raised.type).toBe(error?.type);
  if (error?.origin === 'megatron') {
    expect(raised.message).toBe(error.message);
  }
}

/** What the command line says of the settings, stage by stage. */
function byCommandLine(settings: PipelineSettings) {
  return attempt(() => {
    const vpp = virtualSizeOf({ ...settings, perVirtualStage: null });
    return pipelineOf({ ...settings, vpp });
  });
}

describe('PipelineParallelLayerLayout', () => {
  const cases = loadGolden<LayoutInput, LayoutExpect>('pipeline_layout');

  const settingsOf = ({ layout, num_layers, pp, vpp, mtp_num_layers }: LayoutInput): PipelineSettings => ({
    ...plain,
    numLayers: num_layers,
    pp,
    vpp,
    mtp: mtp_num_layers,
    layout,
  });

  test.each(cases)('$id', ({ input, ok, error, expect: golden }: GoldenCase<LayoutInput, LayoutExpect>) => {
    const result = attempt(() => pipelineOf(settingsOf(input)));
    expect(result.ok).toBe(ok);
    if (!result.ok) {
      expectRaised(result.error, error);
      return;
    }
    const { layout, vpp } = result.value;
    const placed = attempt(() => placeLayers(result.value));
    expect({ vpp, mtp_standalone: layout?.mtpStandalone, stages: layout?.stages }).toEqual({
      vpp: golden.vpp,
      mtp_standalone: golden.mtp_standalone,
      stages: golden.stages,
    });
    expect(placed).toEqual({ ok: true, value: { layers: golden.layers, mtp: golden.mtp } });
    expect(placed.ok && coversModel(placed.value, input.num_layers)).toBe(golden.layers_cover_model);
  });

  test.each(cases.filter((one) => one.expect.cli))('$id: by the command line', ({ input, expect: golden }) => {
    const result = byCommandLine(settingsOf(input));
    expect(result.ok).toBe(golden.cli?.ok);
    if (!result.ok) {
      expectRaised(result.error, golden.cli?.error ?? null);
    }
  });
});

describe('even, uneven and accounted splits', () => {
  const cases = loadGolden<SplitInput, SplitExpect>('pipeline_split');

  const settingsOf = (input: SplitInput): PipelineSettings => ({
    ...plain,
    numLayers: input.num_layers,
    pp: input.pp,
    vpp: input.vpp,
    first: input.first,
    last: input.last,
    accountForEmbedding: input.account_for_embedding,
    accountForLoss: input.account_for_loss,
    mtp: input.mtp_num_layers,
  });

  test.each(cases)('$id', ({ input, ok, error, expect: golden }) => {
    const result = attempt(() => pipelineOf(settingsOf(input)));
    expect(result.ok).toBe(ok);
    if (!result.ok) {
      expectRaised(result.error, error);
      return;
    }
    const placed = attempt(() => placeLayers(result.value));
    if (golden.layers_error) {
      expect(placed.ok).toBe(false);
      expectRaised(placed.ok ? { type: '', message: '' } : placed.error, golden.layers_error);
    } else {
      expect(placed).toEqual({ ok: true, value: { layers: golden.layers, mtp: golden.mtp } });
      expect(placed.ok && coversModel(placed.value, input.num_layers)).toBe(golden.layers_cover_model);
    }
  });

  test.each(cases.filter((one) => one.expect.cli))('$id: by the command line', ({ input, expect: golden }) => {
    const result = byCommandLine(settingsOf(input));
    expect(result.ok).toBe(golden.cli?.ok);
    if (!result.ok) {
      expectRaised(result.error, golden.cli?.error ?? null);
    }
  });
});

/** What makes a file a job of the training script: its words are those of the command line. */
const SCRIPT = { sequence: { seq_length: 64 }, batch: { micro_batch_size: 1 } };

/** Checks a layout file against a verdict of Megatron-LM; what a file cannot say (a size of 0) is refused by its shape. */
function expectVerdict(text: string, ok: boolean, error: GoldenError | null): void {
  const checked = check(text);
  const found = predictions(checked);
  if (ok && checked.facts?.read.tooSmall.length === 0) {
    expect(found, text).toEqual([]);
  } else {
    expect(found, text).not.toEqual([]);
    if (error?.origin === 'megatron') {
      expect(found, text).toContain(error.message);
    }
  }
}

describe('as layout files', () => {
  const layouts = loadGolden<LayoutInput, LayoutExpect>('pipeline_layout');
  const splits = loadGolden<SplitInput, SplitExpect>('pipeline_split');

  const layoutFile = ({ layout, num_layers, pp, vpp, mtp_num_layers }: LayoutInput, more = {}) =>
    layoutText({
      world_size: pp,
      parallelism: { pp, vpp, pipeline_model_parallel_layout: layout },
      model: { num_layers, mtp_num_layers, hidden_size: 64, num_attention_heads: 8 },
      ...more,
    });

  const splitFile = (input: SplitInput, more = {}) =>
    layoutText({
      world_size: input.pp,
      parallelism: {
        pp: input.pp,
        vpp: input.vpp,
        account_for_embedding_in_pipeline_split: input.account_for_embedding,
        account_for_loss_in_pipeline_split: input.account_for_loss,
      },
      model: {
        num_layers: input.num_layers,
        num_layers_in_first_pipeline_stage: input.first,
        num_layers_in_last_pipeline_stage: input.last,
        mtp_num_layers: input.mtp_num_layers,
        hidden_size: 64,
        num_attention_heads: 8,
      },
      ...more,
    });

  // a bare configuration takes any vpp with pp 1; the groups do not
  const hasPipeline = ({ input }: { readonly input: { readonly pp: number; readonly vpp: number | null } }) =>
    input.pp > 1 || input.vpp === null;

  test.each(layouts.filter(hasPipeline))('$id', ({ input, ok, error, expect: golden }) => {
    expectVerdict(layoutFile(input), ok && golden.layers_cover_model, error);
    if (ok && golden.layers_cover_model) {
      const { facts } = check(layoutFile(input));
      const [plan] = facts ? stagePlans(facts) : [];
      const decoders = plan?.stages()?.map(({ layers }) => layers.filter((layer) => layer.startsWith('t')).length);
      expect(decoders).toEqual((golden.layers as number[][][]).flat().map(([count]) => count));
    }
  });

  test.each(layouts.filter((one) => one.expect.cli))('$id: of the training script', ({ input, expect: golden }) => {
    const { ok = false, error = null } = golden.cli ?? {};
    expectVerdict(layoutFile(input, SCRIPT), ok && golden.layers_cover_model !== false, error);
  });

  test.each(splits.filter(hasPipeline))('$id', ({ input, ok, error, expect: golden }) => {
    const isBuilt = ok && !golden.layers_error && golden.layers_cover_model !== false;
    expectVerdict(splitFile(input), isBuilt, error ?? golden.layers_error ?? null);
  });

  test.each(splits)('$id: of the training script', ({ input, expect: golden }) => {
    const cli = golden.cli;
    const isBuilt = (cli?.ok ?? false) && !cli?.layers_error && golden.layers_cover_model !== false;
    expectVerdict(splitFile(input, SCRIPT), isBuilt, cli?.error ?? cli?.layers_error ?? null);
  });
});
