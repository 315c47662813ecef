import type { Fix } from '../diagnostic';
import { appendKey, removeField } from '../format/edit';
import { DEFAULT_ORDER } from '../format/keys';
import type { Field } from '../format/spec';
import { joinedAxes } from '../grid/arithmetic';
import { Grid } from '../grid/grid';
import { countCommunicators } from '../topology/communicators';
import type { LayoutFacts, ModuleFacts } from '../topology/facts';
import { denseGrid, expertGrid } from '../topology/process-groups';
import { resolveLayout } from '../topology/resolve';
import { suggestion } from './fixes';
import { both, countOf } from './numbers';
import type { Report, Rule } from './rule';
import { otherSource } from './source';

const SOURCE = '`create_all_gather_groups` in megatron/core/parallel_state.py';

/** A key of `fsdp` that asks for a separate all-gather group. */
interface Request {
  readonly name: 'create_all_gather_group' | 'create_expert_all_gather_group';
  readonly field: Field<boolean>;
}

/** The all-gather groups that the file asks for in so many words. */
function requestsOf({ root }: LayoutFacts): Request[] {
  const fsdp = root.fsdp.value;
  const requests: Request[] = fsdp
    ? [
        { name: 'create_all_gather_group', field: fsdp.create_all_gather_group },
        { name: 'create_expert_all_gather_group', field: fsdp.create_expert_all_gather_group },
      ]
    : [];
  return requests.filter(({ field }) => field.value === true);
}

function removeFix(text: string, { name, field }: Request): Fix {
  return suggestion(`Remove \`${name}\``, [removeField(text, field)]);
}

const isEnabled = ({ root }: LayoutFacts): boolean => root.fsdp.value?.enabled.value === true;

/** The one grid of `parallelism`; null for `modules`, which make no all-gather groups. */
function onlyGrid({ heterogeneous, modules }: LayoutFacts): ModuleFacts | null {
  return heterogeneous ? null : (modules[0] ?? null);
}

export const fsdpNotEnabled: Rule = {
  code: 'fsdp-not-enabled',
  severity: 'warning',
  title: 'Options of FSDP without FSDP',
  effect: 'the job runs, but slowly or not as the author thinks',
  what: '`fsdp` asks for all-gather groups or names a sharding strategy while `enabled` is false or left out.',
  why: 'Nothing is sharded, so nobody gathers: the options have no effect, and the memory that the author expects to save is not saved.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 2
fsdp:
  create_all_gather_group: true
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 2
fsdp:
  create_all_gather_group: true
  enabled: true
`,
  sources: [otherSource('`--use-megatron-fsdp` in megatron/training/arguments.py')],
  *check(facts) {
    const { root, text } = facts;
    const fsdp = root.fsdp.value;
    // an unusable `enabled` has its own diagnostic
    if (!fsdp || fsdp.enabled.value === true || (fsdp.enabled.written && fsdp.enabled.value === undefined)) {
      return;
    }
    const strategy = fsdp.data_parallel_sharding_strategy;
    const shards = strategy.value !== undefined && strategy.value !== 'no_shard';
    const [first] = requestsOf(facts);
    const field = first?.field ?? (shards ? strategy : undefined);
    if (!field) {
      return;
    }
    const name = first?.name ?? 'data_parallel_sharding_strategy';
    const enable = fsdp.enabled.written
      ? { span: fsdp.enabled.span, newText: 'true' }
      : appendKey(text, root.fsdp.span, 'enabled: true');
    yield {
      message: `\`${name}\` has no effect while FSDP is off. Write \`enabled: true\`, or remove it.`,
      span: field.span,
      related: fsdp.enabled.written ? [{ message: 'FSDP is off here', span: fsdp.enabled.span }] : [],
      fixes: [
        ...(enable ? [suggestion('Switch FSDP on', [enable])] : []),
        suggestion(`Remove \`${name}\``, [removeField(text, field)]),
      ],
    };
  },
};

