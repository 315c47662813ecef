import { changeFix } from '../fixes';
import type { Rule } from '../rule';
import { example, LAST_SLOT, NTP_SOURCES } from './page';
import { slicesPrediction } from './prediction';
import { contextAt } from './steps';

export const ntpExpertGroups: Rule = {
  code: 'ntp-expert-groups',
  severity: 'error',
  title: 'Nonuniform TP with expert parallelism',
  effect: 'the job hangs in the first MoE layer',
  what: '`tp_spares` is above 0 and `ep` above 1.',
  why: 'Expert groups are never rebuilt, so ranks that stay wait in them for ranks that have left.',
  failing: example(LAST_SLOT, 'tp: 4, ep: 2, expt_tp: 1'),
  passing: example(LAST_SLOT),
  sources: NTP_SOURCES,
  *check(facts) {
    const context = contextAt(facts, 'experts');
    if (!context) {
      return;
    }
    const { ep, module, keySpan } = context;
    const { span } = module.fields.ep;
    yield {
      message: `Expert groups are not rebuilt: with ep ${ep} the ranks that stay wait for ranks that have left. Use ep 1.`,
      span,
      related: [{ message: 'ntp is written here', span: keySpan }],
      predicts: slicesPrediction(context),
      fixes: [changeFix('ep', span, 1)],
    };
  },
};
