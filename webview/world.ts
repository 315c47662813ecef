import type { ResolvedLayout } from '../layout';
import { formatted, h } from './dom';

/** Modules as spans of ranks over one axis: who covers what, and what nobody covers. */
export function worldView(layout: ResolvedLayout, reveal: (module: string | null) => void): HTMLElement {
  const { worldSize, modules } = layout;
  const share = (ranks: number) => `${(100 * ranks) / worldSize}%`;
  const rows = modules.map(({ name, rankOffset, numRanks, dense }, i) => {
    const dims = dense.filter(({ size }) => size > 1).map((dim) => `${dim.name} ${formatted(dim.size)}`);
    const label = name ?? 'parallelism';
    const bar = h(
      'button',
      { type: 'button', class: `bar bar-${i % 7}` },
      h('span', { class: 'bar-text' }, `${formatted(rankOffset)} – ${formatted(rankOffset + numRanks - 1)}`),
    );
    bar.title = `${label}: show in the file`;
    bar.style.left = share(rankOffset);
    bar.style.width = share(numRanks);
    bar.addEventListener('click', () => reveal(name));
    return h(
      'div',
      { class: 'world-row' },
      h('div', { class: 'world-name' }, h('strong', {}, label), h('span', {}, dims.join(' × ') || 'one rank')),
      h('div', { class: 'track' }, bar),
    );
  });
  const ends = h(
    'div',
    { class: 'world-row axis' },
    h('div', { class: 'world-name' }, ''),
    h('div', { class: 'ends' }, h('span', {}, '0'), h('span', {}, formatted(worldSize - 1))),
  );
  return h('div', { class: 'world' }, ...rows, ends);
}
