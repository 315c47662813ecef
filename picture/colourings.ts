import { type Axis, denseGrid, type GroupFamily, grouped, type ResolvedLayout } from '../layout';
import { type Colouring, type RankNumbers, writeValues } from './colour';
import { distinctHues } from './distinct';
import { numberingOf } from './numbering';
import { axisNamed, familiesOf } from './rankDetails';
import { hasRoles, roleColouring } from './roles';

/** A dimension or group that ranks can be coloured by. */
export interface ColourChoice {
  readonly id: string;
  readonly label: string;
}

/** What the ranks of a layout can be coloured by. */
export function colourChoices(layout: ResolvedLayout): ColourChoice[] {
  const names = layout.modules.flatMap(({ dense, expert }) =>
    [...dense, ...expert].filter(({ size }) => size > 1).map(({ name }) => name),
  );
  const dims = [...new Set(names)].map((name) => ({ id: name, label: name }));
  const modules = layout.modules.length > 1 && layout.mode !== 'colocated' ? [{ id: 'module', label: 'module' }] : [];
  const roles = hasRoles(layout) ? [{ id: 'ntp', label: 'nonuniform TP' }] : [];
  const { gpusPerNode, gpusPerNvlinkDomain, worldSize } = layout;
  const domains =
    gpusPerNvlinkDomain !== gpusPerNode && gpusPerNvlinkDomain < worldSize
      ? [{ id: 'nvlink', label: 'NVLink domain' }]
      : [];
  return [...modules, ...roles, ...dims, { id: 'node', label: 'node' }, ...domains];
}

/**
 * What shows best where the parts of a model lie: the module, or else the outermost dimension that tells nodes apart, never one
 * that looks the same in every node.
 */
export function usualColour(layout: ResolvedLayout): string {
  const ids = colourChoices(layout).map(({ id }) => id);
  const [module] = layout.modules;
  if (ids.includes('module') || !module) {
    return 'module';
  }
  const axes = denseGrid(module).axes.filter(({ size }) => size > 1);
  const apart = axes.filter(({ stride, size }) => stride * size > layout.gpusPerNode);
  const named = (name: string) => (apart.length > 0 ? apart : axes).find((axis) => axis.name === name);
  const axis = named('pp') ?? named('dp') ?? apart.at(-1) ?? axes.at(-1);
  return axis?.name ?? 'node';
}

/** The chosen colouring, or the usual one where the layout does not have that one. */
export function colourIn(layout: ResolvedLayout, colour: string): string {
  return colourChoices(layout).some(({ id }) => id === colour) ? colour : usualColour(layout);
}

/** The colouring by a dimension, by module, by node or NVLink domain, or by what nonuniform TP makes of a rank. */
export function colouringBy(layout: ResolvedLayout, id: string): Colouring {
  switch (id) {
    case 'ntp':
      return roleColouring(layout);
    case 'module':
      return moduleColouring(layout);
    case 'node':
      return machineColouring('node', layout.worldSize, layout.gpusPerNode);
    case 'nvlink':
      return machineColouring('NVLink domain', layout.worldSize, layout.gpusPerNvlinkDomain);
    default:
      return dimensionColouring(layout, id);
  }
}

function moduleColouring({ modules }: ResolvedLayout): Colouring {
  return {
    name: 'module',
    none: 'in no module',
    scale: 'kinds',
    values: modules.length,
    label: (value) => modules[value]?.name ?? '',
    valueOf: (rank) =>
      modules.findIndex(({ rankOffset, numRanks }) => rank >= rankOffset && rank < rankOffset + numRanks),
    fill: (into, code) => {
      for (const [i, { rankOffset, numRanks }] of [...modules.entries()].reverse()) {
        into.fill(code(i), rankOffset, rankOffset + numRanks);
      }
    },
  };
}

