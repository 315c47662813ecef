import { DEFAULT_ORDER, type RootKeys } from '../../format/keys';
import type { Section } from '../../format/spec';
import { type Degrees, type LayoutFacts, orderOf } from '../../topology/facts';
import { meshError } from '../../topology/fsdpMesh';
import { processGroups } from '../../topology/processGroups';
import { resolveLayout } from '../../topology/resolve';
import { conditionsOn, firstBroken } from '../conditions';
import { changeFix, removeFix } from '../fixes';
import { both } from '../numbers';
import { job, megatron, type Report, type Rule } from '../rule';

/** The strategy that shards everything, which is the default. */
const ALL = 'optim_grads_params';

/** The largest world whose mesh is laid out to quote Megatron-LM's error, which names every rank. */
const MAX_QUOTED_WORLD = 512;

export const fsdpMesh: Rule = {
  code: 'fsdp-mesh',
  severity: 'error',
  title: 'A grid that Megatron-FSDP has no device mesh for',
  what: 'Megatron-FSDP is on with a pipeline, with generalized tensor parallelism, or with an order in which `tp` is not innermost or `ep` not directly above it. Version 2 takes data and expert parallelism only. Outer sharding needs `optim_grads_params`.',
  why: 'The mesh has dimensions for data, tensor and expert parallelism only, in one order, and compares its rows with the process groups.',
  failing: job(8, 'pp: 2', 'fsdp: {enabled: true}'),
  sources: [
    megatron(
      'megatron/core/distributed/fsdp/mcore_fsdp_adapter.py',
      'FullyShardedDataParallelV1._init_dist_index',
      'FullyShardedDataParallelV2._validate_config',
    ),
    megatron('megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py', 'ParamAndGradBuffer'),
  ],
  *check(facts) {
    const fsdp = facts.root.fsdp.value;
    const degrees = facts.modules[0]?.degrees;
    if (!facts.heterogeneous && fsdp?.enabled.value === true && degrees) {
      yield* fsdp.megatron_fsdp_version.value === 2
        ? secondVersion(facts, fsdp, degrees)
        : firstVersion(facts, fsdp, degrees);
    }
  },
};

type Fsdp = Section<RootKeys['fsdp']['keys']>;

function secondVersion({ text, root }: LayoutFacts, fsdp: Fsdp, { tp, pp, cp, ep }: Degrees): Report[] {
  const { data_parallel_sharding_strategy: strategy, outer_dp_sharding_strategy: outer } = fsdp;
  const others = Object.entries({ tp, pp, cp }).flatMap(([name, size]) => (size > 1 ? [`${name} ${size}`] : []));
  const condition = conditionsOn('megatron_fsdp_version', fsdp.megatron_fsdp_version);
  return firstBroken(text, [
    condition(
      others.length === 0,
      `Version 2 takes data and expert parallelism only, not ${both(others)}. Use version 1.`,
      `MFSDP v2 does not currently support: tensor_model_parallel_size=${tp}, pipeline_model_parallel_size=${pp}, context_parallel_size=${cp}`,
    ),
    condition(
      ep === 1 || !root.model.written || root.model.value?.num_experts.written === true,
      `ep is ${ep}, and the model has no MoE layers. Write num_experts, or use ep 1.`,
      'MFSDP v2 with EP requires MoE transformer layers.',
    ),
    conditionsOn('data_parallel_sharding_strategy', strategy)(
      (strategy.value ?? ALL) === ALL,
      `Version 2 shards everything. Use data_parallel_sharding_strategy ${ALL}, not ${strategy.value}.`,
      `MFSDP v2 requires data_parallel_sharding_strategy='${ALL}'.`,
      changeFix('data_parallel_sharding_strategy', strategy, ALL),
    ),
    conditionsOn('outer_dp_sharding_strategy', outer)(
      (outer.value ?? 'no_shard') === 'no_shard',
      'Version 2 has no outer sharding. Use outer_dp_sharding_strategy no_shard.',
      'MFSDP v2 does not currently support outer DP sharding.',
    ),
  ]);
}

function firstVersion(facts: LayoutFacts, fsdp: Fsdp, { pp, gtpRemat, exptGtpRemat }: Degrees): Report[] {
  const field = facts.modules[0]?.fields.pp;
  // a caller of the library may make the all-gather groups without this mesh
  const makesGroups = fsdp.create_all_gather_group.value === true;
  if (pp > 1 || ((gtpRemat > 1 || exptGtpRemat > 1) && !makesGroups)) {
    const what = pp > 1 ? `a pipeline (pp ${pp})` : 'generalized tensor parallelism';
    return [
      {
        severity: makesGroups ? 'warning' : 'error',
        message: `Megatron-FSDP has no mesh for ${what}: it fails with a shape mismatch when it is built. Use ${pp > 1 ? 'pp 1' : 'gtp_remat 1'}, or switch it off.`,
        span: (pp > 1 ? field : fsdp.enabled)?.span ?? fsdp.enabled.span,
        fixes: [pp > 1 ? changeFix('pp', field, 1) : null],
      },
    ];
  }
  const order = orderReports(facts);
  return order.length > 0 ? order : outerReports(facts, fsdp);
}

function orderReports(facts: LayoutFacts): Report[] {
  const layout = resolveLayout(facts);
  // all-gather groups that do not match have a rule of their own
  // the default order fits every grid that other rules accept
  const isOther = orderOf(facts.root) !== DEFAULT_ORDER && !layout?.allGatherGroup;
  const isJudged = isOther && layout?.fsdpMesh && layout.worldSize <= MAX_QUOTED_WORLD;
  const error = isJudged ? meshError(layout, processGroups(layout)) : null;
  const order = facts.root.parallelism.value?.order;
  return error
    ? [
        {
          message: `The mesh of Megatron-FSDP needs tp innermost and ep directly above it; the order is ${orderOf(facts.root)}. Use the default order.`,
          span: order?.span ?? facts.root.fsdp.span,
          predicts: error.checked ? error.message : null,
          fixes: [changeFix('order', order, DEFAULT_ORDER)],
        },
      ]
    : [];
}

function outerReports({ text, root }: LayoutFacts, fsdp: Fsdp): Report[] {
  const { outer_dp_sharding_strategy: outer, data_parallel_sharding_strategy: strategy } = fsdp;
  if (!outer.value || outer.value === 'no_shard') {
    return [];
  }
  const isHybrid = (root.parallelism.value?.num_distributed_optimizer_instances.value ?? 1) > 1;
  const name = 'outer_dp_sharding_strategy';
  if (!isHybrid) {
    const message = `${name} ${outer.value} is ignored with one optimizer instance. Write num_distributed_optimizer_instances.`;
    return [{ severity: 'warning', message, span: outer.span, fixes: [removeFix(text, name, outer)] }];
  }
  return firstBroken(text, [
    conditionsOn(name, outer)(
      (strategy.value ?? ALL) === ALL,
      `Outer sharding needs data_parallel_sharding_strategy ${ALL}, not ${strategy.value}.`,
      `[Megatron-FSDP] Optimizer fully-sharded HFSDP is only supported with full-sharding on DP-Shard.\nMegatron-FSDP DP-Shard Strategy: ${strategy.value}\nMegatron-FSDP DP-Outer Strategy: ${outer.value}`,
      changeFix('data_parallel_sharding_strategy', strategy, ALL),
    ),
  ]);
}
