import type { Fix } from '../diagnostic';
import { removeField } from '../format/edit';
import type { Field } from '../format/spec';
import type { LayoutFacts, ModuleFacts } from '../topology/facts';
import { changeFix, suggestion } from './fixes';
import { divisors, either } from './numbers';
import type { Report, Rule } from './rule';
import { otherSource } from './source';

export const optimizerInstances: Rule = {
  code: 'optimizer-instances',
  severity: 'error',
  title: 'The optimizer instances do not divide the replicas',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`num_distributed_optimizer_instances` does not divide `dp * cp`, or not `expt_dp`; or it is above 1 together with generalized tensor parallelism (`gtp_remat` or `expt_gtp_remat` above 1).',
  why: 'Every instance of the distributed optimizer holds an equal share of the data-parallel ranks. Megatron-LM stops every rank while the groups are made.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  num_distributed_optimizer_instances: 3
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  num_distributed_optimizer_instances: 4
`,
  sources: [otherSource('`initialize_model_parallel` in megatron/core/parallel_state.py')],
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

function generalizedReport(
  { text }: LayoutFacts,
  { fields, degrees }: ModuleFacts,
  field: Field<number>,
  instances: number,
): Report {
  const dense = (degrees?.gtpRemat ?? 1) > 1;
  const name = dense ? 'gtp_remat' : 'expt_gtp_remat';
  const size = dense ? degrees?.gtpRemat : degrees?.exptGtpRemat;
  const written = [fields[name], dense ? fields.num_weight_shards : fields.expt_num_weight_shards].filter(
    (one) => one.written,
  );
  return {
    message: `${instances} optimizer instances do not go together with ${name} ${size}. Use one instance, or ${name} 1.`,
    span: field.span,
    related: written.map(({ span }) => ({ message: `this makes ${name} ${size}`, span })),
    predicts: 'GTP_remat with num_distributed_optimizer_instances > 1 is not yet supported.',
    fixes: [
      suggestion('Remove `num_distributed_optimizer_instances`', [removeField(text, field)]),
      suggestion(
        `Use ${name} 1`,
        written.map((one) => removeField(text, one)),
      ),
    ],
  };
}

function* indivisibleReport(
  { text }: LayoutFacts,
  { degrees, dp, exptDp }: ModuleFacts,
  field: Field<number>,
  instances: number,
): Iterable<Report> {
  const cp = degrees?.cp ?? 1;
  if (dp === undefined || exptDp === undefined) {
    return;
  }
  const dense = (dp * cp) % instances !== 0;
  const expert = exptDp % instances !== 0;
  if (!dense && !expert) {
    return;
  }
  const faults = [...(dense ? [`dp ${dp} x cp ${cp} = ${dp * cp}`] : []), ...(expert ? [`expt_dp ${exptDp}`] : [])];
  const fitting = divisors(exptDp).filter((count) => (dp * cp) % count === 0);
  const nearest = fitting.sort((a, b) => Math.abs(a - instances) - Math.abs(b - instances)).slice(0, 3);
  yield {
    message: `${instances} optimizer instances cannot share ${either(faults)} equally. Use ${either([...nearest].sort((a, b) => a - b))}.`,
    span: field.span,
    predicts: dense
      ? 'Data parallel size should be divisible by partial DistOpt shard factor'
      : 'Expert data parallel size should be divisible by partial DistOpt shard factor',
    fixes: instanceFixes(text, field, nearest),
  };
}

function instanceFixes(text: string, field: Field<number>, counts: readonly number[]): Fix[] {
  return counts.map((count) =>
    count === 1
      ? suggestion('Remove `num_distributed_optimizer_instances`', [removeField(text, field)])
      : changeFix('num_distributed_optimizer_instances', field.span, count),
  );
}
