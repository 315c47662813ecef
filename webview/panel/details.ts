import { countOf, grouped, type KeyDifference, keptText, type ResolvedModule, rankList } from '../../layout';
import { layersOf } from '../../picture/blocks';
import { changeKindsOf } from '../../picture/changeColouring';
import { valueText } from '../../picture/comparison';
import { MAX_DRAWN } from '../../picture/drawing';
import { byExchange, type Flow, sentText, traffic } from '../../picture/flows';
import { degreesOf } from '../../picture/headline';
import {
  coordinatesOf,
  coordinatesText,
  type MergedGroup,
  mergedGroups,
  modulesOf,
  type NamedFamily,
  namedFamilies,
  nodesOf,
  placeOf,
  ranksOfGroup,
} from '../../picture/rankDetails';
import { nvlinkRanks, reachOf } from '../../picture/reach';
import { dimensionsOf } from '../../picture/table';
import { highlightedGroup } from '../views/pictures';
import type { Scene } from '../views/view';
import { diagnosticList, isOfWorld } from '../views/world';
import { MAX_RUNS, shardRows } from './checkpointCard';
import { button, h, link, tableOf, tableRow } from './dom';

/** The side list for one rank: its place, its coordinates and all its groups. */
export function rankDetails(scene: Scene, rank: number): HTMLElement[] {
  const { layout, state, actions, base, difference } = scene;
  const modules = modulesOf(layout, rank);
  const groups = byExchange(mergedGroups(layout, rank), flowsOf(scene));
  const place = `rank ${rank}, ${placeOf(layout, rank)}, ${coordinatesText(layout, rank)}`;
  const change = difference?.changeOf(rank) ?? 'same';
  return [
    h('h2', {}, `Rank ${grouped(rank)}`),
    h('p', { class: 'place' }, placeOf(layout, rank)),
    ...modules.map((module) =>
      h(
        'p',
        { class: 'chips' },
        ...(module.name === null ? [] : [h('strong', {}, module.name)]),
        ...chips(coordinatesOf(layout, module, rank)),
      ),
    ),
    ...modules.flatMap((module) => held(scene, module, rank)),
    ...(modules.length === 0 ? [h('p', { class: 'error' }, 'No module has this rank.')] : []),
    ...(change !== 'same' && base?.layout
      ? [
          h(
            'p',
            { class: 'changed' },
            `${CHANGE_TEXT[change]} In ${base.title}: ${coordinatesText(base.layout, rank)}.`,
          ),
        ]
      : []),
    h(
      'p',
      { class: 'actions' },
      link('Show in the file', () => actions.send({ type: 'reveal', module: modules[0]?.name ?? null }), 'reveal'),
      link(state.failed.includes(rank) ? 'Not failed' : 'Mark as failed', () => actions.toggleFailed(rank), 'fail'),
      link('Copy', () => actions.copy(place, 'coordinates'), 'copy', { 'aria-label': 'Copy coordinates' }),
    ),
    ...shardRows(scene, rank),
    h('h3', {}, `${countOf(groups.length, 'process group')} with peers`),
    ...sentLine(scene),
    h('ul', { class: 'groups' }, ...groups.map((group) => groupRow(scene, group))),
  ];
}

/** The layers that a rank's pipeline stage holds, where they are known. */
function held({ layout, stages }: Scene, module: ResolvedModule, rank: number): HTMLElement[] {
  const stage = dimensionsOf(layout)
    .find(({ name }) => name === 'pp')
    ?.indexOf(module, rank);
  const text = layersOf(stages, module.name, 'pp')[stage ?? -1];
  return text === undefined ? [] : [h('p', { class: 'place' }, text)];
}

const CHANGE_TEXT = {
  peers: 'Its peers differ.',
  coordinates: 'Its coordinates differ.',
  absent: 'Only one of the layouts has it.',
} as const;

const chips = (coordinates: readonly string[]): HTMLElement[] =>
  (coordinates.length > 0 ? coordinates : ['alone']).map((text) => h('span', { class: 'chip' }, text));

/** What travels in a step, as far as it is known. */
const flowsOf = ({ cost }: Scene): readonly Flow[] => cost.cost?.flows ?? [];

/** What a rank sends in a step in all of its groups; nothing where that is not known. */
function sentLine(scene: Scene): HTMLElement[] {
  const sent = sentText(flowsOf(scene));
  return sent === '' ? [] : [h('p', { class: 'place' }, `A rank sends ${sent} in a step.`)];
}

