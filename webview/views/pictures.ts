import { groupAlong, type ResolvedLayout } from '../../layout';
import { changeKindsOf } from '../../picture/changeColouring';
import { colourChoices, colourIn } from '../../picture/colourings';
import { type DrawingId, drawingOf, groupIn, type Known } from '../../picture/drawing';
import { groupSchematic, MANY_RANKS } from '../../picture/groupSchematic';
import { type GridKind, logicalDims, usualAxes } from '../../picture/logical';
import { groupNames } from '../../picture/rankDetails';
import { h, picker } from '../panel/dom';
import { diagramElement } from '../render/diagram';
import type { Scene, View } from './view';

/** The picture and the answer of a view that follow from the layout and what a person chose. */
export const drawn = (id: DrawingId): Pick<View, 'picture' | 'headline'> => ({
  picture: (scene, layout) => {
    const drawing = drawingOf(layout, id, scene.state, layout === scene.layout ? knownOf(scene) : undefined);
    const isByChange = COLOURED.has(id) && colourOf(scene) === CHANGE;
    return isByChange && scene.difference
      ? { ...drawing, colouring: changeKindsOf(scene.difference).colouring }
      : drawing;
  },
  headline: (scene) => drawingOf(scene.layout, id, scene.state, knownOf(scene)).headline,
});

/** The views whose ranks are coloured as a person chooses. */
const COLOURED: ReadonlySet<DrawingId> = new Set(['physical', 'logical']);

/** The choice to colour ranks by what changed for them. */
const CHANGE = 'change';

/** What gives the colours: the choice of a person; beside another layout, what changed; else what the layout asks for. */
function colourOf({ layout, state, difference }: Pick<Scene, 'layout' | 'state' | 'difference'>): string {
  const isChanged = (difference?.ranks.length ?? 0) > 0;
  const isChosen = colourChoices(layout).some(({ id }) => id === state.colour);
  return isChanged && !isChosen ? CHANGE : colourIn(layout, state.colour);
}

const knownOf = ({ stages, cost }: Scene): Known => ({ stages, flows: cost.cost?.flows ?? [] });

/** Machines as nested boxes. */
export const physical: View = {
  id: 'physical',
  label: 'Where',
  question: 'Where does each part of the model run?',
  pickers: (scene) => [colourPicker(scene)],
  ...drawn('physical'),
};

/** Stages, replicas and ranks as nested boxes. */
export const logical: View = {
  id: 'logical',
  label: 'Structure',
  question: 'What is the structure of the model?',
  pickers: logicalPickers,
  ...drawn('logical'),
};

/** Ranks by the process group of one kind that they are in. */
export const groups: View = {
  id: 'groups',
  label: 'Groups',
  question: 'Who talks to whom, over what?',
  pickers: ({ layout, state, actions }) => [
    picker('Process group', groupNames(layout), groupIn(layout, state.group), (group) => actions.change({ group })),
  ],
  ...drawn('groups'),
  content: schematic,
};

/** One group with its nodes, where the world is too large to see one in it; the picture above is the map. */
function schematic({ layout, state, width }: Scene): HTMLElement | null {
  const kind = groupIn(layout, state.group);
  const diagram = layout.worldSize >= MANY_RANKS ? groupSchematic(layout, kind, state.rank, width) : null;
  return diagram && h('div', { class: 'sheet diagram-sheet' }, diagramElement(diagram, `One ${kind} group`));
}

/** The kind of process group whose peers are highlighted: the chosen one, or that of the dimension that gives the colours. */
export function highlightedGroup({ layout, state }: Pick<Scene, 'layout' | 'state'>): string {
  const names = groupNames(layout);
  if (state.view === 'groups' || names.includes(state.group)) {
    return groupIn(layout, state.group);
  }
  const colour = colourIn(layout, state.colour);
  const dim = state.view === 'ntp' ? 'tp' : groupAlong(colour);
  return groupIn(layout, dim);
}

function colourPicker(scene: Scene): HTMLElement {
  const { layout, difference, actions } = scene;
  const choices = [
    ...(difference && difference.ranks.length > 0 ? [{ id: CHANGE, label: 'what changed' }] : []),
    ...colourChoices(layout),
  ];
  const options = choices.map(({ id, label }) => ({ value: id, label }));
  // the peers that are highlighted follow the colours until a kind of group is chosen again
  return picker('Colour', options, colourOf(scene), (colour) => actions.change({ colour, group: '' }));
}

function logicalPickers(scene: Scene): HTMLElement[] {
  const { layout, state, actions } = scene;
  const dims = logicalDims(layout, state.grid);
  const usual = usualAxes(dims);
  const known = (name: string, fallback: string) => (dims.includes(name) ? name : fallback);
  const down = known(state.down, usual.down);
  const across = known(state.across, usual.across);
  return [
    colourPicker(scene),
    picker<GridKind>('Grid', ['dense', 'expert'], state.grid, (grid) => actions.change({ grid })),
    ...(dims.length > 1
      ? [
          // choosing the dimension that the other axis has swaps the two
          picker('Across', dims, across, (name) =>
            actions.change({ across: name, down: name === down ? across : down }),
          ),
          picker('Down', [{ value: '', label: 'none' }, ...dims], down, (name) =>
            actions.change({ down: name, across: name === across ? down : across }),
          ),
        ]
      : []),
    ...modulePicker(layout, state.module, (module) => actions.change({ module })),
  ];
}

/** Colocated modules share their ranks: coordinates are those of the chosen one. */
function modulePicker(layout: ResolvedLayout, chosen: string, change: (module: string) => void): HTMLElement[] {
  const modules = layout.modules.map(({ name }) => name ?? '');
  const module = modules.find((name) => name === chosen) ?? modules[0];
  return layout.mode === 'colocated' && module !== undefined ? [picker('Module', modules, module, change)] : [];
}
