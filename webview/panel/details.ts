import { countOf, grouped } from '../../layout';
import {
  coordinatesOf,
  groupsOf,
  modulesOf,
  placeOf,
  type RankGroup,
  rankList,
  ranksOfGroup,
  standing,
} from '../../picture/facts';
import { groupIn } from '../views/pictures';
import type { Scene } from '../views/view';
import { findingItem, isOfWorld } from '../views/world';
import { button, h } from './dom';

/** What the list beside the picture says of one rank: where it is, where it stands, and every group that it is in. */
export function rankDetails(scene: Scene, rank: number): HTMLElement[] {
  const { layout, state, actions, base, difference } = scene;
  const modules = modulesOf(layout, rank);
  const groups = groupsOf(layout, rank);
  const place = `rank ${rank}, ${placeOf(layout, rank)}, ${standing(layout, rank)}`;
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
    ...(modules.length === 0 ? [h('p', { class: 'error' }, 'No module has this rank.')] : []),
    ...(change !== 'same' && base?.layout
      ? [h('p', { class: 'changed' }, `${CHANGE_TEXT[change]} In ${base.title}: ${standing(base.layout, rank)}.`)]
      : []),
    h(
      'p',
      { class: 'actions' },
      button('Show in the file', () => actions.revealModule(modules[0]?.name ?? null), {
        class: 'link',
        'data-keep': 'reveal',
      }),
      button(state.failed.includes(rank) ? 'Not failed' : 'Mark as failed', () => actions.toggleFailed(rank), {
        class: 'link',
        'data-keep': 'fail',
      }),
      button('Copy', () => actions.copy(place, 'coordinates'), {
        class: 'link',
        'data-keep': 'copy',
        'aria-label': 'Copy coordinates',
      }),
    ),
    h('h3', {}, `${countOf(groups.length, 'process group')} with peers`),
    h('ul', { class: 'groups' }, ...groups.map((group) => groupRow(scene, group))),
  ];
}

/** How many runs of ranks a group's row names. */
const MAX_RUNS = 6;

const CHANGE_TEXT = {
  peers: 'Its peers differ.',
  coordinates: 'Its coordinates differ.',
  absent: 'Only one of the layouts has it.',
} as const;

const chips = (coordinates: readonly string[]): HTMLElement[] =>
  (coordinates.length > 0 ? coordinates : ['alone']).map((text) => h('span', { class: 'chip' }, text));

function groupRow({ layout, state, actions }: Scene, group: RankGroup): HTMLElement {
  const { name, module, index, size, ranks } = group;
  const title = `${name}${module === null ? '' : ` of ${module}`}, group ${index}, ${countOf(size, 'rank')}`;
  const show = h(
    'button',
    {
      type: 'button',
      class: 'group',
      'aria-pressed': String(name === groupIn(layout, state.group)),
      'data-keep': `group ${module ?? ''} ${name} ${index}`,
      title: `${title}: colour by it`,
    },
    h('span', { class: 'name' }, name),
    h('span', { class: 'peers' }, ranks ? rankList(ranks, MAX_RUNS) : `${grouped(size)} ranks`),
  );
  show.addEventListener('click', () => actions.change({ view: 'groups', group: name }));
  const copy = button('Copy', () => actions.copy(ranksOfGroup(layout, group).join(', '), `ranks of ${title}`), {
    class: 'copy',
    'aria-label': `Copy the ranks of ${title}`,
    'data-keep': `copy ${module ?? ''} ${name} ${index}`,
  });
  return h('li', {}, show, copy);
}

/** What the list says while no rank is looked at: the layout in short, and how to find one's way. */
export function summary(scene: Scene): HTMLElement {
  const { layout, findings, actions } = scene;
  const modules = layout.modules.map(({ name, dense, expert, rankOffset, numRanks }) => {
    const product = (dims: typeof dense) =>
      dims
        .filter(({ size }) => size > 1)
        .map((dim) => `${dim.name} ${grouped(dim.size)}`)
        .join(' × ');
    const experts = expert.some((dim) => dim.name === 'ep' && dim.size > 1)
      ? [h('span', {}, `experts: ${product(expert)}`)]
      : [];
    const own = findings.filter((one) => name !== null && one.module === name && !isOfWorld(one));
    return h(
      'li',
      {},
      h('strong', {}, name ?? 'one grid'),
      h('span', {}, `ranks ${grouped(rankOffset)} to ${grouped(rankOffset + numRanks - 1)}`),
      h('span', {}, product(dense) || 'one rank'),
      ...experts,
      ...(own.length > 0 ? [h('ul', { class: 'findings' }, ...own.map((one) => findingItem(one, actions)))] : []),
    );
  });
  const keys: [string, string][] = [
    ['click, Enter', 'keep a rank and show its lines'],
    ['arrows', 'move from rank to rank'],
    ['wheel, + − 0', 'zoom, and fit'],
    ['Shift + drag', 'mark ranks as failed'],
    ['X', 'mark the rank as failed'],
    ['C', 'copy its coordinates'],
    ['/', 'find a rank'],
  ];
  return h(
    'div',
    { class: 'summary' },
    h('h2', {}, countOf(layout.worldSize, 'rank')),
    h('p', { class: 'place' }, `${grouped(layout.nodes)} × ${countOf(layout.gpusPerNode, 'GPU')}`),
    h('ul', { class: 'modules' }, ...modules),
    h('dl', { class: 'keys' }, ...keys.flatMap(([key, what]) => [h('dt', {}, key), h('dd', {}, what)])),
  );
}

/** How the layout differs from the one that it is compared with, with a list to go through. */
export function differenceCard({ base, difference, actions }: Scene): HTMLElement[] {
  if (!base) {
    return [];
  }
  if (!difference) {
    return [
      h(
        'section',
        { class: 'card plain' },
        h('h2', {}, 'Compare'),
        h('p', {}, base.problem ?? 'There is nothing to compare with.'),
      ),
    ];
  }
  const { ranks } = difference;
  const lines = (['coordinates', 'peers', 'absent'] as const)
    .map((change) => [change, difference.count(change)] as const)
    .filter(([, count]) => count > 0)
    .map(([change, count]) => h('li', {}, `${grouped(count)} ${COUNT_TEXT[change]}`));
  return [
    h(
      'section',
      { class: 'card plain', 'aria-label': 'Difference' },
      h(
        'h2',
        {},
        ranks.length === 0
          ? 'No rank differs'
          : `${countOf(ranks.length, 'rank')} ${ranks.length === 1 ? 'differs' : 'differ'}`,
      ),
      h('p', { class: 'place' }, `against ${base.title}`),
      ...(lines.length > 0 ? [h('ul', {}, ...lines), h('p', {}, rankList(ranks, 24))] : []),
      ...(ranks.length > 0
        ? [
            h(
              'p',
              { class: 'actions' },
              button('Next', () => actions.light(ranks, 'ranks that differ'), {
                class: 'link',
                'data-keep': 'next difference',
              }),
              button('Copy the list', () => actions.copy(ranks.join(', '), 'ranks that differ'), {
                class: 'link',
                'data-keep': 'copy difference',
              }),
            ),
          ]
        : []),
    ),
  ];
}

const COUNT_TEXT = {
  coordinates: 'at other coordinates',
  peers: 'with other peers',
  absent: 'in one layout only',
} as const;
