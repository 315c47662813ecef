import {
  type CheckpointPart,
  type CheckpointVerdict,
  keptText,
  OUTCOME_WORDS,
  PART_NAMES,
  type PartVerdict,
  rankList,
  ShardMap,
  type WayOut,
} from '../../layout';
import { checkpointTitle, transferSentences } from '../../picture/checkpoint';
import type { Scene } from '../views/view';
import { button, h } from './dom';

/** What of a checkpoint of the layout that is compared with this one can load; nothing while there is none. */
export function checkpointCards({ base, checkpoint, actions }: Scene): HTMLElement[] {
  return base?.layout
    ? checkpoint.map((verdict) =>
        h(
          'section',
          { class: 'card plain', 'aria-label': 'Checkpoint' },
          h('h2', {}, 'Checkpoint'),
          h('p', { class: 'place' }, `${checkpointTitle(verdict)}, saved by ${base.title}`),
          costList(verdict.parts.map(({ part, outcome }) => [PART_NAMES[part], OUTCOME_WORDS[outcome]])),
          ...verdict.parts.filter(({ outcome }) => outcome !== 'loads').flatMap((part) => reasons(part, actions.copy)),
          ...transferSentences(verdict).map((text) => h('p', { class: 'hint' }, text)),
        ),
      )
    : [];
}

/** What something costs or becomes, a name and a value a line. */
export const costList = (costs: readonly (readonly [name: string, value: string])[]): HTMLElement =>
  h('dl', { class: 'cost' }, ...costs.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));

/** What a layout keeps of a checkpoint in one line, and the flags where a part does not load as it is. */
export function keptLines(checkpoint: readonly CheckpointVerdict[], { copy }: Scene['actions']): HTMLElement[] {
  const commands = checkpoint
    .flatMap(({ parts }) => parts)
    .flatMap(({ part, ways }) => ways.flatMap((way) => [commandOf(part, way, copy), ' ']));
  return checkpoint.length === 0
    ? []
    : [
        h('p', { class: 'hint' }, `Checkpoint: ${keptText(checkpoint)}.`),
        ...(commands.length === 0 ? [] : [h('p', { class: 'hint' }, ...commands)]),
      ];
}

/** Why a part does not load as it is, and the ways out. */
function reasons({ part, because, ways }: PartVerdict, copy: Scene['actions']['copy']): HTMLElement[] {
  return [
    h('h3', {}, PART_NAMES[part]),
    h('p', { class: 'hint' }, because),
    ...ways.map((way) => h('p', { class: 'hint' }, `${way.what} `, commandOf(part, way, copy))),
  ];
}

/** The flags or the command of a way out, which a click copies. */
const commandOf = (part: CheckpointPart, { what, command }: WayOut, copy: Scene['actions']['copy']): HTMLElement =>
  button(command, () => copy(command, 'command'), {
    class: 'command',
    title: `${what} Copy`,
    'data-keep': `copy ${part} ${command}`,
  });

/** The ranks that are named in a row. */
const MAX_RUNS = 6;

/** From whom a rank loads, and who loads what it saved: pointing at a row shows both sides. */
export function shardRows(scene: Scene, rank: number): HTMLElement[] {
  const { base, layout, checkpoint, actions } = scene;
  const rows = checkpoint.flatMap((verdict) => {
    const map = base?.layout ? shardMap(verdict, scene) : null;
    if (!map || !base) {
      return [];
    }
    const [sources, readers] = [map.sourcesOf(rank), map.readersOf(rank)];
    return [
      row('loads from', sources, base.title, () => actions.preview([rank], sources)),
      row('is loaded by', readers, layout.name ?? 'now', () => actions.preview(readers, [rank])),
    ].flat();
  });
  const clear = () => actions.preview([]);
  for (const one of rows) {
    one.addEventListener('pointerleave', clear);
    one.addEventListener('focusout', clear);
  }
  return rows.length > 0 ? [h('h3', {}, 'Checkpoint'), h('ul', { class: 'groups' }, ...rows)] : [];
}

function shardMap({ module, shards }: CheckpointVerdict, { base, layout }: Scene): ShardMap | null {
  const [before, after] = [base?.layout, layout].map((one) => one?.modules.find(({ name }) => name === module));
  return before && after && shards ? new ShardMap(before, after, shards) : null;
}

function row(name: string, ranks: readonly number[], where: string, show: () => void): HTMLElement[] {
  if (ranks.length === 0) {
    return [];
  }
  const content = [
    h('span', { class: 'name' }, name),
    h('span', { class: 'peers' }, `${rankList(ranks, MAX_RUNS)} (${where})`),
  ];
  const item = h(
    'li',
    {},
    button(content, show, { class: 'group', 'data-keep': `shards ${name}`, title: 'Show them in both pictures' }),
  );
  item.addEventListener('pointerenter', show);
  item.addEventListener('focusin', show);
  return [item];
}