export const fsdpExpertGroup: Rule = {
  code: 'fsdp-expert-group',
  severity: 'error',
  title: 'An expert all-gather group without expert parallelism',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`create_expert_all_gather_group` is true while `ep` is 1.',
  why: 'Megatron-LM makes no such group without expert parallelism and says nothing; what then uses it finds none.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 2
fsdp:
  enabled: true
  create_expert_all_gather_group: true
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  ep: 4
fsdp:
  enabled: true
  create_expert_all_gather_group: true
`,
  sources: [otherSource(SOURCE)],
  *check(facts) {
    const grid = onlyGrid(facts);
    const request = requestsOf(facts).find(({ name }) => name === 'create_expert_all_gather_group');
    if (!request || grid?.degrees?.ep !== 1) {
      return;
    }
    const { ep } = grid.fields;
    yield {
      message: 'No expert all-gather group is made while ep is 1. Remove the key, or use ep 2 or more.',
      span: request.field.span,
      related: ep.written ? [{ message: 'ep is 1 here', span: ep.span }] : [],
      fixes: [removeFix(facts.text, request)],
    };
  },
};

export const fsdpGroupIdle: Rule = {
  code: 'fsdp-group-idle',
  severity: 'warning',
  title: 'An all-gather group that never gathers',
  effect: 'the job runs, but slowly or not as the author thinks',
  what: '`create_all_gather_group` is true, but `dp * cp` is 1, or the sharding strategy is `no_shard`.',
  why: 'With one replica, or with whole parameters on every rank, there is nothing to gather: the group costs memory and start-up time for nothing.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 8
fsdp:
  enabled: true
  create_all_gather_group: true
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 4
fsdp:
  enabled: true
  create_all_gather_group: true
`,
  sources: [otherSource(SOURCE)],
  *check(facts) {
    const grid = onlyGrid(facts);
    const [request] = requestsOf(facts);
    const strategy = facts.root.fsdp.value?.data_parallel_sharding_strategy;
    // while FSDP is off, that is the diagnostic
    if (!request || !isEnabled(facts) || grid?.dp === undefined || !grid.degrees) {
      return;
    }
    const unsharded = strategy?.value === 'no_shard';
    const alone = request.name === 'create_all_gather_group' && grid.dp * grid.degrees.cp === 1;
    if (unsharded || alone) {
      yield {
        message: `${
          alone ? 'dp x cp is 1: one rank has nothing to gather' : 'With `no_shard` every rank has whole parameters'
        }. Remove \`${request.name}\`.`,
        span: request.field.span,
        related: unsharded && strategy ? [{ message: 'nothing is sharded here', span: strategy.span }] : [],
        fixes: [removeFix(facts.text, request)],
      };
    }
  },
};

export const allGatherGroups: Rule = {
  code: 'all-gather-groups',
  severity: 'error',
  title: 'All-gather groups with other ranks than the groups that they stand beside',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'Separate all-gather groups are asked for together with `gtp_remat` or `expt_gtp_remat` above 1, or with an `order` under which `dp_cp` (or `ep_dp`) has other ranks than under the default order.',
  why: 'Megatron-LM makes the all-gather groups in its default rank order whatever the order of the job, and counts generalized TP twice. In the first case parameters are gathered from the wrong ranks, silently; in the second the groups have ranks outside the world, and every rank stops.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  gtp_remat: 2
batch: {micro_batch_size: 1, global_batch_size: 8}
fsdp:
  enabled: true
  create_all_gather_group: true
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 4
batch: {micro_batch_size: 1, global_batch_size: 8}
fsdp:
  enabled: true
  create_all_gather_group: true
`,
  sources: [otherSource(SOURCE)],
  *check(facts) {
    const grid = onlyGrid(facts);
    const [request] = requestsOf(facts);
    if (grid && request) {
      yield* gtpReport(facts, grid, request) ?? orderReport(facts, request);
    }
  },
};

/** Whether the expert groups are made too: with the dense ones unless the file says otherwise. */
function wantsExperts({ root }: LayoutFacts, { degrees }: ModuleFacts): boolean {
  const fsdp = root.fsdp.value;
  const wanted = fsdp?.create_expert_all_gather_group.value ?? fsdp?.create_all_gather_group.value;
  return wanted === true && (degrees?.ep ?? 1) > 1;
}

function gtpReport(facts: LayoutFacts, grid: ModuleFacts, request: Request): Report[] | null {
  const { degrees, ranks, dp, exptDp, fields } = grid;
  if (!degrees || ranks === undefined || dp === undefined || exptDp === undefined) {
    return [];
  }
  const { tp, gtpRemat, exptTp, ep, exptGtpRemat, pp } = degrees;
  const dense = gtpRemat > 1;
  const size = dense ? gtpRemat : exptGtpRemat;
  if (!dense && !(exptGtpRemat > 1 && wantsExperts(facts, grid))) {
    return null;
  }
  const name = dense ? 'gtp_remat' : 'expt_gtp_remat';
  const shards = dense ? fields.num_weight_shards : fields.expt_num_weight_shards;
  const cause = shards.written ? shards : fields[name];
  const rank = firstRankOutside(ranks, size, pp, dense ? tp * gtpRemat : exptTp * ep * exptGtpRemat);
  return [
    {
      message: `All-gather groups count ${name} ${size} twice and so ask for ranks beyond the ${ranks} of the world. Remove \`${request.name}\`, or use ${name} 1.`,
      span: request.field.span,
      related: [{ message: `${name} is ${size} here`, span: cause.span }],
      predicts: `Rank ${rank} is out of range. Valid ranks are 0 to ${ranks - 1} (world_size=${ranks})`,
      fixes: [removeFix(facts.text, request), suggestion(`Use ${name} 1`, [removeField(facts.text, cause)])],
    },
  ];
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

