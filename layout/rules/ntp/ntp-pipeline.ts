import { changeFix } from '../fixes';
import type { Rule } from '../rule';
import { example, LAST_SLOT, NTP_SOURCES } from './example';
import { ntpPrediction } from './prediction';
import { contextAt } from './steps';

export const ntpPipeline: Rule = {
  code: 'ntp-pipeline',
  severity: 'error',
  title: 'Nonuniform TP with a pipeline',
  effect: 'ranks wait for others that have left',
  what: '`tp_spares` is above 0 and `pp` above 1.',
  why: 'Only the first stage of a reduced replica is reconfigured; later stages keep pipeline groups with ranks that have left.',
  failing: example(LAST_SLOT, 'tp: 4, pp: 2', 16),
  passing: example(LAST_SLOT),
  sources: NTP_SOURCES,
  *check(facts) {
    const context = contextAt(facts, 'grid');
    if (context && context.pp > 1) {
      const { pp, keySpan, module } = context;
      yield {
        message: `With pp ${pp} only the first stage of a reduced replica is reconfigured; later stages keep groups with ranks that have left. Use pp 1.`,
        span: module.fields.pp.span,
        related: [{ message: 'ntp is written here', span: keySpan }],
        predicts: ntpPrediction(context),
        fixes: [changeFix('pp', module.fields.pp.span, 1)],
      };
    }
  },
};
