import type { KeyPath } from '../../format/keys';
import { LANGUAGE_MODULE } from '../../format/names';
import { smallPrediction } from '../../frameworks';
import { type LayoutFacts, valueOr } from '../../topology/facts';
import { refusedPipeline } from '../../topology/stages';
import { batchReplicas, calculatorRefusal } from '../batch/replicas';
import { changeFix } from '../fixes';
import { MIMO_CP } from '../mimo/mimo';
import { mtpRefusal } from '../model/mtp-positions';
import { FORMAT_SOURCE, job, megatron, type Rule } from '../rule';
import { moduleOf, shardsBelowOne } from '../shards/shard-names';
import { degreesBelowOne } from './below-one';

export const notPositive: Rule = {
  code: 'not-positive',
  severity: 'error',
  title: 'A degree, size or count below 1',
  effect: 'the value cannot be used',
  what: 'A degree, size or count is below 1, or an offset, slot or index below 0.',
  why: 'There is no group of no ranks. Megatron-LM mostly divides by the number before it looks at it, so the error that it raises says little.',
  failing: job(8, 'tp: 0'),
  sources: [FORMAT_SOURCE, megatron('megatron/core/hyper_comm_grid.py', 'HyperCommGrid.__init__')],
  *check(facts) {
    for (const { path, value, spec, span } of facts.read.tooSmall) {
      const least = spec.min === 0 ? '0 or more' : `at least ${spec.min}`;
      yield {
        message: `${path} is ${value}, but must be ${least}.`,
        span,
        predicts: prediction(facts, path, value),
        fixes: [changeFix(path.slice(path.lastIndexOf('.') + 1), { written: true, span }, spec.default ?? spec.min)],
      };
    }
  },
};

const GLOBAL_BATCH: KeyPath = 'batch.global_batch_size';

/** The keys that decide where layers go. */
const OF_PIPELINE = /^(parallelism|modules|model)\b.*\.(pp|vpp|\w*num_layers\w*)$/;

/** What Megatron-LM says of a number below the least, where it has a check of its own and does not merely divide by it. */
function prediction(facts: LayoutFacts, path: string, value: number): string | null {
  const { modules, mimoFlags, framework } = facts;
  if (framework?.world) {
    const small = new Map(facts.read.tooSmall.map((one) => [one.path, one.value]));
    const isDegree = path === 'parallelism.ep' || framework.world.degrees.some(({ key }) => key === path);
    return isDegree ? smallPrediction(framework.world, facts.root, facts.world.size, small) : null;
  }
  if (path.endsWith('.rank_offset') && mimoFlags) {
    return modules.length === 1
      ? '--llm-only requires --llm-offset 0 so language ranks cover WORLD_SIZE'
      : `rank_offset must be non-negative, got ${value}`;
  }
  if (mimoFlags && path === `modules.${LANGUAGE_MODULE}.cp`) {
    return MIMO_CP;
  }
  const module = moduleOf(facts, path);
  if (module && OF_PIPELINE.test(path)) {
    // to the check of positions any number but 0 is a number of MTP layers
    const type = path.endsWith('.mtp_num_layers') ? module.model.value?.position_embedding_type.value : undefined;
    const refusal = mtpRefusal(type) ?? refusedPipeline(facts, module);
    return refusal ?? (isPlacement(path) ? degreesBelowOne(facts) : null);
  }
  if (facts.trainingScript && /^batch\.(micro|global)_batch_size$/.test(path)) {
    // an assert without a message
    return '';
  }
  if (path.startsWith('parallelism.hierarchical_context_parallel_sizes')) {
    return levelsPrediction(facts);
  }
  if (path === GLOBAL_BATCH) {
    const replicas = batchReplicas(facts);
    return replicas && calculatorRefusal(replicas, value);
  }
  if (path.endsWith('.num_experts') && value < 0) {
    return 'num_moe_experts must be non-negative.';
  }
  return shardsBelowOne(facts, path, value) ?? (isPlacement(path) ? degreesBelowOne(facts) : null);
}

/** An assert without a message where the levels do not multiply to `cp`, whatever their signs. */
function levelsPrediction({ root, read }: LayoutFacts): string | null {
  const parallelism = root.parallelism.value;
  const levels = parallelism?.hierarchical_context_parallel_sizes.value ?? [];
  const small = new Map(read.tooSmall.map(({ span, value }) => [span.start, value]));
  const product = levels.reduce((n, { value, span }) => n * (value ?? small.get(span.start) ?? Number.NaN), 1);
  const cp = parallelism && valueOr(parallelism.cp, 1);
  return cp === undefined || Number.isNaN(product) || product === cp ? null : '';
}

/** Whether a key says how ranks are placed. */
function isPlacement(path: string): boolean {
  return (
    path === 'world_size' ||
    /^(parallelism|modules\..*)\.(num_ranks|rank_offset|tp|cp|pp|ep|gtp_remat|expt_tp|expt_gtp_remat)$/s.test(path)
  );
}
