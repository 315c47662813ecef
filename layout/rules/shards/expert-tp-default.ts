import { insertFix } from '../fixes';
import { valueRelated } from '../related';
import { megatron, modules, PARALLEL_STATE, type Rule } from '../rule';

export const expertTpDefault: Rule = {
  code: 'expert-tp-default',
  severity: 'warning',
  title: 'expt_tp is not written',
  effect: 'the expert grid depends on how the job is launched',
  what: 'A module has `ep` and `tp` above 1 and does not write `expt_tp`.',
  why: 'A module takes `expt_tp` as 1, while `initialize_model_parallel` takes it as `tp`.',
  failing: modules(8, 'language: {num_ranks: 8, tp: 2, ep: 2}'),
  sources: [megatron('examples/mimo/training/topology.py', 'ModuleGridSpec'), PARALLEL_STATE],
  *check({ text, modules }) {
    for (const { own, degrees, fields, span, name } of modules) {
      if (own && degrees && degrees.ep > 1 && degrees.tp > 1 && !fields.expt_tp.written) {
        yield {
          message: `expt_tp of '${name}' defaults to 1 here, but to tp, ${degrees.tp}, under initialize_model_parallel. Write expt_tp.`,
          span: fields.ep.span,
          related: [valueRelated('tp', fields.tp)],
          fixes: [1, degrees.tp].map((size) => insertFix(text, span, `expt_tp: ${size}`)),
        };
      }
    }
  },
};
