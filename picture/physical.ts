import { type Axis, denseGrid, grouped, type ResolvedLayout, type ResolvedModule } from '../layout';
import { boxLevel, layersOf, moduleLevel, sharedCoordinates } from './blocks';
import { Placement, type Space } from './placement';
import type { StageLayers } from './stageLayers';
import { arranged, foldings, type OpenLevel, type OpenPanel } from './tiling';

/** Modules are drawn apart up to this many; beyond, each would be too small to be named. */
const MAX_APART = 12;

/**
 * Machines as nested boxes: rank r lies on node floor(r / gpusPerNode). Around the nodes are the NVLink domains that are larger
 * than one, the blocks of nodes that hold one part of the model, and modules on nodes of their own.
 */
export function physicalPlacement(
  layout: ResolvedLayout,
  space: Space,
  stages: readonly StageLayers[] = [],
): Placement {
  return new Placement(arranged(partsOf(layout, stages), space));
}

function partsOf(layout: ResolvedLayout, stages: readonly StageLayers[]): OpenPanel[] {
  const { modules, worldSize, gpusPerNode } = layout;
  const bounds = modules.flatMap(({ rankOffset, numRanks }) => [rankOffset, rankOffset + numRanks]);
  const apart =
    layout.mode === 'non_colocated' &&
    modules.length > 1 &&
    modules.length <= MAX_APART &&
    modules.reduce((sum, { numRanks }) => sum + numRanks, 0) === worldSize &&
    bounds.every((rank) => rank % gpusPerNode === 0);
  if (!apart) {
    const module = modules.length === 1 ? modules[0] : undefined;
    return [{ offset: 0, count: worldSize, levels: levelsOf(layout, 0, worldSize, module, stages) }];
  }
  return modules.map((module) => {
    const { rankOffset: offset, numRanks: count } = module;
    return { offset, count, levels: [moduleLevel(module, count), ...levelsOf(layout, offset, count, module, stages)] };
  });
}

/** The levels of the machines that hold ranks `[offset, offset + count)`. */
function levelsOf(
  layout: ResolvedLayout,
  offset: number,
  count: number,
  module: ResolvedModule | undefined,
  stages: readonly StageLayers[],
): OpenLevel[] {
  const { gpusPerNode, gpusPerNvlinkDomain: perDomain } = layout;
  const domains =
    perDomain > gpusPerNode && perDomain % gpusPerNode === 0 && perDomain < count && offset % perDomain === 0;
  const unit = domains ? perDomain : gpusPerNode;
  const part = module && outermostPart(module, count, unit);
  const perPart = part?.stride ?? count;
  const perOuter = domains ? perDomain : perPart;
  // what the blocks around the nodes say already
  const said = [...(part && !domains ? [part.name] : []), ...(count < layout.worldSize ? ['module'] : [])];
  return [
    ...(part && module ? [partLevel(layout, module, part, stages)] : []),
    ...(domains
      ? [machineLevel('NVLink domain', perDomain, Math.ceil(perPart / perDomain), nodesFrom(layout, perDomain))]
      : []),
    machineLevel('node', gpusPerNode, Math.ceil(perOuter / gpusPerNode), (place) =>
      sharedCoordinates(layout, place, gpusPerNode, said),
    ),
    ...gpuLevels(layout, Math.min(gpusPerNode, count)),
  ];
}

/** The outermost dimension of a module, where each of its blocks fills several machines. */
function outermostPart(module: ResolvedModule, count: number, unit: number): Axis | undefined {
  const axis = denseGrid(module)
    .axes.filter(({ size }) => size > 1)
    .at(-1);
  const whole = axis && axis.stride * axis.size === count && axis.stride % unit === 0 && axis.stride >= 2 * unit;
  return whole ? axis : undefined;
}

/** The nodes of the blocks of `ranks` ranks: `nodes 0 – 17`. */
const nodesFrom =
  ({ gpusPerNode }: ResolvedLayout, ranks: number) =>
  (place: number): string => {
    const first = Math.floor(place / gpusPerNode);
    return `nodes ${grouped(first)} – ${grouped(first + ranks / gpusPerNode - 1)}`;
  };

/** The outermost dimension as blocks of nodes, with the layers that each holds where they are known. */
function partLevel(
  layout: ResolvedLayout,
  { name, rankOffset }: ResolvedModule,
  part: Axis,
  stages: readonly StageLayers[],
): OpenLevel {
  const layers = layersOf(stages, name, part.name);
  const nodes = nodesFrom(layout, part.stride);
  return boxLevel(part, rankOffset, foldings(part.size), (index, place) =>
    [layers[index] ?? '', nodes(place)].filter(Boolean).join(' · '),
  );
}

/** Machines of neighbouring ranks side by side. */
const machineLevel = (kind: string, ranks: number, size: number, detailOf: (place: number) => string): OpenLevel => ({
  kind,
  stride: ranks,
  size,
  columns: foldings(size),
  label: (place) => ({ title: `${kind} ${grouped(Math.floor(place / ranks))}`, detail: detailOf(place) }),
});

/** GPUs in one row or two, split by NVLink domain where a node has several. */
function gpuLevels({ gpusPerNvlinkDomain: perDomain }: ResolvedLayout, gpus: number): OpenLevel[] {
  const split = perDomain < gpus && gpus % perDomain === 0;
  const inner = split ? perDomain : gpus;
  const wide = foldings(inner).filter((columns) => columns >= Math.sqrt(inner) && inner % columns === 0);
  const bare: OpenLevel = {
    kind: 'GPU',
    stride: 1,
    size: inner,
    columns: wide.length > 0 ? wide : [inner],
    label: null,
  };
  if (!split) {
    return [bare];
  }
  const count = gpus / perDomain;
  const label = (place: number) => ({ title: `NVLink ${Math.floor((place % gpus) / perDomain)}`, detail: '' });
  return [{ kind: 'NVLink domain', stride: perDomain, size: count, columns: foldings(count), label }, bare];
}
