import {
  type Axis,
  countOf,
  denseGrid,
  expertGrid,
  grouped,
  type ResolvedLayout,
  type ResolvedModule,
} from '../layout';
import { nested } from './blocks';
import { exchangedIn, type Flow, traffic } from './flows';
import { familiesOf, kindsOf } from './rankDetails';
import { groupsSentence, nvlinkRanks, reachOf } from './reach';

/** The answer that a view gives: one line, and what it is about. */
export interface Headline {
  readonly title: string;
  readonly sub: string;
}

/** So many modules are named in a headline; more are counted. */
const MAX_NAMED = 3;

/** The machines and the degrees of a layout: `64 ranks on 8 nodes of 8 GPUs · tp 4 × dp 4 × pp 4`. */
export function subject(layout: ResolvedLayout): string {
  const { worldSize, nodes, gpusPerNode, modules } = layout;
  const degrees = modules.length === 1 && modules[0] ? [degreesOf(modules[0])] : [countOf(modules.length, 'module')];
  const on = nodes > 1 ? `${countOf(nodes, 'node')} of ${countOf(gpusPerNode, 'GPU')}` : '1 node';
  return [`${countOf(worldSize, 'rank')} on ${on}`, ...degrees].filter(Boolean).join(' · ');
}

/** The degrees of a module that are more than 1: `tp 4 × dp 4 × pp 4`, and those of its experts. */
export function degreesOf(module: ResolvedModule): string {
  const expert = expertGrid(module);
  const experts =
    expert.sizeOf('ep') > 1 ? [`experts ${productText(expert.axes.filter(({ name }) => name !== 'pp'))}`] : [];
  return [productText(denseGrid(module).axes), ...experts].filter(Boolean).join(', ');
}

/** Degrees that are more than 1: `tp 4 × dp 4`. */
export const productText = (dims: readonly Pick<Axis, 'name' | 'size'>[]): string =>
  dims.flatMap(({ name, size }) => (size > 1 ? `${name} ${grouped(size)}` : [])).join(' × ');

/** Where each part of the model runs. */
export function whereHeadline(layout: ResolvedLayout): Headline {
  const [module] = layout.modules;
  const title =
    layout.modules.length > 1 || !module
      ? modulesSentence(layout)
      : `${partsSentence(layout, module)}; ${tensorSentence(layout)}.`;
  return { title, sub: subject(layout) };
}

function modulesSentence({ modules, mode, gpusPerNode }: ResolvedLayout): string {
  if (mode === 'colocated') {
    return `${countOf(modules.length, 'module')} share all ranks.`;
  }
  if (modules.length > MAX_NAMED) {
    return `${countOf(modules.length, 'module')}, each on ranks of its own.`;
  }
  const whole = modules.every(
    ({ rankOffset, numRanks }) => rankOffset % gpusPerNode === 0 && numRanks % gpusPerNode === 0,
  );
  const place = ({ rankOffset, numRanks }: ResolvedModule) =>
    whole ? span('node', rankOffset / gpusPerNode, numRanks / gpusPerNode) : span('rank', rankOffset, numRanks);
  return `${modules.map((one) => `${one.name} runs on ${place(one)}`).join(', ')}.`;
}

const span = (what: string, first: number, count: number): string =>
  count === 1 ? `${what} ${grouped(first)}` : `${what}s ${grouped(first)} – ${grouped(first + count - 1)}`;

function partsSentence({ gpusPerNode, worldSize }: ResolvedLayout, module: ResolvedModule): string {
  const grid = denseGrid(module);
  const axes = grid.axes.filter(({ size }) => size > 1);
  const parts = axes.find(({ name }) => name === 'pp') ?? axes.find(({ name }) => name === 'dp') ?? axes.at(-1);
  if (!parts) {
    return worldSize === 1 ? 'One rank holds the whole model' : `${countOf(worldSize, 'rank')} without parallelism`;
  }
  const { name, size, stride } = parts;
  const what = countOf(size, name === 'pp' ? 'pipeline stage' : name === 'dp' ? 'replica' : `${name} part`);
  const ranks = grid.size / size;
  if (grid.size !== worldSize) {
    // packed nonuniform TP launches fewer ranks in reduced replicas
    return `${what} of up to ${countOf(ranks, 'rank')} each`;
  }
  const each = `${what} of ${countOf(ranks, 'rank')} each`;
  if (worldSize <= gpusPerNode) {
    return `${each} on one node`;
  }
  if (stride * size !== worldSize) {
    return `${each}, spread over the nodes`;
  }
  if (ranks % gpusPerNode === 0) {
    return `${what} of ${countOf(ranks / gpusPerNode, 'node')} each`;
  }
  return gpusPerNode % ranks === 0 ? `${each}, ${grouped(gpusPerNode / ranks)} in a node` : each;
}

function tensorSentence(layout: ResolvedLayout): string {
  const family = familiesOf(layout).find(({ name, size }) => name === 'tp' && size > 1);
  const reach = family && reachOf(family, layout.gpusPerNode);
  if (!family || !reach) {
    return 'no tensor parallelism';
  }
  if (reach.crossing === 0) {
    return layout.nodes > 1 ? 'tensor parallelism stays inside every node' : 'every tp group shares the node';
  }
  const domain = nvlinkRanks(layout);
  if (domain > layout.gpusPerNode && reachOf(family, domain)?.crossing === 0) {
    return 'tensor parallelism stays inside every NVLink domain';
  }
  const which =
    reach.crossing === family.count
      ? 'every tp group crosses'
      : `${grouped(reach.crossing)} of ${countOf(family.count, 'tp group')} ${reach.crossing === 1 ? 'crosses' : 'cross'}`;
  return `${which} nodes`;
}

/** What the structure of the model is. */
export function structureHeadline(
  layout: ResolvedLayout,
  module: ResolvedModule | undefined,
  grid: 'dense' | 'expert',
): Headline {
  const one = module ?? layout.modules[0];
  if (layout.modules.length > 1 && layout.mode !== 'colocated') {
    const parts = layout.modules.slice(0, MAX_NAMED).map((each) => `${each.name} ${degreesOf(each) || 'on one rank'}`);
    const more = layout.modules.length > MAX_NAMED ? [`and ${grouped(layout.modules.length - MAX_NAMED)} more`] : [];
    return { title: [...parts, ...more].join('; '), sub: subject(layout) };
  }
  const axes = one ? (grid === 'dense' ? denseGrid(one) : expertGrid(one)).axes.filter(({ size }) => size > 1) : [];
  const words = nested(axes).map(({ name, size }) => `${grouped(size)} ${WORDS[name] ?? name}`);
  return { title: words.length > 0 ? words.join(' × ') : 'One rank, without parallelism', sub: subject(layout) };
}

const WORDS: Readonly<Record<string, string>> = {
  pp: 'pipeline stages',
  dp: 'replicas',
  expt_dp: 'expert replicas',
  tp: 'tensor-parallel ranks',
  cp: 'context-parallel ranks',
  ep: 'expert-parallel ranks',
  expt_tp: 'expert tensor-parallel ranks',
};

/**
 * Who talks to whom in the groups of one kind.
 * @param flows what a rank sends in a step, where that is known
 */
export function groupsHeadline(layout: ResolvedLayout, name: string, flows: readonly Flow[]): Headline {
  const bytes = kindsOf(layout)
    .filter(({ names }) => names.includes(name))
    .reduce((sum, { module, names }) => sum + exchangedIn(flows, module, names), 0);
  const sent = bytes > 0 ? `a rank sends ${traffic(bytes)} a step` : '';
  return { title: groupsSentence(layout, name, sent), sub: subject(layout) };
}
