import { type Axis, denseGrid, expertGrid, type ResolvedLayout, type ResolvedModule } from '../layout';
import { boxLevel, layersOf, moduleLevel, nested } from './blocks';
import { numberingOf } from './numbering';
import { Placement, type Space } from './placement';
import type { StageLayers } from './stageLayers';
import { arranged, foldings, type OpenLevel, type OpenPanel } from './tiling';

/** Which grid of a module is drawn. */
export type GridKind = 'dense' | 'expert';

/** What a person wants to see along which axis; names that a module does not have are passed over. */
export interface LogicalChoice {
  readonly grid: GridKind;
  /** The dimension whose ranks lie side by side; empty for the usual one. */
  readonly across: string;
  /** The dimension whose ranks lie one under another; empty for the usual one. */
  readonly down: string;
  /** The module whose grid is drawn where modules share their ranks. */
  readonly module: string;
}

/** Dimensions that are drawn as cells side by side and one under another unless others are chosen: the tightest first. */
const ACROSS = ['tp', 'expt_tp'];
const DOWN = ['cp', 'ep', 'gtp_remat', 'expt_gtp_remat'];

/** More ranks than this in one row of a box make it a strip. */
const MAX_ROW = 8;

/** The dimensions along which ranks can be laid out: those longer than 1 in any module. */
export function logicalDims(layout: ResolvedLayout, grid: GridKind): string[] {
  const names = layout.modules.flatMap((module) => axesOf(module, grid).map(({ name }) => name));
  return [...new Set(names)];
}

/** The dimensions of cells unless others are chosen: empty for none. */
export function usualAxes(names: readonly string[]): { across: string; down: string } {
  const inner = [...ACROSS, ...DOWN].filter((name) => names.includes(name));
  const across = inner[0] ?? ['expt_dp', 'dp', 'pp'].find((name) => names.includes(name)) ?? '';
  return { across, down: inner.find((name) => name !== across) ?? '' };
}

/**
 * The structure of the model as nested boxes: stages hold replicas, replicas hold ranks, one dimension across and one down.
 * Modules on ranks of their own lie beside or under each other.
 */
export function logicalPlacement(
  layout: ResolvedLayout,
  choice: LogicalChoice,
  space: Space,
  stages: readonly StageLayers[] = [],
): Placement {
  const colocated = layout.mode === 'colocated';
  const one = layout.modules.find(({ name }) => name === choice.module) ?? layout.modules[0];
  const modules = colocated && one ? [one] : layout.modules;
  const parts = modules.map((module) => partOf(module, choice, modules.length > 1, stages));
  return new Placement(arranged(parts, space), numberingOf(layout));
}

const axesOf = (module: ResolvedModule, kind: GridKind): Axis[] =>
  (kind === 'dense' ? denseGrid(module) : expertGrid(module)).axes.filter(({ size }) => size > 1);

function partOf(
  module: ResolvedModule,
  choice: LogicalChoice,
  isNamed: boolean,
  stages: readonly StageLayers[],
): OpenPanel {
  const { name, rankOffset } = module;
  const axes = axesOf(module, choice.grid);
  const { across, down } = chosenAxes(axes, choice);
  const boxes = nested(axes.filter((axis) => axis !== across && axis !== down));
  const count = module.dense.reduce((product, { size }) => product * size, 1);
  const levels: OpenLevel[] = [
    ...(isNamed ? [moduleLevel(module, count)] : []),
    ...boxes.map((axis) => {
      const layers = layersOf(stages, name, axis.name);
      return boxLevel(axis, rankOffset, foldings(axis.size), (index) => layers[index] ?? '');
    }),
    ...(down ? [bareLevel(down, [1])] : []),
    // a dimension that has a box to itself is folded into rows where it is long: every cell says its own coordinate
    ...(across ? [bareLevel(across, down ? [across.size] : rowsOf(across.size, boxes.length > 0))] : []),
  ];
  return { offset: rankOffset, count, levels };
}

function chosenAxes(axes: readonly Axis[], choice: LogicalChoice): { across?: Axis; down?: Axis } {
  const usual = usualAxes(axes.map(({ name }) => name));
  const find = (name: string) => (name === '' ? undefined : axes.find((axis) => axis.name === name));
  const down = find(choice.down) ?? (choice.across === usual.down ? undefined : find(usual.down));
  const wanted = find(choice.across) ?? find(usual.across);
  // both may name the same dimension: then the one across gives way
  const across = wanted === down ? axes.find((axis) => axis !== down) : wanted;
  return { ...(across ? { across } : {}), ...(down ? { down } : {}) };
}

const bareLevel = ({ name, stride, size }: Axis, columns: readonly number[]): OpenLevel => ({
  kind: name,
  stride,
  size,
  columns,
  label: null,
});

/** How many ranks may lie side by side: in a box all of them where they are few. */
const rowsOf = (size: number, isBoxed: boolean): readonly number[] =>
  isBoxed
    ? [size, ...foldings(size).filter((columns) => size > MAX_ROW && size % columns === 0 && columns >= MAX_ROW / 2)]
    : foldings(size);
