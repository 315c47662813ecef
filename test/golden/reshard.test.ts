import { describe, expect, test } from 'vitest';
import { check, checkpointVerdicts } from '../../layout';
import { layoutText, loadGolden } from './golden';

interface Input {
  readonly before: { readonly checkpoint?: object };
  readonly after: { readonly checkpoint?: object };
  /** How the optimizer's states were cut; `none` for an optimizer that is not distributed, the format where it has one way. */
  readonly sharding: 'dp_reshardable' | 'fully_reshardable' | 'none' | 'fsdp_dtensor';
}

interface Outcome {
  /** Whether it loaded with equal values. */
  readonly loads: boolean;
  readonly error: string | null;
}

interface Expect {
  /** Null where the run did not look. */
  readonly model: Outcome | null;
  /** Null where it was left out: `--no-load-optim`. */
  readonly optimizer: Outcome | null;
}

interface PathInput {
  /** A job saves under each and goes on under the next. */
  readonly layouts: readonly object[];
  readonly sharding: Input['sharding'];
  readonly precision: 'fp32' | 'bf16';
  /** Whether the weights alone were loaded. */
  readonly no_load_optim: boolean;
}

interface PathExpect {
  /** The loss of every step under each of the layouts. */
  readonly losses: readonly (readonly number[])[];
  /** The loss of every step of the same job without a stop. */
  readonly unbroken: readonly number[];
}

function factsOf(layout: { readonly checkpoint?: object }, sharding: Input['sharding']) {
  const saved = sharding.endsWith('reshardable') ? { optimizer_sharding: sharding } : {};
  const { facts, diagnostics } = check(layoutText({ ...layout, checkpoint: { ...layout.checkpoint, ...saved } }));
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return facts;
}

describe('checkpoints that Megatron-LM saved under one layout and loaded under another', () => {
  test.each(loadGolden<Input, Expect>('reshard'))('$id', ({ input, expect: truth }) => {
    const [before, after] = [factsOf(input.before, input.sharding), factsOf(input.after, input.sharding)];
    const format = input.sharding === 'fsdp_dtensor' ? input.sharding : 'torch_dist';
    const [verdict] = before && after ? checkpointVerdicts(before, after, format) : [];
    const told = (part: string) => verdict?.parts.find((one) => one.part === part);
    const loads = (part: string) => told(part)?.outcome === 'loads';
    if (truth.optimizer === null) {
      const ways = ['model', 'optimizer'].flatMap((part) => told(part)?.ways ?? []);
      expect(truth.model?.loads || !ways.some(({ command }) => command === '--no-load-optim')).toBe(true);
      return;
    }
    expect({ optimizer: loads('optimizer'), model: truth.model ? loads('model') : null }).toEqual({
      optimizer: truth.optimizer.loads,
      model: truth.model?.loads ?? null,
    });
  });
});

/** How far a loss may be off where all was loaded: by rounding alone, which grows step by step in half precision. */
const ROUNDING = { fp32: 1e-6, bf16: 2e-2 };

describe('jobs that went on under another layout', () => {
  test.each(loadGolden<PathInput, PathExpect>('resume'))('$id', ({ input, expect: { losses, unbroken } }) => {
    const { layouts, sharding, precision, no_load_optim: isLeft } = input;
    const facts = layouts.map((layout) => factsOf(layout, sharding));
    const kept = facts.slice(1).flatMap((after, i) => {
      const before = facts[i];
      const [verdict] = before && after ? checkpointVerdicts(before, after, 'torch_dist') : [];
      return verdict?.parts.slice(0, 2).map(({ outcome }) => outcome) ?? [];
    });
    expect(kept).toEqual(isLeft ? ['loads', 'after', 'loads', 'after'] : ['loads', 'loads', 'loads', 'loads']);
    const off = losses.flat().map((loss, step) => Math.abs(loss / (unbroken[step] ?? 0) - 1));
    expect(off).toHaveLength(unbroken.length);
    if (isLeft) {
      expect(Math.max(...off)).toBeGreaterThan(ROUNDING.bf16);
    } else {
      expect(Math.max(...off)).toBeLessThan(ROUNDING[precision]);
    }
  });
});
