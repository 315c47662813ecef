import type { Related, Span } from '../../diagnostic';
import { grouped } from '../../format/quantities';
import type { Grid } from '../../grid/grid';
import { memoizeRecent } from '../../memoize';
import { crossings, type Domain, nodeOf } from '../../topology/crossings';
import type { Degrees, LayoutFacts, ModuleFacts } from '../../topology/facts';
import { denseGrid, expertGrid } from '../../topology/processGroups';
import { resolveLayout } from '../../topology/resolve';
import type { ResolvedLayout, ResolvedModule } from '../../topology/resolved';
import { countOf } from '../numbers';
import type { Report } from '../rule';

/** A module in a world of which the file says where its ranks land. */
export interface Placed {
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

/** The modules of a whole layout with a written cluster; none where places are not known. */
export const placedModules = memoizeRecent((facts: LayoutFacts): readonly Placed[] => {
  const cluster = facts.root.cluster.value;
  // packed placement launches only the active ranks, which moves them from their places in the grid
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
});

/** A kind of group whose ranks should lie together. */
export interface Kind {
  readonly label: string;
  readonly grid: (module: ResolvedModule) => Grid;
  readonly dims: readonly string[];
  /** The degree that makes groups of this kind; with 1 there is nothing to report. */
  readonly degree: number;
  /** The key that gives the degree. */
  readonly span: Span;
}

/** How many groups of a kind leave their domain, in a sentence; null where none does. */
export function crossingText(kind: Kind, { resolved, borders }: Placed, domain: Domain): string | null {
  const { label, grid, dims, degree } = kind;
  if (degree === 1) {
    return null;
  }
  const { groups, crossing, exact, first } = crossings(grid(resolved), dims, domain.size, borders);
  if (!first) {
    return null;
  }
  const isOne = crossing === 1 && exact;
  const which = groups === 1 ? 'it' : isOne ? `group ${first.index}` : `the first, group ${first.index},`;
  const count = `${exact ? '' : 'At least '}${quantity(crossing, groups, `${label} group`)}`;
  return `${count} ${isOne ? 'spans' : 'span'} more than one ${domain.label} of ${countOf(domain.size, 'GPU')}: ${which} reaches from rank ${first.start} to ${first.end}.`;
}

/** `The TP group`, `Both TP groups`, `All 4 TP groups`, `1 of 4 TP groups`. */
function quantity(part: number, whole: number, noun: string): string {
  if (part < whole) {
    return `${grouped(part)} of ${countOf(whole, noun)}`;
  }
  return whole === 1 ? `The ${noun}` : whole === 2 ? `Both ${noun}s` : `All ${countOf(whole, noun)}`;
}

/** Where the file says how many GPUs an NVLink domain has. */
export function nvlinkRelated({ root }: LayoutFacts, layout: ResolvedLayout): Related[] {
  const cluster = root.cluster.value;
  const byGpu = layout.gpusPerNvlinkDomain > layout.gpusPerNode && cluster?.gpu.written;
  const field = cluster?.gpus_per_nvlink_domain.written
    ? cluster.gpus_per_nvlink_domain
    : byGpu
      ? cluster.gpu
      : cluster?.gpus_per_node;
  return field
    ? [{ message: `an NVLink domain has ${countOf(layout.gpusPerNvlinkDomain, 'GPU')}`, span: field.span }]
    : [];
}

/** The check of a rule on groups along one dimension that leave their node, with what that means. */
export function nodeCheck(dim: 'cp' | 'ep', effect: string): (facts: LayoutFacts) => readonly Report[] {
  const label = dim.toUpperCase();
  const grid = dim === 'ep' ? expertGrid : denseGrid;
  return (facts) =>
    placedModules(facts).flatMap((placed) => {
      const { degrees, module } = placed;
      const kind = { label, grid, dims: [dim], degree: degrees[dim], span: module.fields[dim].span };
      return nodeReports(facts, kind, placed, effect);
    });
}

function nodeReports(facts: LayoutFacts, kind: Kind, placed: Placed, effect: string): Report[] {
  const { layout } = placed;
  const domain = nodeOf(layout);
  const text = crossingText(kind, placed, domain);
  const perNode = facts.root.cluster.value?.gpus_per_node;
  if (text === null || !perNode) {
    return [];
  }
  const related =
    domain.label === 'node'
      ? [{ message: `a node has ${countOf(domain.size, 'GPU')}`, span: perNode.span }]
      : nvlinkRelated(facts, layout);
  // a group that a rack could hold stalls on the network for nothing
  const wouldFit = domain.label !== 'node' && kind.degree <= domain.size;
  const advice = wouldFit ? ` Use a degree that divides ${domain.size}, so that every group stays in one domain.` : '';
  const message = `${text} ${effect}${advice}`;
  return [{ message, span: kind.span, related, ...(wouldFit && { severity: 'warning' }) }];
}
