import { batchSchedule } from './batch/batch-schedule';
import { evalBatch } from './batch/eval-batch';
import { globalBatch } from './batch/global-batch';
import { communicatorCount } from './communicators/communicator-count';
import { sharpDpBroken } from './communicators/sharp-dp-broken';
import { sharpGroup } from './communicators/sharp-group';
import { unknownGroup } from './communicators/unknown-group';
import { cpCommType } from './context-parallel/cp-comm-type';
import { cpHeads } from './context-parallel/cp-heads';
import { dynamicCp } from './context-parallel/dynamic-cp';
import { hierarchicalCp } from './context-parallel/hierarchical-cp';
import { memoryOver } from './cost/memory-over';
import { unknownGpu } from './cost/unknown-gpu';
import { deviceConnections } from './environment/device-connections';
import { denseFactorization } from './factorization/dense-factorization';
import { denseProduct } from './factorization/dense-product';
import { expertFactorization } from './factorization/expert-factorization';
import { expertProduct } from './factorization/expert-product';
import { accelerateCombination } from './framework/accelerate-combination';
import { deepspeedBatch } from './framework/deepspeed-batch';
import { deepspeedPipeline } from './framework/deepspeed-pipeline';
import { frameworkExperts } from './framework/framework-experts';
import { frameworkHeads } from './framework/framework-heads';
import { frameworkWorld } from './framework/framework-world';
import { nanotronAccumulation } from './framework/nanotron-accumulation';
import { nanotronNodes } from './framework/nanotron-nodes';
import { torchtitanBatch } from './framework/torchtitan-batch';
import { torchtitanPipeline } from './framework/torchtitan-pipeline';
import { torchtitanSequence } from './framework/torchtitan-sequence';
import { ulyssesSize } from './framework/ulysses-size';
import { allGatherGroups } from './fsdp/all-gather-groups';
import { fsdpExpertGroup } from './fsdp/fsdp-expert-group';
import { fsdpGroupIdle } from './fsdp/fsdp-group-idle';
import { fsdpMesh } from './fsdp/fsdp-mesh';
import { fsdpNotEnabled } from './fsdp/fsdp-not-enabled';
import { fsdpOptions } from './fsdp/fsdp-options';
import { launchDrift } from './launch/launch-drift';
import { colocatedBatch } from './mimo/colocated-batch';
import { colocatedBridge } from './mimo/colocated-bridge';
import { fanOut } from './mimo/fan-out';
import { mimoCp } from './mimo/mimo-cp';
import { attentionHeads } from './model/attention-heads';
import { experts } from './model/experts';
import { ffnShards } from './model/ffn-shards';
import { fullPrecision } from './model/full-precision';
import { latentAttentionGroups } from './model/latent-attention-groups';
import { layerCounts } from './model/layer-counts';
import { linearAttentionHeads } from './model/linear-attention-heads';
import { mtpPositions } from './model/mtp-positions';
import { queryGroups } from './model/query-groups';
import { sparseAttentionBias } from './model/sparse-attention-bias';
import { unknownModel } from './model/unknown-model';
import { expertBias } from './moe/expert-bias';
import { expertCapacity } from './moe/expert-capacity';
import { expertOverlap } from './moe/expert-overlap';
import { routerGroups } from './moe/router-groups';
import { sharedExperts } from './moe/shared-experts';
import { tokenDispatcher } from './moe/token-dispatcher';
import { nameDisagrees } from './name/name-disagrees';
import { ntpBase } from './ntp/ntp-base';
import { ntpCost } from './ntp/ntp-cost';
import { ntpCpSlices } from './ntp/ntp-cp-slices';
import { ntpDpSync } from './ntp/ntp-dp-sync';
import { ntpExpertGroups } from './ntp/ntp-expert-groups';
import { ntpFailedRank } from './ntp/ntp-failed-rank';
import { ntpGrid } from './ntp/ntp-grid';
import { ntpMapIncomplete } from './ntp/ntp-map-incomplete';
import { ntpModules } from './ntp/ntp-modules';
import { ntpPipeline } from './ntp/ntp-pipeline';
import { ntpReplicaRange } from './ntp/ntp-replica-range';
import { ntpSlotCount } from './ntp/ntp-slot-count';
import { ntpSlotRange } from './ntp/ntp-slot-range';
import { ntpSpares } from './ntp/ntp-spares';
import { ntpSparesOff } from './ntp/ntp-spares-off';
import { ntpUnappliedEntry } from './ntp/ntp-unapplied-entry';
import { ntpUnevenShards } from './ntp/ntp-uneven-shards';
import { optimizerInstances } from './optimizer/optimizer-instances';
import { optimizerOffload } from './optimizer/optimizer-offload';
import { optimizerOverlap } from './optimizer/optimizer-overlap';
import { orderExpertMismatch } from './order/order-expert-mismatch';
import { orderInvalid } from './order/order-invalid';
import { phaseCrossesNvlink } from './phases/phase-crosses-nvlink';
import { phaseFactorization } from './phases/phase-factorization';
import { phaseModel } from './phases/phase-model';
import { phaseOverlap } from './phases/phase-overlap';
import { hybridPattern } from './pipeline/hybrid-pattern';
import { pipelineLayers } from './pipeline/pipeline-layers';
import { pipelineLayout } from './pipeline/pipeline-layout';
import { pipelineSplit } from './pipeline/pipeline-split';
import { virtualPipelineLayers } from './pipeline/virtual-pipeline-layers';
import { virtualPipelineWindow } from './pipeline/virtual-pipeline-window';
import { vppNeedsPp } from './pipeline/vpp-needs-pp';
import { cpCrossesNode } from './placement/cp-crosses-node';
import { epCrossesNode } from './placement/ep-crosses-node';
import { moduleSplitsNode } from './placement/module-splits-node';
import { nvlinkDomainSize } from './placement/nvlink-domain-size';
import { tpCrossesNvlink } from './placement/tp-crosses-nvlink';
import { narrowTypes } from './precision/narrow-types';
import { graphedRecomputation } from './recompute/graphed-recomputation';
import { recomputeOptions } from './recompute/recompute-options';
import { nemoRlBatch } from './rollout/nemo-rl-batch';
import { rolloutGpus } from './rollout/rollout-gpus';
import { rolloutLength } from './rollout/rollout-length';
import { slimeBatch } from './rollout/slime-batch';
import { swiftBatch } from './rollout/swift-batch';
import { verlBatch } from './rollout/verl-batch';
import { verlEngine } from './rollout/verl-engine';
import { weightSync } from './rollout/weight-sync';
import type { Rule } from './rule';
import { denseMaskUnderCp } from './sequence/dense-mask-under-cp';
import { packedPadding } from './sequence/packed-padding';
import { sequenceDivisible } from './sequence/sequence-divisible';
import { sequenceParallelNeedsTp } from './sequence/sequence-parallel-needs-tp';
import { sequenceParallelWithExperts } from './sequence/sequence-parallel-with-experts';
import { tpCommOverlapLength } from './sequence/tp-comm-overlap-length';
import { tpCommOverlapNeedsSp } from './sequence/tp-comm-overlap-needs-sp';
import { conflictingKeys } from './shape/conflicting-keys';
import { duplicateKey } from './shape/duplicate-key';
import { fileTooLarge } from './shape/file-too-large';
import { missingKey } from './shape/missing-key';
import { notAnOption } from './shape/not-an-option';
import { notPositive } from './shape/not-positive';
import { numberTooLarge } from './shape/number-too-large';
import { unknownKey } from './shape/unknown-key';
import { unsafeCharacter } from './shape/unsafe-character';
import { unsupportedVersion } from './shape/unsupported-version';
import { unusedIgnore } from './shape/unused-ignore';
import { wrongType } from './shape/wrong-type';
import { yamlSyntax } from './shape/yaml-syntax';
import { expertTpDefault } from './shards/expert-tp-default';
import { weightShards } from './shards/weight-shards';
import { megatronVersion } from './version/megatron-version';
import { languageModule } from './world/language-module';
import { mixedColocation } from './world/mixed-colocation';
import { worldClusterMismatch } from './world/world-cluster-mismatch';
import { worldGap } from './world/world-gap';
import { worldOverflow } from './world/world-overflow';
import { worldOverlap } from './world/world-overlap';

