import type { Fix, Related, Span } from '../diagnostic';
import { DEFAULT_ORDER } from '../format/keys';
import { grouped } from '../format/quantities';
import type { Grid } from '../grid/grid';
import { memoize } from '../memoize';
import { crossings } from '../topology/crossings';
import type { Degrees, LayoutFacts, ModuleFacts } from '../topology/facts';
import { denseGrid, expertGrid } from '../topology/process-groups';
import { resolveLayout } from '../topology/resolve';
import type { ResolvedLayout, ResolvedModule } from '../topology/resolved';
import { changeFix, suggestion } from './fixes';
import { countOf, divisors } from './numbers';
import type { Report, Rule } from './rule';
import { otherSource } from './source';

/** A module in a world of which the file says where its ranks land. */
interface Placed {
  readonly module: ModuleFacts;
  readonly degrees: Degrees;
  readonly resolved: ResolvedModule;
  readonly layout: ResolvedLayout;
  /** How many domain borders are looked at, for each kind of group. */
  readonly borders: number;
}

/** How many domain borders are looked at over all modules of a file, and for each module at least. */
const MAX_BORDERS = 4096;
const MIN_BORDERS = 16;

/** The modules of a whole layout with a written cluster, worked out once for all rules; none where places are not known. */
const placedModules = memoize(placed);

function placed(facts: LayoutFacts): readonly Placed[] {
  const cluster = facts.root.cluster.value;
  // where only active ranks are launched, they lie closer together than the grid says
  const packed = facts.root.ntp.value?.placement.value === 'packed';
  const layout = cluster?.gpus_per_node.value === undefined || packed ? null : resolveLayout(facts);
  if (!layout) {
    return [];
  }
  const borders = Math.max(MIN_BORDERS, Math.floor(MAX_BORDERS / layout.modules.length));
  return layout.modules.flatMap((resolved, i) => {
    const module = facts.modules[i];
    return module?.degrees ? [{ module, degrees: module.degrees, resolved, layout, borders }] : [];
  });
}

/** A kind of group whose ranks should lie together, and the keys that make it as large as it is. */
interface Kind {
  readonly label: string;
  readonly grid: (module: ResolvedModule) => Grid;
  readonly dims: readonly string[];
  /** The degree that makes the groups of this kind larger than those of the kind before it: nothing to see at 1. */
  readonly degree: number;
  readonly span: Span;
}

/** Neighbouring ranks that reach one another faster than they reach others. */
interface Domain {
  readonly label: string;
  readonly size: number;
}

/** Says how many groups of a kind leave their domain, or nothing where none does. */
function crossingText(kind: Kind, { resolved, borders }: Placed, domain: Domain): string | null {
  const { label, grid, dims, degree } = kind;
  if (degree === 1) {
    return null;
  }
  const { groups, crossing, exact, first } = crossings(grid(resolved), dims, domain.size, borders);
  if (!first) {
    return null;
  }
  const one = crossing === 1 && exact;
  const which = groups === 1 ? 'it has' : one ? `group ${first.index} has` : `the first, group ${first.index}, has`;
  const count = `${exact ? '' : 'At least '}${quantity(crossing, groups, `${label} group`)}`;
  return `${count} ${one ? 'reaches' : 'reach'} over more than one ${domain.label} of ${countOf(domain.size, 'GPU')}: ${which} ranks from ${first.start} to ${first.end}.`;
}

/** `The TP group`, `Both TP groups`, `All 4 TP groups`, `1 of 4 TP groups`. */
function quantity(part: number, whole: number, noun: string): string {
  if (part < whole) {
    return `${grouped(part)} of ${countOf(whole, noun)}`;
  }
  return whole === 1 ? `The ${noun}` : whole === 2 ? `Both ${noun}s` : `All ${countOf(whole, noun)}`;
}

