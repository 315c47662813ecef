import { DEFAULT_ORDER } from '../../format/keys';
import type { Grid } from '../../grid/grid';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import { DENSE_DIMS, EXPERT_DIMS } from '../../topology/moduleGrid';
import { denseGrid, expertGrid, laidOut } from '../../topology/processGroups';
import { resolveLayout } from '../../topology/resolve';
import { changeFix, type Remat, removeFix, withoutRemat } from '../fixes';
import { both } from '../numbers';
import { rematRelated } from '../related';
import { job, megatron, type Report, type Rule } from '../rule';
import { onlyGrid, type Request, requestsOf } from './requests';

export const allGatherGroups: Rule = {
  code: 'all-gather-groups',
  severity: 'error',
  title: 'All-gather groups do not match their data-parallel groups',
  effect: 'Megatron-LM stops on every rank, or gathers parameters from the wrong ranks',
  what: 'The file asks for separate all-gather groups together with `gtp_remat` or `expt_gtp_remat` above 1, or with an `order` under which `dp_cp` or `ep_dp` has other ranks than under the default order.',
  why: 'Megatron-LM makes the all-gather groups in its default rank order whatever the order of the job. It also counts generalized TP twice, so groups have ranks outside the world.',
  failing: job(
    16,
    'tp: 2, gtp_remat: 2',
    'batch: {micro_batch_size: 1, global_batch_size: 8}',
    'fsdp: {enabled: true, create_all_gather_group: true}',
  ),
  passing: job(
    16,
    'tp: 4',
    'batch: {micro_batch_size: 1, global_batch_size: 8}',
    'fsdp: {enabled: true, create_all_gather_group: true}',
  ),
  sources: [megatron('megatron/core/parallel_state.py', 'create_all_gather_groups')],
  *check(facts) {
    const grid = onlyGrid(facts);
    const [request] = requestsOf(facts);
    if (grid && request) {
      yield* remat(facts, grid) ? rematReports(facts, grid, request) : orderReports(facts, request);
    }
  },
};

/** Whether the expert groups are made too: with the dense ones unless the file says otherwise. */
function wantsExperts({ root }: LayoutFacts, { degrees }: ModuleFacts): boolean {
  const fsdp = root.fsdp.value;
  const wanted = fsdp?.create_expert_all_gather_group.value ?? fsdp?.create_all_gather_group.value;
  return wanted === true && (degrees?.ep ?? 1) > 1;
}

/** The degree of generalized TP that is counted twice, if there is one. */
function remat(facts: LayoutFacts, grid: ModuleFacts): Remat | null {
  const { gtpRemat = 1, exptGtpRemat = 1 } = grid.degrees ?? {};
  if (gtpRemat > 1) {
    return 'gtp_remat';
  }
  return exptGtpRemat > 1 && wantsExperts(facts, grid) ? 'expt_gtp_remat' : null;
}

function* rematReports(facts: LayoutFacts, grid: ModuleFacts, request: Request): Iterable<Report> {
  const { degrees, ranks, dp, exptDp } = grid;
  const name = remat(facts, grid);
  if (!name || !degrees || ranks === undefined || dp === undefined || exptDp === undefined) {
    return;
  }
  const { tp, gtpRemat, exptTp, ep, exptGtpRemat, pp } = degrees;
  const isDense = name === 'gtp_remat';
  const size = isDense ? gtpRemat : exptGtpRemat;
  const rank = firstRankOutside(ranks, size, pp, isDense ? tp * gtpRemat : exptTp * ep * exptGtpRemat);
  yield {
    message: `Megatron-LM counts ${name} ${size} twice in all-gather groups and asks for ranks outside the world of ${ranks}. Remove ${request.name}, or use ${name} 1.`,
    span: request.field.span,
    related: rematRelated(grid, name),
    predicts: `Rank ${rank} is out of range. Valid ranks are 0 to ${ranks - 1} (world_size=${ranks})`,
    fixes: [removeFix(facts.text, request.name, request.field), withoutRemat(facts.text, grid, name)],
  };
}

/**
 * The rank that torch refuses first. The groups are made in a grid `gtp` times as large as the world: ranks of a group
 * lie `step` apart and fill one pipeline stage, and groups come in the order of their first rank.
 */
function firstRankOutside(world: number, gtp: number, pp: number, step: number): number {
  const stage = (world * gtp) / pp;
  const start = Math.floor(world / stage) * stage;
  // the first group of that stage of which the last rank lies outside
  const group = start + Math.max(0, world - (start + stage - step));
  return group + Math.max(0, Math.ceil((world - group) / step)) * step;
}

function* orderReports(facts: LayoutFacts, request: Request): Iterable<Report> {
  const layout = resolveLayout(facts);
  const [module] = layout?.modules ?? [];
  const order = facts.root.parallelism.value?.order;
  if (!layout || !module || !order?.written) {
    return;
  }
  const differing = [
    ...(sameGroups(denseGrid(module), DENSE_DIMS, ['dp', 'cp']) ? [] : ['dp_cp']),
    ...(!layout.expertAllGatherGroup || sameGroups(expertGrid(module), EXPERT_DIMS, ['expt_dp']) ? [] : ['ep_dp']),
  ];
  if (differing.length === 0) {
    return;
  }
  yield {
    message: `Megatron-LM makes all-gather groups in the default order; in this order ${both(differing)} ${differing.length === 1 ? 'has' : 'have'} other ranks. Remove ${request.name}, or use order ${DEFAULT_ORDER}.`,
    span: request.field.span,
    related: [{ message: `order is ${order.value} here`, span: order.span }],
    fixes: [removeFix(facts.text, request.name, request.field), changeFix('order', order, DEFAULT_ORDER)],
  };
}

/** Whether the groups over some dimensions have the same ranks when the dimensions are laid in another order. */
function sameGroups(grid: Grid, order: readonly string[], names: readonly string[]): boolean {
  const [own, other] = [grid, laidOut(grid, order)].map((one) => JSON.stringify(one.groups(names).steps));
  return own === other;
}
