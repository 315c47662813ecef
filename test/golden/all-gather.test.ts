import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import { layoutText, loadGolden, predictions } from './golden';

interface Input {
  readonly world_size: number;
  readonly tp: number;
  readonly pp: number;
  readonly cp: number;
  readonly ep: number;
  readonly etp: number | null;
  readonly gtp_remat: number;
  readonly expt_gtp_remat: number;
  readonly order: string;
  readonly local_world_size: number | null;
  readonly all_gather: { readonly for_expert_parallelism: boolean } | null;
}

interface Expect {
  readonly all_gather?: { readonly ok: boolean; readonly error: { readonly message: string } | null };
}

const cases = loadGolden<Input, Expect>('homogeneous').filter(
  ({ input, expect: golden }) => golden.all_gather && input.local_world_size === null,
);

function textOf(input: Input): string {
  const { world_size, tp, pp, cp, ep, etp, gtp_remat, expt_gtp_remat, order, all_gather } = input;
  const experts = ep > 1 && all_gather?.for_expert_parallelism;
  return layoutText({
    world_size,
    parallelism: { tp, gtp_remat, cp, pp, ep, expt_tp: etp, expt_gtp_remat, order },
    batch: { micro_batch_size: 1, global_batch_size: world_size },
    fsdp: { enabled: true, create_all_gather_group: true, create_expert_all_gather_group: experts ?? null },
  });
}

describe('layouts of create_all_gather_groups', () => {
  test.each(cases)('$id', ({ input, expect: golden }) => {
    const found = predictions(check(textOf(input)));
    expect(found).toEqual(golden.all_gather?.ok ? [] : [golden.all_gather?.error?.message]);
  });
});
