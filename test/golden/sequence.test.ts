import { describe, expect, test } from 'vitest';
import { contextRanges, sequenceShares } from '../../layout';
import { layoutText, loadGolden, testLayouts } from './golden';

interface Input {
  readonly kind: 'shard' | 'cp_batch';
  readonly S: number;
  readonly cp: number;
  readonly tp: number;
  readonly sequence_parallel?: boolean;
  readonly tp_comm_overlap?: boolean;
  readonly max_seq_len?: number;
  readonly embeddings?: boolean;
}

interface Expect {
  readonly ranks: readonly {
    readonly cp_rank: number;
    readonly tp_rank?: number;
    readonly embeddings?: readonly (readonly number[])[] | null;
    readonly labels?: readonly (readonly number[])[];
    readonly tokens?: readonly (readonly number[])[];
  }[];
}

const cases = loadGolden<Input, Expect>('sequence');

function textOf({ S, cp, tp, sequence_parallel, tp_comm_overlap, max_seq_len }: Input): string {
  const sequence = { seq_length: S, sequence_parallel, tp_comm_overlap, max_seq_len };
  return layoutText({ world_size: cp * tp, parallelism: { tp, cp }, sequence });
}

describe('who holds which tokens', () => {
  const accepted = cases.filter(({ ok }) => ok);

  test.each(accepted.filter(({ input }) => input.kind === 'shard'))('$id', ({ input, expect: golden }) => {
    const plan = { length: input.S, cp: input.cp, tp: input.tp, sequenceParallel: input.sequence_parallel ?? false };
    const shares = [...sequenceShares(plan)];
    expect(shares.map(({ labels }) => labels)).toEqual(golden.ranks.map(({ labels }) => labels));
    if (input.embeddings) {
      expect(shares.map(({ embeddings }) => embeddings)).toEqual(golden.ranks.map(({ embeddings }) => embeddings));
    }
  });

  test.each(accepted.filter(({ input }) => input.kind === 'cp_batch'))('$id', ({ input, expect: golden }) => {
    const plan = { length: input.S, cp: input.cp, tp: 1, sequenceParallel: false };
    for (const { cp_rank, tokens } of golden.ranks) {
      expect(contextRanges(plan, cp_rank)).toEqual(tokens);
    }
  });
});

testLayouts<Input, Expect>('which sequences are refused', 'sequence', {
  // a layout describes a stage that has embeddings, and a sequence of at least one token
  text: ({ input }) => (input.embeddings !== false && input.S > 0 ? textOf(input) : null),
});
