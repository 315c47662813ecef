import {
  type CheckpointVerdict,
  keptText,
  OUTCOME_WORDS,
  PART_NAMES,
  type PartVerdict,
  rankList,
  ShardMap,
} from '../../layout';
import { checkpointTitle, transferSentences, waysOut } from '../../picture/checkpoint';
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
          ...verdict.parts
            .filter(({ outcome }) => outcome !== 'loads')
            .flatMap(({ part, because }) => [h('h3', {}, PART_NAMES[part]), h('p', { class: 'hint' }, because)]),
          ...waysOnward(verdict.parts, actions.copy),
          ...sizes(verdict),
        ),
      )
    : [];
}

/** What something costs or becomes, a name and a value a line. */
export const costList = (costs: readonly (readonly [name: string, value: string])[]): HTMLElement =>
  h('dl', { class: 'cost' }, ...costs.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));

/** What a layout keeps of a checkpoint in one line, and the flags where a part does not load as it is. */
export function keptLines(checkpoint: readonly CheckpointVerdict[], { copy }: Scene['actions']): HTMLElement[] {
  const ways = waysOut(checkpoint.flatMap(({ parts }) => parts));
  return checkpoint.length === 0
    ? []
    : [
        h('p', { class: 'hint' }, `Checkpoint: ${keptText(checkpoint)}.`),
        ...(ways.length === 0
          ? []
          : [h('p', { class: 'hint' }, ...ways.flatMap((way) => [commandOf(way, copy), ' ']))]),
      ];
}

type Way = ReturnType<typeof waysOut>[number];

/** What can be done where a part does not load as it is. */
function waysOnward(parts: readonly PartVerdict[], copy: Scene['actions']['copy']): HTMLElement[] {
  const items = waysOut(parts).map((way) =>
    h('li', {}, h('span', { class: 'name' }, way.serves), `: ${way.what} `, commandOf(way, copy)),
  );
  return items.length === 0 ? [] : [h('h3', {}, 'What to do'), h('ul', { class: 'ways' }, ...items)];
}

/** What it takes to load the checkpoint. */
function sizes(verdict: CheckpointVerdict): HTMLElement[] {
  const sentences = transferSentences(verdict);
  return sentences.length === 0
    ? []
    : [h('h3', {}, 'To load'), ...sentences.map((text) => h('p', { class: 'hint' }, text))];
}

/** The flags or the command of a way out, which a click copies. A line breaks between its words, not inside a flag's two dashes. */
const commandOf = ({ what, serves, command }: Way, copy: Scene['actions']['copy']): HTMLElement =>
  button(
    command.split(' ').flatMap((word) => [h('span', {}, word), ' ']),
    () => copy(command, 'command'),
    { class: 'command', title: `${serves}: ${what} Copy`, 'data-keep': `copy ${command}` },
  );

/** How many runs of ranks a row of a list names. */
export const MAX_RUNS = 6;

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
