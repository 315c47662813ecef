import type { Field } from '../../format/spec';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import { changeFix, removeFix, withoutRemat } from '../fixes';
import { eitherNumber, nearestDivisors } from '../numbers';
import { rematRelated } from '../related';
import { job, PARALLEL_STATE, type Report, type Rule, stopsLater } from '../rule';

const KEY = 'num_distributed_optimizer_instances';

export const optimizerInstances: Rule = {
  code: 'optimizer-instances',
  severity: 'error',
  title: 'The optimizer instances do not divide the replicas',
  what: '`num_distributed_optimizer_instances` does not divide both `dp * cp` and `expt_dp`; or it is above 1 together with `gtp_remat` or `expt_gtp_remat` above 1.',
  why: 'Every instance of the distributed optimizer holds an equal share of the data-parallel ranks. Megatron-LM does not support several instances with generalized tensor parallelism.',
  failing: job(16, 'tp: 2, num_distributed_optimizer_instances: 3'),
  sources: [PARALLEL_STATE],
  *check(facts) {
    const field = facts.root.parallelism.value?.num_distributed_optimizer_instances;
    const [grid] = facts.modules;
    const instances = field?.value;
    if (facts.heterogeneous || !field || !grid?.degrees || instances === undefined || instances === 1) {
      return;
    }
    const { gtpRemat, exptGtpRemat } = grid.degrees;
    if (gtpRemat > 1 || exptGtpRemat > 1) {
      yield generalizedReport(facts, grid, field, instances);
    } else {
      yield* indivisibleReport(facts, grid, field, instances);
    }
  },
};

function generalizedReport(facts: LayoutFacts, grid: ModuleFacts, field: Field<number>, instances: number): Report {
  const { text } = facts;
  const { degrees } = grid;
  const isDense = (degrees?.gtpRemat ?? 1) > 1;
  const name = isDense ? 'gtp_remat' : 'expt_gtp_remat';
  const size = isDense ? degrees?.gtpRemat : degrees?.exptGtpRemat;
  return {
    message: `${instances} optimizer instances do not work with ${name} ${size}. Use 1 instance, or ${name} 1.${stopsLater(facts, 'makes its process groups')}`,
    span: field.span,
    related: rematRelated(grid, name),
    predicts: 'GTP_remat with num_distributed_optimizer_instances > 1 is not yet supported.',
    fixes: [removeFix(text, KEY, field), withoutRemat(text, grid, name)],
  };
}

function* indivisibleReport(
  facts: LayoutFacts,
  { degrees, dp, exptDp }: ModuleFacts,
  field: Field<number>,
  instances: number,
): Iterable<Report> {
  const cp = degrees?.cp ?? 1;
  if (dp === undefined || exptDp === undefined) {
    return;
  }
  const isDense = (dp * cp) % instances !== 0;
  const isExpert = exptDp % instances !== 0;
  if (!isDense && !isExpert) {
    return;
  }
  const undivided = [
    ...(isDense ? [cp > 1 ? `dp ${dp} x cp ${cp} = ${dp * cp}` : `dp ${dp}`] : []),
    ...(isExpert ? [`expt_dp ${exptDp}`] : []),
  ];
  const nearest = nearestDivisors(exptDp, instances, 3, (count) => (dp * cp) % count === 0);
  yield {
    message: `${instances} optimizer instances ${isDense && isExpert ? `divide neither ${undivided.join(' nor ')}` : `do not divide ${undivided.join()}`}. Use ${eitherNumber(nearest)}.${stopsLater(facts, 'makes its process groups')}`,
    span: field.span,
    predicts: isDense
      ? 'Data parallel size should be divisible by partial DistOpt shard factor'
      : 'Expert data parallel size should be divisible by partial DistOpt shard factor',
    fixes: nearest.map((n) => (n === 1 ? removeFix(facts.text, KEY, field) : changeFix(KEY, field, n))),
  };
}
