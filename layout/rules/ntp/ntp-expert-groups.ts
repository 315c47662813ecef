import type { Fix } from '../../diagnostic';
import { setKey } from '../../format/edit';
import { changeFix, suggestion } from '../fixes';
import { example, LAST_SLOT, ntpRule } from './example';
import { hasExperts, type NtpContext, ntpRelated } from './ntpContext';
import { atStep } from './steps';

export const ntpExpertGroups = ntpRule({
  code: 'ntp-expert-groups',
  severity: 'error',
  title: 'Nonuniform TP with experts',
  effect: 'the job hangs in the first MoE layer',
  what: '`tp_spares` is above 0, every slot is launched, and `ep` is above 1 or the model has experts (`num_experts`).',
  why: 'Expert groups are never rebuilt, so ranks that stay wait in them for ranks that have left. Without expert parallelism they are in use too: `expt_tp` defaults to `tp`, and the gradients of experts are reduced over `ep_dp`.',
  failing: example(LAST_SLOT, 'tp: 4, ep: 2, expt_tp: 1'),
  check: atStep('experts', function* (context) {
    const { ep, module } = context;
    const { num_experts: experts } = module.model.value ?? {};
    const isParallel = ep > 1 || !experts;
    const exptTp = module.degrees?.exptTp ?? 1;
    const group = exptTp > 1 ? `ep_tp (expt_tp is ${exptTp})` : 'ep_dp';
    yield {
      message: isParallel
        ? `Expert groups are not rebuilt: with ep ${ep} the ranks that stay wait for ranks that have left. Use ep 1 and no experts, or placement packed.`
        : `The model has experts, whose groups are not rebuilt: the ranks that stay wait in ${group} for ranks that have left. Use placement packed, or drop the replica.`,
      span: isParallel ? module.fields.ep.span : experts.span,
      related: ntpRelated(context),
      fixes: [isParallel && !hasExperts(module) ? changeFix('ep', module.fields.ep, 1) : packedFix(context)],
    };
  }),
});

/** Launches the active slots only. */
function packedFix({ text, span, fields, facts, shape, ntp }: NtpContext): Fix | null {
  const launched = (facts.world.size ?? 0) - ntp.numReducedTpDpRanks * shape.cp * ntp.tpSpares;
  return suggestion('Launch the healthy slots only (packed placement)', [
    setKey(text, span, 'placement', fields.placement, 'packed'),
    setKey(text, facts.span, 'world_size', facts.root.world_size, launched),
  ]);
}
