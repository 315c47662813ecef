import { describe, expect, test } from 'vitest';
import { check, meshGroups } from '../../layout';
import { layoutText, loadGolden, predictions, ranksOf } from './golden';

interface Input {
  readonly version: number;
  readonly world_size: number;
  readonly tp: number;
  readonly pp: number;
  readonly cp: number;
  readonly ep: number;
  readonly etp: number | null;
  readonly gtp_remat: number;
  readonly num_experts: number | null;
  readonly num_distributed_optimizer_instances: number;
  readonly order: string;
  readonly data_parallel_sharding_strategy: string;
  readonly outer_dp_sharding_strategy: string;
}

interface Expect {
  readonly fsdp_group?: number[][] | null;
  readonly outer_fsdp_group?: number[][] | null;
  readonly hybrid_fsdp_group?: number[][] | null;
  readonly expt_fsdp_group?: number[][] | null;
  readonly hybrid_fsdp_expt_group?: number[][] | null;
}

const textOf = (input: Input): string =>
  layoutText({
    world_size: input.world_size,
    parallelism: {
      tp: input.tp,
      pp: input.pp,
      cp: input.cp,
      ep: input.ep,
      expt_tp: input.etp,
      gtp_remat: input.gtp_remat,
      order: input.order,
      num_distributed_optimizer_instances: input.num_distributed_optimizer_instances,
    },
    ...(input.num_experts !== null && { model: { num_experts: input.num_experts } }),
    fsdp: {
      enabled: true,
      megatron_fsdp_version: input.version,
      data_parallel_sharding_strategy: input.data_parallel_sharding_strategy,
      outer_dp_sharding_strategy: input.outer_dp_sharding_strategy,
    },
  });

describe('device meshes of Megatron-FSDP', () => {
  test.each(loadGolden<Input, Expect>('fsdp_mesh'))('$id', ({ input, ok, error, expect: golden }) => {
    const checked = check(textOf(input));
    const found = predictions(checked);
    if (!ok) {
      expect(found).not.toEqual([]);
      if (error?.origin === 'megatron') {
        expect(found).toContain(error.message);
      }
      return;
    }
    expect(found).toEqual([]);
    if (input.version === 1) {
      const groups = checked.resolved ? meshGroups(checked.resolved) : [];
      const of = (name: string) => {
        const family = groups.find((one) => one.name === name);
        return family ? ranksOf(family) : null;
      };
      expect({
        fsdp_group: of('fsdp'),
        outer_fsdp_group: of('outer_fsdp'),
        hybrid_fsdp_group: of('hybrid_fsdp'),
        expt_fsdp_group: of('expt_fsdp'),
        hybrid_fsdp_expt_group: of('hybrid_fsdp_expt'),
      }).toEqual({
        fsdp_group: golden.fsdp_group,
        outer_fsdp_group: golden.outer_fsdp_group,
        hybrid_fsdp_group: golden.hybrid_fsdp_group,
        expt_fsdp_group: golden.expt_fsdp_group,
        hybrid_fsdp_expt_group: golden.hybrid_fsdp_expt_group,
      });
    }
  });
});
