import { DEFAULT_ORDER } from '../../format/keys';
import { Grid } from '../../grid/grid';
import { generatorSizes, injectsGtp, parallelismDims } from '../../topology/generators';
import { orderPrediction } from '../../topology/order';
import { changeFix } from '../fixes';
import { writtenRelated } from '../related';
import { job, PARALLEL_STATE, type Rule, stopsLater } from '../rule';
import { ordered, orderSpan } from './ordered';

export const orderExpertMismatch: Rule = {
  code: 'order-expert-mismatch',
  severity: 'error',
  title: 'The order gives dense and expert layers different pipelines',
  what: '`order` does not end in `pp`, `pp` is above 1, and `dp` differs from `expt_dp`; or the dense and the expert grid place their pipeline groups differently.',
  why: 'Dense and expert layers run in the same pipeline, so both grids must have the same pipeline groups. Only an order that ends in `pp` gives them that whatever the other sizes.',
  failing: job(16, 'tp: 2, pp: 2, ep: 2, order: tp-cp-ep-pp-dp'),
  sources: [PARALLEL_STATE],
  *check(facts) {
    const found = ordered(facts);
    const dims = found && parallelismDims(facts.root, found.module);
    if (!found || !dims) {
      return;
    }
    const { module, order } = found;
    const { dp, exptDp, degrees } = module;
    const field = facts.root.parallelism.value?.order;
    const span = orderSpan(facts, module);
    const last = [
      ...order
        .toLowerCase()
        .split('-')
        .filter((token) => token !== 'pp'),
      'pp',
    ].join('-');
    const fixes = [...new Set([last, DEFAULT_ORDER])].map((better) => changeFix('order', field, better));
    const related = writtenRelated('ep', module.fields.ep);
    const sizes = generatorSizes(module);
    const predicts = sizes && orderPrediction(order, sizes.dense, sizes.expert, injectsGtp(facts.root, module));
    if (!order.endsWith('pp') && (degrees?.pp ?? 1) > 1 && dp !== exptDp) {
      yield {
        message: `dp is ${dp} and expt_dp ${exptDp}, which needs an order that ends in pp. Write ${last}.${stopsLater(facts, 'makes its process groups')}`,
        span,
        related,
        predicts,
        fixes,
      };
      return;
    }
    const dense = new Grid(dims.dense);
    const expert = new Grid(dims.expert);
    if (strideOfPp(dense) !== strideOfPp(expert)) {
      yield {
        message: `In this order pipelines of dense layers join ranks ${strideOfPp(dense)} apart, those of experts ranks ${strideOfPp(expert)} apart. Write ${last}.${stopsLater(facts, 'makes its process groups')}`,
        span,
        related,
        predicts,
        fixes,
      };
    }
  },
};

/** Pipeline groups are the same lists exactly when their strides are: groups are numbered by their first ranks. */
const strideOfPp = (grid: Grid): number => grid.groups(['pp']).steps[0]?.stride ?? 0;
