import type { ResolvedLayout } from '../../layout';
import { colourChoices, colouringBy, groupColouring } from '../../picture/colourings';
import { groupNames } from '../../picture/facts';
import { type GridKind, logicalDims, logicalPlacement, usualAxes } from '../../picture/logical';
import { physicalPlacement } from '../../picture/physical';
import { h, picker } from '../panel/dom';
import type { Scene, View } from './view';

/** Machines as boxes of GPUs. */
export const physical: View = {
  id: 'physical',
  label: 'Physical',
  pickers: (scene) => [colourPicker(scene)],
  picture: ({ state }, layout) => ({
    place: (space) => physicalPlacement(layout, space),
    colouring: colouringBy(layout, colourIn(layout, state.colour)),
  }),
};

/** Dimensions as axes. */
export const logical: View = {
  id: 'logical',
  label: 'Logical',
  pickers: logicalPickers,
  picture: ({ state }, layout) => ({
    place: (space) => logicalPlacement(layout, state, space),
    colouring: colouringBy(
      layout.mode === 'colocated' ? moduleAlone(layout, state.module) : layout,
      colourIn(layout, state.colour),
    ),
  }),
};

/** Ranks by the process group of one kind that they are in. */
export const groups: View = {
  id: 'groups',
  label: 'Groups',
  pickers: (scene) => [groupPicker(scene)],
  picture: ({ state }, layout) => ({
    place: (space) => physicalPlacement(layout, space),
    colouring: groupColouring(layout, groupIn(layout, state.group)),
  }),
};

/** The chosen colouring, or the first where the layout does not have that one. */
export function colourIn(layout: ResolvedLayout, colour: string): string {
  const choices = colourChoices(layout);
  return (choices.find(({ id }) => id === colour) ?? choices[0])?.id ?? 'node';
}

/** The chosen kind of process group, or the first that has peers. */
export function groupIn(layout: ResolvedLayout, group: string): string {
  const names = groupNames(layout);
  return names.find((name) => name === group) ?? names.find((name) => name === 'tp') ?? names[0] ?? 'tp';
}

export function groupPicker({ layout, state, actions }: Scene): HTMLElement {
  const options = groupNames(layout).map((name) => ({ value: name, label: name }));
  return picker('Process group', options, groupIn(layout, state.group), (group) => actions.change({ group }));
}

function colourPicker({ layout, state, actions }: Scene): HTMLElement {
  const options = colourChoices(layout).map(({ id, label }) => ({ value: id, label }));
  return picker('Colour', options, colourIn(layout, state.colour), (colour) => actions.change({ colour }));
}

function logicalPickers(scene: Scene): HTMLElement[] {
  const { layout, state, actions } = scene;
  const dims = logicalDims(layout, state.grid);
  const usual = usualAxes(dims);
  const options = dims.map((value) => ({ value, label: value }));
  const known = (name: string, fallback: string) => (dims.includes(name) ? name : fallback);
  const down = known(state.down, usual.down);
  const chosen = known(state.across, usual.across);
  const across = chosen === down ? (dims.find((dim) => dim !== down) ?? chosen) : chosen;
  const slices = dims.filter((dim) => dim !== across && dim !== down);
  const grids: { value: GridKind; label: string }[] = [
    { value: 'dense', label: 'dense' },
    { value: 'expert', label: 'expert' },
  ];
  const modules = layout.modules.map(({ name }) => ({ value: name ?? '', label: name ?? '' }));
  const module = modules.find(({ value }) => value === state.module) ?? modules[0];
  return [
    colourPicker(scene),
    picker('Grid', grids, state.grid, (grid) => actions.change({ grid })),
    ...(dims.length > 1
      ? [
          // choosing the dimension that the other axis has swaps the two
          picker('Across', options, across, (name) =>
            actions.change({ across: name, down: name === down ? across : down }),
          ),
          picker('Down', options, down, (name) =>
            actions.change({ down: name, across: name === across ? down : across }),
          ),
        ]
      : []),
    ...(slices.length > 0 ? [h('span', { class: 'hint' }, `slices by ${slices.join(' and ')}`)] : []),
    ...(layout.mode === 'colocated' && module
      ? [picker('Module', modules, module.value, (name) => actions.change({ module: name }))]
      : []),
  ];
}

/** Colocated modules share their ranks: coordinates are those of the chosen one. */
function moduleAlone(layout: ResolvedLayout, name: string): ResolvedLayout {
  const module = layout.modules.find((one) => one.name === name) ?? layout.modules[0];
  return module ? { ...layout, modules: [module] } : layout;
}