function machineColouring(name: string, worldSize: number, ranks: number): Colouring {
  return {
    name,
    scale: 'kinds',
    values: Math.ceil(worldSize / ranks),
    grain: ranks,
    label: (value) => `${name} ${value}`,
    valueOf: (rank) => Math.floor(rank / ranks),
    fill: (into, code) => {
      for (let start = 0, value = 0; start < into.length; start += ranks, value++) {
        into.fill(code(value), start, start + ranks);
      }
    },
  };
}

function dimensionColouring(layout: ResolvedLayout, name: string): Colouring {
  const numbering = numberingOf(layout);
  const found = layout.modules.flatMap((module) => axisNamed(module, name) ?? []);
  return {
    name,
    scale: 'ordered',
    values: Math.max(1, ...found.map(({ axis }) => axis.size)),
    label: (value) => `${name} ${value}`,
    valueOf: (rank) => {
      const place = numbering ? numbering.placeOf(rank) : rank;
      const one = found.find(({ grid }) => grid.has(place));
      return one ? one.grid.indexAlong(one.axis, place) : -1;
    },
    ...(numbering
      ? {}
      : {
          fill: (into: RankNumbers, code: (value: number) => number) => {
            for (const { grid, axis } of found.toReversed()) {
              fillAlong(into.subarray(grid.offset, grid.offset + grid.size), axis, code);
            }
          },
        }),
  };
}

/** Writes the code of the index along an axis of every rank of a grid: once up to where it starts again, and copies of that. */
function fillAlong(into: RankNumbers, { size, stride }: Axis, code: (value: number) => number): void {
  for (let value = 0; value < size; value++) {
    into.fill(code(value), value * stride, (value + 1) * stride);
  }
  for (let known = size * stride; known < into.length; known *= 2) {
    into.copyWithin(known, 0, known);
  }
}

/** The colouring by the process group of one name that a rank is in. */
export function groupColouring(layout: ResolvedLayout, name: string): Colouring {
  const families = familiesOf(layout).filter((family) => family.name === name);
  const colouring = familyColouring(families, (_, index, before) => before + index, {
    name: `${name} groups`,
    scale: 'kinds',
    none: `in no ${name} group`,
    label: (value) => `group ${grouped(value)}`,
    grain: Math.min(...families.map(runOf)),
  });
  return {
    ...colouring,
    arranged: (placement) => {
      const groups = new Int32Array(layout.worldSize).fill(-1);
      writeValues(colouring, groups, (value) => value);
      return { ...colouring, hues: distinctHues(groups, colouring.values, placement) };
    },
  };
}

/** How many neighbouring ranks the first group of a family begins with. */
function runOf(family: GroupFamily): number {
  const ranks = family.ranks(0);
  const end = ranks.findIndex((rank, i) => rank !== (ranks[0] ?? 0) + i);
  return end < 0 ? ranks.length : end;
}

/**
 * A colouring that gives every group of some families a value; a rank in several groups has that of the first.
 * @param value the value of a group; `before` counts the groups of the families before its own
 */
export function familyColouring(
  families: readonly GroupFamily[],
  value: (family: GroupFamily, index: number, before: number) => number,
  rest: Pick<Colouring, 'name' | 'scale' | 'label' | 'none' | 'grain'> & { readonly values?: number },
): Colouring {
  const starts = families.map((_, i) => families.slice(0, i).reduce((n, { count }) => n + count, 0));
  const valueAt = (i: number, family: GroupFamily, index: number) => value(family, index, starts[i] ?? 0);
  return {
    values: families.reduce((n, { count }) => n + count, 0),
    ...rest,
    valueOf: (rank) => {
      for (const [i, family] of families.entries()) {
        const [index] = family.indicesOf(rank);
        if (index !== undefined) {
          return valueAt(i, family, index);
        }
      }
      return -1;
    },
    fill: (into, code) => {
      for (const [i, family] of [...families.entries()].reverse()) {
        const lists = family.all();
        for (let index = lists.count - 1; index >= 0; index--) {
          const group = code(valueAt(i, family, index));
          for (const rank of lists.at(index)) {
            into[rank] = group;
          }
        }
      }
    },
  };
}
