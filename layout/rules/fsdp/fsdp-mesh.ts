import { type LayoutFacts, orderOf } from '../../topology/facts';
import { meshError } from '../../topology/fsdp-mesh';
import { processGroups } from '../../topology/process-groups';
import { resolveLayout } from '../../topology/resolve';
import { changeFix } from '../fixes';
import type { Report, Rule } from '../rule';
import { megatron } from '../source';

/** The largest world whose mesh is laid out to quote Megatron-LM's error, which names every rank. */
const MAX_QUOTED_WORLD = 512;

export const fsdpMesh: Rule = {
  code: 'fsdp-mesh',
  severity: 'error',
  title: 'A grid that Megatron-FSDP has no device mesh for',
  effect: 'Megatron-LM stops on every rank',
  what: 'Megatron-FSDP is on with a pipeline, with generalized tensor parallelism, or with an order in which `tp` is not innermost or `ep` not directly above it. Version 2 takes data and expert parallelism only. Outer sharding needs `optim_grads_params`.',
  why: 'The mesh has dimensions for data, tensor and expert parallelism only, in one order, and compares its rows with the process groups.',
  failing: `layout: 1
world_size: 8
parallelism: {pp: 2}
fsdp: {enabled: true}
`,
  sources: [
    megatron(
      'megatron/core/distributed/fsdp/mcore_fsdp_adapter.py',
      'FullyShardedDataParallelV1._init_dist_index',
      'FullyShardedDataParallelV2._validate_config',
    ),
    megatron('megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py', 'ParamAndGradBuffer'),
  ],
  *check(facts) {
    if (facts.heterogeneous || facts.root.fsdp.value?.enabled.value !== true) {
      return;
    }
    const report = facts.root.fsdp.value.megatron_fsdp_version.value === 2 ? secondVersion(facts) : firstVersion(facts);
    if (report) {
      yield report;
    }
  },
};

function secondVersion({ root, modules }: LayoutFacts): Report | null {
  const fsdp = root.fsdp.value;
  const degrees = modules[0]?.degrees;
  if (!fsdp || !degrees) {
    return null;
  }
  const { tp, pp, cp, ep } = degrees;
  const strategy = fsdp.data_parallel_sharding_strategy.value ?? 'optim_grads_params';
  const outer = fsdp.outer_dp_sharding_strategy.value ?? 'no_shard';
  const span = fsdp.megatron_fsdp_version.span;
  if (tp !== 1 || pp !== 1 || cp !== 1) {
    return {
      message: `Version 2 takes data and expert parallelism only; tp is ${tp}, pp ${pp}, cp ${cp}. Use version 1.`,
      span,
      predicts: `MFSDP v2 does not currently support: tensor_model_parallel_size=${tp}, pipeline_model_parallel_size=${pp}, context_parallel_size=${cp}`,
    };
  }
  if (ep > 1 && root.model.written && !root.model.value?.num_experts.written) {
    return {
      message: `ep is ${ep}, and the model has no MoE layers. Write num_experts, or use ep 1.`,
      span,
      predicts: 'MFSDP v2 with EP requires MoE transformer layers.',
    };
  }
  if (strategy !== 'optim_grads_params') {
    return {
      message: `Version 2 shards everything. Use data_parallel_sharding_strategy optim_grads_params, not ${strategy}.`,
      span: fsdp.data_parallel_sharding_strategy.span,
      predicts: "MFSDP v2 requires data_parallel_sharding_strategy='optim_grads_params'.",
    };
  }
  return outer === 'no_shard'
    ? null
    : {
        message: 'Version 2 has no outer sharding. Use outer_dp_sharding_strategy no_shard.',
        span: fsdp.outer_dp_sharding_strategy.span,
        predicts: 'MFSDP v2 does not currently support outer DP sharding.',
      };
}

function firstVersion(facts: LayoutFacts): Report | null {
  const { root, modules } = facts;
  const fsdp = root.fsdp.value;
  const degrees = modules[0]?.degrees;
  if (!fsdp || !degrees) {
    return null;
  }
  const { pp, gtpRemat, exptGtpRemat } = degrees;
  const hasGtp = (gtpRemat > 1 || exptGtpRemat > 1) && fsdp.create_all_gather_group.value !== true;
  if (pp > 1 || hasGtp) {
    // a caller of the library may make the all-gather groups without this mesh
    const severity = fsdp.create_all_gather_group.value === true ? 'warning' : 'error';
    const what = pp > 1 ? `a pipeline (pp ${pp})` : 'generalized tensor parallelism';
    return {
      severity,
      message: `Megatron-FSDP has no mesh for ${what}: it fails with a shape mismatch when it is built. Use ${pp > 1 ? 'pp 1' : 'gtp_remat 1'}, or switch it off.`,
      span: pp > 1 ? (modules[0]?.fields.pp.span ?? fsdp.enabled.span) : fsdp.enabled.span,
      fixes: [pp > 1 ? changeFix('pp', modules[0]?.fields.pp, 1) : null],
    };
  }
  return orderReport(facts) ?? outerReport(facts);
}

function orderReport(facts: LayoutFacts): Report | null {
  const layout = resolveLayout(facts);
  // all-gather groups that do not match have a rule of their own
  if (!layout?.fsdpMesh || layout.allGatherGroup) {
    return null;
  }
  const isQuoted = layout.worldSize <= MAX_QUOTED_WORLD;
  const error = isQuoted ? meshError(layout, processGroups(layout)) : null;
  return error
    ? {
        message: `The mesh of Megatron-FSDP needs tp innermost and ep directly above it; the order is ${orderOf(facts.root)}. Use the default order.`,
        span: facts.root.parallelism.value?.order.span ?? facts.root.fsdp.span,
        predicts: error.checked ? error.message : null,
      }
    : null;
}

function outerReport({ root }: LayoutFacts): Report | null {
  const fsdp = root.fsdp.value;
  const outer = fsdp?.outer_dp_sharding_strategy;
  const strategy = fsdp?.data_parallel_sharding_strategy.value ?? 'optim_grads_params';
  const isHybrid = (root.parallelism.value?.num_distributed_optimizer_instances.value ?? 1) > 1;
  if (!outer?.value || outer.value === 'no_shard') {
    return null;
  }
  if (!isHybrid) {
    return {
      severity: 'warning',
      message: `outer_dp_sharding_strategy ${outer.value} is ignored with one optimizer instance. Write num_distributed_optimizer_instances.`,
      span: outer.span,
    };
  }
  return strategy === 'optim_grads_params'
    ? null
    : {
        message: `Outer sharding needs data_parallel_sharding_strategy optim_grads_params, not ${strategy}.`,
        span: outer.span,
        predicts: `[Megatron-FSDP] Optimizer fully-sharded HFSDP is only supported with full-sharding on DP-Shard.\nMegatron-FSDP DP-Shard Strategy: ${strategy}\nMegatron-FSDP DP-Outer Strategy: ${outer.value}`,
      };
}
