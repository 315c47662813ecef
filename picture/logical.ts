import { type Axis, denseGrid, divisors, expertGrid, type ResolvedLayout, type ResolvedModule } from '../layout';
import { numberingOf } from './numbering';
import {
  type Block,
  type BoxSet,
  cellSize,
  MAX_SPACED,
  type PlacedAxis,
  Placement,
  type Ruler,
  type Space,
} from './placement';

/** Which grid of a module is drawn. */
export type GridKind = 'dense' | 'expert';

/** What a person wants to see along which axis; names that a module does not have are passed over. */
export interface LogicalChoice {
  readonly grid: GridKind;
  /** The dimension across a slice; empty for the usual one. */
  readonly across: string;
  /** The dimension down a slice; empty for the usual one. */
  readonly down: string;
  /** The module whose grid is drawn where modules share their ranks. */
  readonly module: string;
}

/** The dimensions along which ranks can be laid out: those longer than 1 in any module. */
export function logicalDims(layout: ResolvedLayout, grid: GridKind): string[] {
  const names = layout.modules.flatMap((module) => axesOf(module, grid).map(({ name }) => name));
  return [...new Set(names)];
}

/** The dimensions that a grid is drawn along when nobody chose: model parallelism across, replicas down. */
export function usualAxes(names: readonly string[]): { across: string; down: string } {
  const down = names.find((name) => name.endsWith('dp')) ?? names.at(-1) ?? '';
  const across = ['tp', 'expt_tp', 'ep', 'cp', ...names].find((name) => name !== down && names.includes(name)) ?? '';
  return { across, down };
}

/**
 * Dimensions as axes: one across, one down, the others as slices (small multiples). Modules on ranks of their own stand
 * beside or under each other.
 */
export function logicalPlacement(layout: ResolvedLayout, choice: LogicalChoice, space: Space): Placement {
  const colocated = layout.mode === 'colocated';
  const one = layout.modules.find(({ name }) => name === choice.module) ?? layout.modules[0];
  const modules = colocated && one ? [one] : layout.modules;
  const gap = layout.worldSize <= MAX_SPACED ? 1 : 0;
  const sheets = modules.map((module) => {
    const share = Math.sqrt(module.numRanks / modules.reduce((sum, { numRanks }) => sum + numRanks, 0));
    const own = { width: space.width * share, height: space.height * share };
    return sheetOf(module, choice, modules.length > 1 ? own : space, gap);
  });
  const [wide, high] = [stacked(sheets, true, gap), stacked(sheets, false, gap)];
  const best = cellSize(space, wide.width, wide.height) > cellSize(space, high.width, high.height) ? wide : high;
  const placed = best.sheets;
  return new Placement(
    best.width,
    best.height,
    placed.map(({ block }) => block),
    placed.flatMap(({ boxSets }) => boxSets),
    placed.flatMap(({ rulers }) => rulers),
    numberingOf(layout),
  );
}

/** The picture of one module: its slices with their frames and rulers. */
interface Sheet {
  readonly block: Block;
  readonly boxSets: readonly BoxSet[];
  readonly rulers: readonly Ruler[];
}

function stacked(sheets: readonly Sheet[], beside: boolean, gap: number) {
  let at = 0;
  const placed: Sheet[] = [];
  for (const { block, boxSets, rulers } of sheets) {
    const [dx, dy] = beside ? [at, 0] : [0, at];
    const moved = <T extends { x: number; y: number }>(part: T): T => ({ ...part, x: part.x + dx, y: part.y + dy });
    placed.push({
      block: moved(block),
      boxSets: boxSets.map(moved),
      rulers: rulers.map((ruler) => {
        const [along, across] = ruler.along === 'x' ? [dx, dy] : [dy, dx];
        return { ...ruler, start: ruler.start + along, at: ruler.at + across };
      }),
    });
    at += (beside ? block.width : block.height) + (block.width + block.height > 8 || gap === 0 ? 2 : 1);
  }
  const right = placed.map(({ block }) => block.x + block.width);
  const bottom = placed.map(({ block }) => block.y + block.height);
  return { sheets: placed, width: Math.max(1, ...right), height: Math.max(1, ...bottom) };
}

const axesOf = (module: ResolvedModule, kind: GridKind): Axis[] =>
  (kind === 'dense' ? denseGrid(module) : expertGrid(module)).axes.filter(({ size }) => size > 1);

/** A dimension that slices are laid out along; `label` is how its value is called. */
interface SliceAxis {
  readonly stride: number;
  readonly size: number;
  readonly label: (index: number) => string;
}