/** What ranks send in a step under all names of their group. */
const exchange = (bytes: number): HTMLElement[] =>
  bytes > 0 ? [h('span', { class: 'exchange', title: 'What a rank sends in a step' }, traffic(bytes))] : [];

/** The other names of the groups of a row, each as a way to show the groups of that name. */
function aliases({ actions }: Scene, [, ...others]: readonly string[], keep: string): HTMLElement[] {
  const alias = (name: string) =>
    button(['= ', ...breakable(name)], () => actions.change({ view: 'groups', group: name }), {
      class: 'alias',
      'aria-label': `Show the same groups as ${name}`,
      'data-keep': `${keep} alias ${name}`,
    });
  return others.length === 0 ? [] : [h('span', { class: 'aliases' }, ...others.map(alias))];
}

/** Pointing at a row shows its group alone, choosing it keeps that, and choosing it again shows all ranks. */
function groupRow(scene: Scene, group: MergedGroup & { readonly bytes: number }): HTMLElement {
  const { layout, state, actions } = scene;
  const { names, name, module, index, size, ranks, nodes, bytes } = group;
  const isHighlighted = names.includes(highlightedGroup(scene));
  const isAlone = isHighlighted && state.isolated;
  const title = `${names.join(' = ')}${module === null ? '' : ` of ${module}`}, group ${index}, ${countOf(size, 'rank')}`;
  const content = [
    h('span', { class: 'name' }, ...breakable(name)),
    nodes === null
      ? badge(`${grouped(size)} ranks`, false)
      : badge(nodesText(nodes), nodes > 1 && nodesOf(ranks ?? [], nvlinkRanks(layout)) > 1),
    h('span', { class: 'peers' }, ranks ? rankList(ranks, MAX_RUNS) : countOf(size, 'rank')),
    ...exchange(bytes),
  ];
  const toggle = () => actions.change(isAlone ? { isolated: false } : { group: name, isolated: true });
  const show = button(content, toggle, {
    class: isHighlighted ? 'group highlighted' : 'group',
    'aria-pressed': String(isAlone),
    'data-keep': `group ${module ?? ''} ${name} ${index}`,
    title,
  });
  const copy = button('Copy', () => actions.copy(ranksOfGroup(layout, group).join(', '), `ranks of ${title}`), {
    class: 'copy',
    'aria-label': `Copy the ranks of ${title}`,
    'data-keep': `copy ${module ?? ''} ${name} ${index}`,
  });
  const row = h('li', {}, show, copy, ...aliases(scene, names, `group ${module ?? ''} ${name} ${index}`));
  row.addEventListener('pointerenter', () => actions.preview(ranks ?? []));
  row.addEventListener('pointerleave', () => actions.preview([]));
  return row;
}

/** A name that a narrow list may break after a dot or an underscore. */
const breakable = (name: string): (string | HTMLElement)[] =>
  name.split(/(?<=[._])/).flatMap((part, i) => (i === 0 ? [part] : [h('wbr'), part]));

/** How many nodes a group spans; it stands out where the group leaves its NVLink domain. */
const badge = (text: string, isFar: boolean): HTMLElement => h('span', { class: isFar ? 'badge far' : 'badge' }, text);

const nodesText = (nodes: number): string => (nodes === 1 ? 'in node' : countOf(nodes, 'node'));

/** More modules than this are listed without their process groups. */
const MAX_MODULES = 4;

/** A kind of process groups: their number and how many nodes one spans; a click shows them. */
function kindRow(scene: Scene, { names, family, bytes }: NamedFamily & { readonly bytes: number }): HTMLElement {
  const { layout, actions } = scene;
  const { name, module, count, size } = family;
  const reach = reachOf(family, layout.gpusPerNode);
  const isFar = (reachOf(family, nvlinkRanks(layout))?.crossing ?? 0) > 0;
  const content = [
    h('span', { class: 'name' }, ...breakable(name)),
    ...(reach ? [badge(nodesText(reach.crossing === 0 ? 1 : reach.nodes), isFar)] : []),
    h('span', { class: 'peers' }, `${countOf(count, 'group')} of ${grouped(size)}`),
    ...exchange(bytes),
  ];
  const show = () => actions.change({ view: 'groups', group: name });
  const keep = `kind ${module ?? ''} ${name}`;
  const open = button(content, show, { class: 'group', 'data-keep': keep, title: 'Show these groups' });
  return h('li', {}, open, ...aliases(scene, names, keep));
}

