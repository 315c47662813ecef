import { changes } from '../fixes';
import { example, LAST_SLOT, ntpRule } from './example';
import { ntpRelated } from './ntpContext';
import { atStep } from './steps';

export const ntpPipeline = ntpRule({
  code: 'ntp-pipeline',
  severity: 'error',
  title: 'Nonuniform TP with a pipeline',
  effect: 'ranks wait for others that have left',
  what: '`tp_spares` is above 0 and `pp` above 1.',
  why: 'Megatron-LM rebuilds the groups of the first stage only.',
  failing: example(LAST_SLOT, 'tp: 4, pp: 2', 16),
  check: atStep('grid', function* (context) {
    const { pp, module } = context;
    if (pp > 1) {
      yield {
        message: `With pp ${pp} only the first stage of a reduced replica gets new groups; later stages wait for ranks that have left. Use pp 1.`,
        ...changes('pp', module.fields.pp, 1),
        related: ntpRelated(context),
      };
    }
  }),
});