export const tpCrossesNvlink: Rule = {
  code: 'tp-crosses-nvlink',
  severity: 'warning',
  title: 'Tensor-parallel groups leave their NVLink domain',
  effect: 'the job runs, but slowly or not as the author thinks',
  what: 'A TP group, a TP x GTP group or an expert TP group has ranks in more than one NVLink domain (`gpus_per_nvlink_domain`, by default a node).',
  why: 'Tensor parallelism talks in every layer, forward and backward, and waits for the answer. Between domains a link has a tenth of the bandwidth, and the whole job runs at its pace.',
  failing: `layout: 1
cluster: {nodes: 2, gpus_per_node: 8}
parallelism:
  tp: 16
`,
  passing: `layout: 1
cluster: {nodes: 2, gpus_per_node: 8}
parallelism:
  tp: 8
`,
  sources: [
    otherSource('Megatron-LM documentation, parallelism guide: tensor parallelism inside a node; NCCL topology'),
  ],
  *check(facts) {
    for (const placed of placedModules(facts)) {
      const domain = { label: 'NVLink domain', size: placed.layout.gpusPerNvlinkDomain };
      for (const kind of tensorKinds(placed)) {
        const text = crossingText(kind, placed, domain);
        if (text !== null) {
          yield tensorReport(facts, placed, kind, text, domain.size);
          // the other kinds contain this one, or follow from the same degree
          break;
        }
      }
    }
  },
};

function tensorKinds({ module: { fields }, degrees }: Placed): Kind[] {
  const shards = fields.num_weight_shards.written ? fields.num_weight_shards : fields.gtp_remat;
  const exptTp = fields.expt_tp.written ? fields.expt_tp : fields.tp;
  return [
    { label: 'TP', grid: denseGrid, dims: ['tp'], degree: degrees.tp, span: fields.tp.span },
    { label: 'TP x GTP', grid: denseGrid, dims: ['tp', 'gtp_remat'], degree: degrees.gtpRemat, span: shards.span },
    { label: 'expert TP', grid: expertGrid, dims: ['expt_tp'], degree: degrees.exptTp, span: exptTp.span },
  ];
}

function tensorReport(
  facts: LayoutFacts,
  { module, layout }: Placed,
  kind: Kind,
  text: string,
  domain: number,
): Report {
  const { fields, degrees, own } = module;
  const degree = kind.label === 'TP' && fields.tp.written ? degrees?.tp : undefined;
  // the largest size of which groups fill a domain without rest, and of which the old one is a multiple
  const better = divisors(domain)
    .filter((size) => degree !== undefined && size > 1 && size < degree && degree % size === 0)
    .at(-1);
  const order = facts.root.parallelism.value?.order;
  const fixes: Fix[] = [
    ...(order?.written && module.name === null
      ? [suggestion(`Change order to ${DEFAULT_ORDER}`, [{ span: order.span, newText: DEFAULT_ORDER }])]
      : []),
    ...(better === undefined ? [] : [changeFix('tp', fields.tp.span, better)]),
  ];
  const mend = better === undefined ? 'Keep each inside one' : `Use tp ${better} to keep each inside one`;
  return {
    message: `${text} ${mend}.`,
    span: kind.span,
    related: [
      ...clusterRelated(facts, layout),
      ...(own?.rank_offset.written ? [{ message: `\`${module.name}\` begins here`, span: own.rank_offset.span }] : []),
    ],
    fixes,
  };
}

/** Where the file says how many GPUs lie together. */
function clusterRelated({ root }: LayoutFacts, layout: ResolvedLayout): Related[] {
  const cluster = root.cluster.value;
  const field = cluster?.gpus_per_nvlink_domain.written ? cluster.gpus_per_nvlink_domain : cluster?.gpus_per_node;
  return field
    ? [{ message: `an NVLink domain has ${countOf(layout.gpusPerNvlinkDomain, 'GPU')}`, span: field.span }]
    : [];
}

/** A node, or the NVLink domain where that is larger: beyond it, ranks talk over the network. */
function nodeOf({ gpusPerNode, gpusPerNvlinkDomain }: ResolvedLayout): Domain {
  return gpusPerNvlinkDomain > gpusPerNode
    ? { label: 'NVLink domain', size: gpusPerNvlinkDomain }
    : { label: 'node', size: gpusPerNode };
}

export const epCrossesNode: Rule = {
  code: 'ep-crosses-node',
  severity: 'information',
  title: 'Expert-parallel groups leave their node',
  effect: 'a fact worth knowing',
  what: 'An EP group has ranks in more than one node (or NVLink domain, where that is larger).',
  why: 'Every MoE layer sends tokens to their experts and back, all to all. Between nodes that goes over the network, which wants a dispatcher made for it and the bandwidth to match.',
  failing: `layout: 1
cluster: {nodes: 2, gpus_per_node: 8}
parallelism:
  ep: 16
`,
  passing: `layout: 1
cluster: {nodes: 2, gpus_per_node: 8}
parallelism:
  ep: 8
`,
  sources: [
    otherSource(
      '`initialize_model_parallel` in megatron/core/parallel_state.py: the caller should make sure that adjacent ranks are on the same machine',
    ),
  ],
  *check(facts) {
    for (const placed of placedModules(facts)) {
      const { degrees, module } = placed;
      const kind = { label: 'EP', grid: expertGrid, dims: ['ep'], degree: degrees.ep, span: module.fields.ep.span };
      yield* nodeReport(facts, kind, placed, 'The all-to-all goes over the network.');
    }
  },
};