/** What the list says while no rank is looked at: the layout in short. */
export function summary(scene: Scene): HTMLElement {
  const { layout, diagnostics, actions } = scene;
  const kindsOf = (module: ResolvedModule) => byExchange(namedFamilies(layout, module), flowsOf(scene));
  const modules = layout.modules.map((module) => {
    const { name, rankOffset, numRanks } = module;
    const own = diagnostics.filter((one) => name !== null && one.module === name && !isOfWorld(one));
    const notes = own.filter(({ severity }) => severity !== 'error');
    return h(
      'li',
      {},
      h('strong', {}, name ?? 'parallelism'),
      h('span', {}, `ranks ${grouped(rankOffset)} – ${grouped(rankOffset + numRanks - 1)}`),
      h('span', {}, degreesOf(module) || 'one rank'),
      ...(layout.modules.length > MAX_MODULES
        ? []
        : [h('ul', { class: 'groups' }, ...kindsOf(module).map((kind) => kindRow(scene, kind)))]),
      ...diagnosticList(notes, actions),
    );
  });
  return h(
    'div',
    { class: 'summary' },
    h('h2', {}, countOf(layout.worldSize, 'rank')),
    h('p', { class: 'place' }, `${grouped(layout.nodes)} × ${countOf(layout.gpusPerNode, 'GPU')}`),
    ...sentLine(scene),
    h('ul', { class: 'modules' }, ...modules),
  );
}

/** How the layout differs from the one that it is compared with, with a list to go through. */
export function differenceCard({ base, comparison, difference, layout, checkpoint, actions }: Scene): HTMLElement[] {
  if (!base) {
    return [];
  }
  if (!base.layout || !comparison) {
    // a base without a layout and without a problem gives its numbers alone
    return base.problem === null
      ? []
      : [h('section', { class: 'card plain' }, h('h2', {}, 'Compare'), h('p', {}, base.problem))];
  }
  const ranks = difference?.ranks ?? [];
  const title = difference
    ? differenceTitle(ranks.length, Math.max(layout.worldSize, base.layout.worldSize))
    : `Ranks are compared one by one up to ${grouped(MAX_DRAWN)}`;
  const kinds = difference ? changeKindsOf(difference).kinds : [];
  const steps = [
    link('Next', () => actions.light(ranks, 'ranks that differ'), 'next difference'),
    link('Copy the list', () => actions.copy(ranks.join(', '), 'ranks that differ'), 'copy difference'),
  ];
  return [
    h(
      'section',
      { class: 'card plain', 'aria-label': 'Difference' },
      h('h2', {}, comparison.headline),
      h('p', { class: 'place' }, `against ${base.title}`),
      ...(checkpoint.length > 0 ? [h('p', { class: 'hint' }, `Checkpoint: ${keptText(checkpoint)}.`)] : []),
      ...keyTable(comparison.keys),
      h('ul', { class: 'words' }, ...comparison.words.map((text) => h('li', {}, text))),
      h('p', {}, title),
      ...(ranks.length > 0
        ? [
            h('ul', {}, ...kinds.map(({ label, count }) => h('li', {}, `${grouped(count)} ${label}`))),
            h('p', {}, rankList(ranks, 12)),
            h('p', { class: 'actions' }, ...steps),
          ]
        : []),
    ),
  ];
}

/** So many changed keys are listed. */
const MAX_KEYS = 32;

/** The changed keys with their values. */
function keyTable(keys: readonly KeyDifference[]): HTMLElement[] {
  const rows = keys
    .slice(0, MAX_KEYS)
    .map(({ path, before, after }) =>
      tableRow(h('span', {}, ...breakable(path.join('.'))), [valueText(before), valueText(after)]),
    );
  const more = keys.length - rows.length;
  return keys.length === 0
    ? []
    : [
        tableOf(['Key', 'Before', 'Now'], rows, { class: 'outcomes' }),
        ...(more > 0 ? [h('p', {}, `${countOf(more, 'more key')}`)] : []),
      ];
}

function differenceTitle(count: number, all: number): string {
  if (count === 0) {
    return 'No rank differs';
  }
  return count === all
    ? `All ${countOf(all, 'rank')} differ`
    : `${countOf(count, 'rank')} ${count === 1 ? 'differs' : 'differ'}`;
}
