import { setFix } from '../fixes';
import { job, megatronDev, type Rule } from '../rule';
import { failedPlans } from './failedPlans';
import { ntpContext } from './ntpContext';
import { removedSlots } from './slots';

export const ntpSparesOff: Rule = {
  code: 'ntp-spares-off',
  severity: 'error',
  title: 'Removed slots while nonuniform TP is off',
  effect: 'the failed GPUs stay in the job',
  what: '`non_active_ranks_per_dp` removes slots and `tp_spares` is 0.',
  why: 'With `tp_spares` 0 Megatron-LM leaves all groups as they are and ignores the written slots.',
  failing: job(8, 'tp: 4', 'ntp: {tp_spares: 0, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]}'),
  sources: [megatronDev('megatron/core/distributed/nonuniform_tp.py', 'initialize_nonuniform_tp_process_groups')],
  *check(facts) {
    const { text, root } = facts;
    const ntp = root.ntp.value;
    const slots = ntp ? removedSlots(ntp) : 0;
    const context = ntpContext(facts);
    if (!ntp || slots === 0 || (ntp.tp_spares.written ? ntp.tp_spares.value : 0) !== 0) {
      return;
    }
    yield {
      message: `tp_spares is 0, so the removed slots stay in. Use tp_spares ${slots}.`,
      span: ntp.tp_spares.written ? ntp.tp_spares.span : ntp.non_active_ranks_per_dp.keySpan,
      fixes: [setFix(text, root.ntp.span, 'tp_spares', ntp.tp_spares, slots), ...(context ? failedPlans(context) : [])],
    };
  },
};
