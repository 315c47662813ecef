import { describe, expect, test } from 'vitest';
import { virtualSizeOf } from '../../layout/topology/pipeline/arguments';
import { coversModel, placeLayers } from '../../layout/topology/pipeline/placement';
import { type PipelineSettings, pipelineOf } from '../../layout/topology/pipeline/settings';
import { attempt } from '../../layout/topology/python';
import { type GoldenCase, type GoldenError, loadGolden } from './golden';

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

/** What a layout cannot say: no layers, or no pipeline. */
const hasSizes = ({ input }: { readonly input: { readonly num_layers: number; readonly pp: number } }) =>
  input.num_layers > 0 && input.pp > 0;

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
  const cases = loadGolden<LayoutInput, LayoutExpect>('pipeline_layout').filter(hasSizes);

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
  const cases = loadGolden<SplitInput, SplitExpect>('pipeline_split').filter(hasSizes);

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

  test.each(cases)('$id: by the command line', ({ input, expect: golden }) => {
    const result = byCommandLine(settingsOf(input));
    expect(result.ok).toBe(golden.cli?.ok);
    if (!result.ok) {
      expectRaised(result.error, golden.cli?.error ?? null);
    }
  });
});