/** Every rule, in the order of their pages: shape first, then what builds on it. */
export const RULES: readonly Rule[] = [
  yamlSyntax,
  fileTooLarge,
  duplicateKey,
  unknownKey,
  missingKey,
  wrongType,
  notPositive,
  notAnOption,
  unsupportedVersion,
  conflictingKeys,
  numberTooLarge,
  unsafeCharacter,
  megatronVersion,
  frameworkWorld,
  frameworkExperts,
  accelerateCombination,
  deepspeedBatch,
  frameworkHeads,
  torchtitanSequence,
  torchtitanPipeline,
  torchtitanBatch,
  ulyssesSize,
  deepspeedPipeline,
  verlBatch,
  verlEngine,
  slimeBatch,
  nemoRlBatch,
  swiftBatch,
  nanotronNodes,
  nanotronAccumulation,
  denseFactorization,
  denseProduct,
  expertFactorization,
  expertProduct,
  weightShards,
  expertTpDefault,
  orderInvalid,
  orderExpertMismatch,
  vppNeedsPp,
  optimizerInstances,
  sharpGroup,
  sharpDpBroken,
  unknownGroup,
  hierarchicalCp,
  cpCommType,
  cpHeads,
  languageModule,
  worldOverflow,
  worldOverlap,
  mixedColocation,
  worldGap,
  worldClusterMismatch,
  colocatedBridge,
  fanOut,
  colocatedBatch,
  mimoCp,
  unknownModel,
  attentionHeads,
  queryGroups,
  linearAttentionHeads,
  experts,
  ffnShards,
  pipelineLayers,
  pipelineSplit,
  pipelineLayout,
  hybridPattern,
  phaseFactorization,
  phaseModel,
  phaseOverlap,
  phaseCrossesNvlink,
  rolloutGpus,
  rolloutLength,
  weightSync,
  ntpSparesOff,
  layerCounts,
  latentAttentionGroups,
  mtpPositions,
  sparseAttentionBias,
  routerGroups,
  expertBias,
  tokenDispatcher,
  expertOverlap,
  expertCapacity,
  sharedExperts,
  recomputeOptions,
  graphedRecomputation,
  deviceConnections,
  dynamicCp,
  evalBatch,
  batchSchedule,
  optimizerOverlap,
  optimizerOffload,
  narrowTypes,
  fsdpOptions,
  fsdpMesh,
  virtualPipelineLayers,
  sequenceDivisible,
  packedPadding,
  sequenceParallelNeedsTp,
  sequenceParallelWithExperts,
  tpCommOverlapNeedsSp,
  tpCommOverlapLength,
  denseMaskUnderCp,
  globalBatch,
  virtualPipelineWindow,
  fsdpNotEnabled,
  fsdpExpertGroup,
  fsdpGroupIdle,
  allGatherGroups,
  communicatorCount,
  nvlinkDomainSize,
  tpCrossesNvlink,
  epCrossesNode,
  cpCrossesNode,
  moduleSplitsNode,
  memoryOver,
  fullPrecision,
  unknownGpu,
  nameDisagrees,
  unusedIgnore,
  ntpModules,
  ntpPipeline,
  ntpGrid,
  ntpBase,
  ntpSpares,
  ntpReplicaRange,
  ntpUnappliedEntry,
  ntpSlotRange,
  ntpSlotCount,
  ntpCpSlices,
  ntpMapIncomplete,
  ntpDpSync,
  ntpExpertGroups,
  ntpUnevenShards,
  ntpFailedRank,
  ntpCost,
  launchDrift,
];

const byCode = new Map(RULES.map((rule) => [rule.code, rule]));

/** The rule with the given code, or undefined where there is none. */
export function ruleOf(code: string): Rule | undefined {
  return byCode.get(code);
}