function sheetOf(module: ResolvedModule, choice: LogicalChoice, space: Space, gap: number): Sheet {
  const grid = axesOf(module, choice.grid);
  const usual = usualAxes(grid.map(({ name }) => name));
  const find = (name: string, fallback: string) =>
    grid.find((axis) => axis.name === name) ?? grid.find((axis) => axis.name === fallback);
  const down = find(choice.down, usual.down);
  const chosen = find(choice.across, usual.across);
  // both pickers may name the same dimension: then the one across gives way
  const across = chosen === down ? grid.find((axis) => axis !== down) : chosen;
  const rest = grid.filter((axis) => axis !== across && axis !== down);
  const slices = rest.map(({ name, stride, size }) => ({ stride, size, label: (i: number) => `${name} ${i}` }));
  const candidates = foldings(across, down).flatMap((folding) => {
    const all = [...(folding.band ? [folding.band] : []), ...slices];
    return arrangements(all).map(({ sideways, ease }) => ({
      sheet: laidOut(module, folding, all, sideways, gap),
      ease: folding.band ? ease * FOLDED : ease,
    }));
  });
  const size = ({ sheet: { block }, ease }: (typeof candidates)[number]) =>
    ease * cellSize(space, block.width, block.height);
  return candidates.reduce((best, one) => (size(one) > size(best) ? one : best)).sheet;
}

/** How much larger cells must get for a dimension to be folded into bands, or slices to run over several lines. */
const FOLDED = 0.6;
const WRAPPED = 0.85;

/** Every way to arrange slices: how many of each dimension stand side by side; the last one may run over several lines. */
function arrangements(slices: readonly SliceAxis[]): { sideways: number[]; ease: number }[] {
  return slices.reduce<{ sideways: number[]; ease: number }[]>(
    (all, { size }, i) =>
      all.flatMap(({ sideways, ease }) =>
        (i === slices.length - 1 ? divisors(size).reverse() : [size, 1]).map((count) => ({
          sideways: [...sideways, count],
          ease: count === 1 || count === size ? ease : ease * WRAPPED,
        })),
      ),
    [{ sideways: [], ease: 1 }],
  );
}

/** How one slice is cut: cells across and down, and the bands into which a long dimension is folded. */
interface Folding {
  readonly across: { readonly name: string; readonly stride: number; readonly size: number } | null;
  readonly down: { readonly name: string; readonly stride: number; readonly size: number } | null;
  readonly band: SliceAxis | null;
}

/** Every way to fold: a single dimension into lines, else the one down into bands; the plain one first. */
function foldings(across: Axis | undefined, down: Axis | undefined): Folding[] {
  const only = down && across ? null : (down ?? across ?? null);
  if (!down || only) {
    const { name, stride, size } = only ?? { name: '', stride: 1, size: 1 };
    return divisors(size).map((line) => ({
      across: { name, stride, size: line },
      down: { name: '', stride: stride * line, size: size / line },
      band: null,
    }));
  }
  const { name, stride, size } = down;
  return divisors(size)
    .reverse()
    .map((rows) => {
      const label = (i: number) => `${name} ${i * rows} – ${(i + 1) * rows - 1}`;
      const band = rows === size ? null : { stride: stride * rows, size: size / rows, label };
      return { across: across ?? null, down: { name, stride, size: rows }, band };
    });
}

function laidOut(
  module: ResolvedModule,
  { across, down }: Folding,
  slices: readonly SliceAxis[],
  sideways: readonly number[],
  gap: number,
): Sheet {
  const axes: PlacedAxis[] = [];
  const frame = { width: across?.size ?? 1, height: down?.size ?? 1 };
  const end = { x: frame.width, y: frame.height };
  if (across) {
    axes.push({ stride: across.stride, size: across.size, dx: 1, dy: 0 });
  }
  if (down) {
    axes.push({ stride: down.stride, size: down.size, dx: 0, dy: 1 });
  }
  const steps = slices.flatMap(({ stride, size }, i) => {
    const beside = sideways[i] ?? size;
    const space = Math.max(gap, Math.floor(Math.min(end.x, end.y) / 64));
    const parts = [
      { stride, size: beside, dx: end.x + space, dy: 0 },
      { stride: stride * beside, size: size / beside, dx: 0, dy: end.y + space },
    ].filter((part) => part.size > 1);
    for (const part of parts) {
      end.x += (part.size - 1) * part.dx;
      end.y += (part.size - 1) * part.dy;
    }
    axes.push(...parts);
    return parts;
  });
  const name = module.name === null ? [] : [module.name];
  const label = (index: number) => {
    let rest = index;
    const parts = slices.map(({ size, label }) => {
      const part = label(rest % size);
      rest = Math.floor(rest / size);
      return part;
    });
    return [...name, ...parts.reverse()].join(' · ');
  };
  const count = slices.reduce((product, { size }) => product * size, 1);
  const block: Block = {
    offset: module.rankOffset,
    count: module.dense.reduce((product, { size }) => product * size, 1),
    x: 0,
    y: 0,
    width: end.x,
    height: end.y,
    axes: axes.sort((a, b) => a.stride - b.stride),
  };
  return {
    block,
    boxSets: [{ x: 0, y: 0, ...frame, level: 0, axes: steps, count, label }],
    rulers: rulers(across, down, end.y),
  };
}

function rulers(across: Folding['across'], down: Folding['down'], bottom: number): Ruler[] {
  const of = (along: 'x' | 'y', axis: Folding['across'], at: number): Ruler[] =>
    axis && axis.name !== '' && axis.size > 1
      ? [{ along, at, start: 0, count: axis.size, name: axis.name, first: 0 }]
      : [];
  return [...of('x', across, bottom), ...of('y', down, 0)];
}