export const cpCrossesNode: Rule = {
  code: 'cp-crosses-node',
  severity: 'information',
  title: 'Context-parallel groups leave their node',
  effect: 'a fact worth knowing',
  what: 'A CP group has ranks in more than one node (or NVLink domain, where that is larger).',
  why: 'Attention exchanges keys and values in every layer. Point-to-point exchange hides much of that behind computation, also between nodes; all-to-all does not, and `hierarchical_context_parallel_sizes` keeps it inside the node.',
  failing: `layout: 1
cluster: {nodes: 2, gpus_per_node: 8}
parallelism:
  tp: 2
  cp: 8
`,
  passing: `layout: 1
cluster: {nodes: 2, gpus_per_node: 8}
parallelism:
  tp: 2
  cp: 4
`,
  sources: [
    otherSource(
      '`initialize_model_parallel` in megatron/core/parallel_state.py: the caller should make sure that adjacent ranks are on the same machine',
    ),
  ],
  *check(facts) {
    for (const placed of placedModules(facts)) {
      const { degrees, module } = placed;
      const kind = { label: 'CP', grid: denseGrid, dims: ['cp'], degree: degrees.cp, span: module.fields.cp.span };
      yield* nodeReport(facts, kind, placed, 'The exchange of keys and values goes over the network.');
    }
  },
};

function* nodeReport(facts: LayoutFacts, kind: Kind, placed: Placed, consequence: string): Iterable<Report> {
  const { layout } = placed;
  const domain = nodeOf(layout);
  const text = crossingText(kind, placed, domain);
  const perNode = facts.root.cluster.value?.gpus_per_node;
  if (text !== null && perNode) {
    const related =
      domain.label === 'node'
        ? [{ message: `a node has ${countOf(domain.size, 'GPU')}`, span: perNode.span }]
        : clusterRelated(facts, layout);
    yield { message: `${text} ${consequence}`, span: kind.span, related };
  }
}

export const moduleSplitsNode: Rule = {
  code: 'module-splits-node',
  severity: 'information',
  title: 'Two modules share a node',
  effect: 'a fact worth knowing',
  what: 'In a job of more than one node, a module begins inside a node.',
  why: 'Modules of different speed then share the network cards and the memory of one machine, and a lost node takes ranks of both.',
  failing: `layout: 1
cluster: {nodes: 2, gpus_per_node: 8}
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 4, num_ranks: 12, tp: 2}
`,
  passing: `layout: 1
cluster: {nodes: 2, gpus_per_node: 8}
modules:
  images: {num_ranks: 8, tp: 2}
  language: {rank_offset: 8, num_ranks: 8, tp: 2}
`,
  sources: [otherSource('`ModuleGridSpec` in examples/mimo/training/topology.py: modules are placed by rank alone')],
  *check(facts) {
    const layout = facts.heterogeneous && facts.root.cluster.written ? resolveLayout(facts) : null;
    const perNode = facts.root.cluster.value?.gpus_per_node;
    if (!layout || !perNode || layout.nodes === 1 || layout.mode !== 'non_colocated') {
      return;
    }
    const splitting = facts.modules.filter(({ rankOffset }) => (rankOffset ?? 0) % layout.gpusPerNode !== 0);
    const [first] = splitting;
    if (!first?.own) {
      return;
    }
    const start = first.rankOffset ?? 0;
    const others = splitting.length > 1 ? ` So do ${countOf(splitting.length - 1, 'other module')}.` : '';
    yield {
      message: `\`${first.name}\` begins at rank ${start}, inside node ${Math.floor(start / layout.gpusPerNode)} of ${countOf(layout.gpusPerNode, 'GPU')}.${others}`,
      span: first.own.rank_offset.span,
      related: [{ message: `a node has ${countOf(layout.gpusPerNode, 'GPU')}`, span: perNode.span }],
    };
  },
};
