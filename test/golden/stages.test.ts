import { describe, expect, test } from 'vitest';
import { virtualSizeOf } from '../../layout/topology/pipeline/arguments';
import { checkSpellings, coversPattern, hybridPlan, mergedPattern } from '../../layout/topology/pipeline/hybridPattern';
import { coversModel, placeLayers } from '../../layout/topology/pipeline/layerPlacement';
import { type PipelineSettings, pipelineOf } from '../../layout/topology/pipeline/settings';
import { type Attempt, attempt } from '../../layout/topology/python';
import { type GoldenError, loadGolden } from './golden';
import type { Inputs, StagesInput } from './inputs';

interface Expect {
  /** The same by the command line. */
  readonly cli?: { readonly ok: boolean; readonly error: GoldenError | null };
  readonly vpp?: number | null;
  readonly stages?: readonly (readonly (readonly string[])[])[];
  readonly layers: unknown;
  readonly layers_error?: GoldenError | null;
  readonly mtp: unknown;
  readonly layers_cover_model?: boolean;
}

const settingsOf = (input: StagesInput): PipelineSettings => ({
  numLayers: input.num_layers,
  pp: input.pp,
  vpp: input.vpp,
  first: input.first ?? null,
  last: input.last ?? null,
  accountForEmbedding: input.account_for_embedding ?? false,
  accountForLoss: input.account_for_loss ?? false,
  mtp: input.mtp_num_layers,
  layout: input.layout ?? null,
});

/** Holds a result against an error, and gives its value where there is none. */
function expectResult<T>(result: Attempt<T>, error: GoldenError | null | undefined): T | null {
  expect(result.ok).toBe(!error);
  if (result.ok) {
    return result.value;
  }
  expect(result.error.type).toBe(error?.type);
  if (error?.origin === 'megatron') {
    expect(result.error.message).toBe(error.message);
  }
  return null;
}

describe.each(['pipeline_layout', 'pipeline_split'])('%s', (file) => {
  const cases = loadGolden<StagesInput, Expect>(file);

  test.each(cases)('$id', ({ input, error, expect: golden }) => {
    const pipeline = expectResult(
      attempt(() => pipelineOf(settingsOf(input))),
      error,
    );
    if (!pipeline) {
      return;
    }
    if (golden.stages) {
      const { layout, vpp } = pipeline;
      expect({ vpp, stages: layout?.stages }).toEqual({ vpp: golden.vpp, stages: golden.stages });
    }
    const placed = expectResult(
      attempt(() => placeLayers(pipeline)),
      golden.layers_error,
    );
    if (placed) {
      expect(placed).toEqual({ layers: golden.layers, mtp: golden.mtp });
      expect(coversModel(placed, input.num_layers)).toBe(golden.layers_cover_model);
    }
  });

  test.each(cases.filter((one) => one.expect.cli))('$id: by the command line', ({ input, expect: { cli } }) => {
    const settings = settingsOf(input);
    const byScript = () => pipelineOf({ ...settings, vpp: virtualSizeOf({ ...settings, perVirtualStage: null }) });
    expectResult(attempt(byScript), cli?.error);
  });
});

interface PatternInput {
  readonly pattern: string;
  readonly pp: number;
  readonly flags: Inputs;
}

interface PatternExpect {
  readonly num_layers: number;
  readonly virtual_pipeline_model_parallel_size: number | null;
  readonly mtp_num_layers: number | null;
  readonly mtp_pattern: string | null;
  readonly layers: unknown;
  readonly layers_cover_model: boolean;
}

const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
const word = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** The layers of a pattern; throws where Megatron-LM refuses it. */
function planOf({ pattern, pp, flags }: PatternInput) {
  const spellings = {
    pattern,
    former: word(flags.hybrid_override_pattern),
    depth: word(flags.mtp_hybrid_override_pattern),
    depths: number(flags.mtp_num_layers),
  };
  checkSpellings(spellings);
  return hybridPlan(
    mergedPattern(spellings) ?? '',
    {
      pp,
      vpp: number(flags.num_virtual_stages_per_pipeline_rank),
      first: number(flags.decoder_first_pipeline_num_layers),
      last: number(flags.decoder_last_pipeline_num_layers),
      accountForEmbedding: flags.account_for_embedding_in_pipeline_split === true,
      accountForLoss: flags.account_for_loss_in_pipeline_split === true,
      mtp: number(flags.mtp_num_layers),
      layout: word(flags.pipeline_model_parallel_layout),
    },
    number(flags.num_layers_per_virtual_pipeline_stage),
  );
}

describe('hybrid_layer_pattern', () => {
  // what the plan of the layers alone decides
  const cases = loadGolden<PatternInput, PatternExpect>('hybrid_pattern').filter(
    ({ error }) => !/^Multi-Token|^DSA uses|has no attribute/.test(error?.message ?? ''),
  );

  test.each(cases)('$id', ({ input, ok, error, expect: golden }) => {
    const result = attempt(() => planOf(input));
    if (!result.ok) {
      expect(result.error.message).toBe(error?.message);
    } else if (ok) {
      const { numLayers, vpp, mtp, pattern, stages } = result.value;
      expect({ numLayers, vpp, mtp, parts: pattern.mtp, stages }).toEqual({
        numLayers: golden.num_layers,
        vpp: golden.virtual_pipeline_model_parallel_size,
        mtp: golden.mtp_num_layers,
        parts: golden.mtp_pattern ?? '',
        stages: golden.layers,
      });
      expect(coversPattern(result.value)).toBe(golden.layers_cover_model);
    } else {
      // a model without layers dies of a division by zero
      expect(error?.origin).toBe('python');
      expect(result.value.numLayers).toBe(0);
    }
  });
});
