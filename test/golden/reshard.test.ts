import { describe, expect, test } from 'vitest';
import { check, checkpointVerdicts } from '../../layout';
import { layoutText, loadGolden } from './golden';

interface Input {
  readonly before: object;
  readonly after: object;
  /** How the optimizer's states were cut; `none` for an optimizer that is not distributed. */
  readonly sharding: 'dp_reshardable' | 'fully_reshardable' | 'none';
}

interface Outcome {
  /** Whether it loaded with equal values. */
  readonly loads: boolean;
  readonly error: string | null;
}

interface Expect {
  /** Null where the run did not look. */
  readonly model: Outcome | null;
  readonly optimizer: Outcome;
}

function factsOf(layout: object, sharding: Input['sharding']) {
  const saved = sharding === 'none' ? {} : { checkpoint: { optimizer_sharding: sharding } };
  const { facts, diagnostics } = check(layoutText({ ...layout, ...saved }));
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return facts;
}

describe('checkpoints that Megatron-LM saved under one layout and loaded under another', () => {
  test.each(loadGolden<Input, Expect>('reshard'))('$id', ({ input, expect: truth }) => {
    const [before, after] = [factsOf(input.before, input.sharding), factsOf(input.after, input.sharding)];
    const [verdict] = before && after ? checkpointVerdicts(before, after, 'torch_dist') : [];
    const loads = (part: string) => verdict?.parts.find((one) => one.part === part)?.outcome === 'loads';
    expect({ optimizer: loads('optimizer'), model: truth.model ? loads('model') : null }).toEqual({
      optimizer: truth.optimizer.loads,
      model: truth.model?.loads ?? null,
    });
  });
});