function orderReport(facts: LayoutFacts, request: Request): Report[] {
  const layout = resolveLayout(facts);
  const [module] = layout?.modules ?? [];
  const order = facts.root.parallelism.value?.order;
  if (!layout || !module || !order?.written) {
    return [];
  }
  const wrong = [
    ...(sameGroups(denseGrid(module), DENSE_DEFAULT, ['dp', 'cp']) ? [] : ['dp_cp']),
    ...(!layout.expertAllGatherGroup || sameGroups(expertGrid(module), EXPERT_DEFAULT, ['expt_dp']) ? [] : ['ep_dp']),
  ];
  if (wrong.length === 0) {
    return [];
  }
  return [
    {
      message: `All-gather groups are made in the order ${DEFAULT_ORDER}, so under this order their ranks are not those of \`${wrong.join('` and `')}\`. Remove \`${request.name}\`, or use the default order.`,
      span: request.field.span,
      related: [{ message: 'the rank order stands here', span: order.span }],
      fixes: [
        removeFix(facts.text, request),
        suggestion(`Change order to ${DEFAULT_ORDER}`, [{ span: order.span, newText: DEFAULT_ORDER }]),
      ],
    },
  ];
}

const DENSE_DEFAULT = ['tp', 'gtp_remat', 'cp', 'dp', 'pp'];
const EXPERT_DEFAULT = ['expt_tp', 'ep', 'expt_gtp_remat', 'expt_dp', 'pp'];

/** Whether the groups over some dimensions have the same ranks when the dimensions are laid in another order. */
function sameGroups(grid: Grid, order: readonly string[], names: readonly string[]): boolean {
  const other = new Grid(order.map((name) => ({ name, size: grid.sizeOf(name) })));
  return shapeOf(grid, names) === shapeOf(other, names);
}

/** The ranks of the first group as runs of equal steps, which fix all other groups: `2x4 16x2`. */
function shapeOf({ axes }: Grid, names: readonly string[]): string {
  const runs = joinedAxes(axes.filter(({ name, size }) => size > 1 && names.includes(name)));
  return runs.map(({ stride, size }) => `${stride}x${size}`).join(' ');
}

export const communicatorCount: Rule = {
  code: 'communicator-count',
  severity: 'information',
  title: 'What separate all-gather groups add',
  effect: 'a fact worth knowing',
  what: 'The layout makes separate all-gather groups. The diagnostic says how many communicators a rank then holds: groups of two ranks or more that it is in, each name by itself even where another has the same ranks. A group of one rank is not counted, as it never becomes a communicator.',
  why: 'Every NCCL communicator has channels and buffers in GPU memory of its own and takes time to come up. Two communicators over the same ranks are the price of letting all-gather and reduce-scatter run side by side.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 2
fsdp:
  enabled: true
  create_all_gather_group: true
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 2
fsdp:
  enabled: true
`,
  sources: [
    otherSource('`initialize_model_parallel` and `create_all_gather_groups` in megatron/core/parallel_state.py'),
  ],
  *check(facts) {
    const { root } = facts;
    const layout = onlyGrid(facts) && isEnabled(facts) ? resolveLayout(facts) : null;
    // where the groups are of no use, or not to be had, that is the diagnostic
    const faulty = [fsdpExpertGroup, fsdpGroupIdle, allGatherGroups].some(
      ({ check }) => [...(check?.(facts) ?? [])].length > 0,
    );
    if (!layout || faulty) {
      return;
    }
    const { each, atEnds, allGather } = countCommunicators(layout);
    if (allGather.length === 0) {
      return;
    }
    const ends = atEnds > 0 ? ` (${each + atEnds} at the two ends of a pipeline)` : '';
    const extra = both(allGather.map((name) => `\`${name}\``));
    yield {
      message: `Each rank holds ${countOf(each, 'communicator')}${ends}; ${extra} ${allGather.length === 1 ? 'is' : 'are'} there only so that all-gather overlaps reduce-scatter.`,
      span: root.parallelism.keySpan,
      related: [{ message: 'all-gather groups are asked for here', span: root.fsdp.keySpan }],
    };
  },
};
