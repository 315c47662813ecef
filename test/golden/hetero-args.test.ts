import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import { loadGolden, type MimoFlags, mimoFlagsText, predictions } from './golden';

interface Expect {
  readonly specs_error: { readonly message: string; readonly origin: string } | null;
}

/** Flags about overlapping communication are no part of a layout. */
const cases = loadGolden<MimoFlags, Expect>('hetero_args').filter(({ input }) => !input.args.encoder_ddp_overlap);

describe('layouts of the flags of examples/mimo', () => {
  test.each(cases)('$id', ({ id, input, ok, error, expect: golden }) => {
    const found = predictions(check(mimoFlagsText(input)));
    const refusal = error ?? golden.specs_error;
    if (ok && !golden.specs_error) {
      expect(found).toEqual([]);
    } else {
      expect(found).not.toEqual([]);
      if (refusal?.origin === 'megatron' && !id.includes('odd')) {
        expect(found).toContain(refusal.message);
      }
    }
  });
});
