import { LANGUAGE_MODULE } from '../../format/names';
import type { LayoutFacts } from '../../topology/facts';
import { refusedPipeline } from '../../topology/stages';
import { changeFix } from '../fixes';
import { MIMO_CP } from '../mimo/mimo';
import type { Rule } from '../rule';
import { moduleOf, shardsBelowOne } from '../shards/shard-names';
import { FORMAT_SOURCE, megatron } from '../source';

export const notPositive: Rule = {
  code: 'not-positive',
  severity: 'error',
  title: 'A degree, size or count below 1',
  effect: 'the value cannot be used',
  what: 'A degree, size or count is below 1, or an offset, slot or index below 0.',
  why: 'There is no group of no ranks. Megatron-LM mostly divides by the number before it looks at it, so the error that it raises says little.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 0
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 1
`,
  sources: [FORMAT_SOURCE, megatron('megatron/core/hyper_comm_grid.py', 'HyperCommGrid.__init__')],
  *check(facts) {
    for (const { path, value, spec, span } of facts.read.tooSmall) {
      const least = spec.min === 0 ? '0 or more' : `at least ${spec.min}`;
      yield {
        message: `\`${path}\` is ${value}, but must be ${least}.`,
        span,
        predicts: prediction(facts, path, value),
        fixes: [changeFix(path.slice(path.lastIndexOf('.') + 1), span, spec.default ?? spec.min)],
      };
    }
  },
};

/** The keys that decide where layers go. */
const OF_PIPELINE = /^(parallelism|modules|model)\b.*\.(pp|vpp|\w*num_layers\w*)$/;

/** What Megatron-LM says of a number below the least, where it has a check of its own and does not merely divide by it. */
function prediction(facts: LayoutFacts, path: string, value: number): string | null {
  const { modules, mimoFlags } = facts;
  if (path.endsWith('.rank_offset')) {
    return mimoFlags && modules.length === 1
      ? '--llm-only requires --llm-offset 0 so language ranks cover WORLD_SIZE'
      : `rank_offset must be non-negative, got ${value}`;
  }
  if (mimoFlags && path === `modules.${LANGUAGE_MODULE}.cp`) {
    return MIMO_CP;
  }
  const module = moduleOf(facts, path);
  if (module && OF_PIPELINE.test(path)) {
    return refusedPipeline(facts, module);
  }
  if (path.endsWith('.num_experts') && value < 0) {
    return 'num_moe_experts must be non-negative.';
  }
  return shardsBelowOne(facts, path, value);
}
