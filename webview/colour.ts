import { rgb } from 'd3-color';
import { interpolateCividis } from 'd3-scale-chromatic';
import {
  denseGrid,
  expertGrid,
  type GroupFamily,
  isSpare,
  type NtpShape,
  processGroups,
  type ResolvedLayout,
} from '../layout';
import type { PanelGroupResult } from './messages';

/** Okabe and Ito's fills, told apart with any colour vision; black is left to text and outlines. */
const CATEGORICAL = ['#56b4e9', '#e69f00', '#009e73', '#f0e442', '#0072b2', '#d55e00', '#cc79a7'];

/** More values than categories are drawn as a ramp of at most this many steps: a byte a rank. */
const MAX_STEPS = 254;

/** How ranks are coloured: a value a rank, and what each value is called. */
export interface Colouring {
  /** The value of a rank, from 0; -1 where it has none. */
  readonly valueOf: (rank: number) => number;
  readonly values: number;
  readonly name: string;
  readonly label: (value: number) => string;
  /** Fills of its own, one a value, where values have a meaning that colour should carry. */
  readonly fills?: readonly string[];
}

/** A dimension or group that ranks can be coloured by. */
export interface ColourChoice {
  readonly id: string;
  readonly label: string;
}

/** What the ranks of a layout can be coloured by. */
export function colourChoices(layout: ResolvedLayout): ColourChoice[] {
  const sizes = new Map<string, number>();
  for (const { dense, expert } of layout.modules) {
    for (const { name, size } of [...dense, ...expert]) {
      sizes.set(name, Math.max(size, sizes.get(name) ?? 1));
    }
  }
  const dims = [...sizes].filter(([, size]) => size > 1).map(([name]) => ({ id: name, label: name }));
  const modules = layout.modules.length > 1 && layout.mode !== 'colocated' ? [{ id: 'module', label: 'module' }] : [];
  const ntp = hasSlots(layout) ? [{ id: 'ntp', label: 'nonuniform TP' }] : [];
  return [...modules, ...ntp, ...dims, { id: 'node', label: 'node' }];
}

/** Whether nonuniform TP takes ranks out of the grid that is drawn; packed placement launches no spare at all. */
const hasSlots = ({ ntp }: ResolvedLayout): boolean =>
  ntp !== null && ntp.placement === 'nominal' && (ntp.tpSpares > 0 || ntp.failedRanks.length > 0);

const NTP_ROLES = ['active', 'spare', 'failed'];
const NTP_FILLS = ['#56b4e9', '#f0e442', '#d55e00'];

/** What nonuniform TP makes of each rank. */
function ntpColouring(layout: ResolvedLayout): Colouring {
  const { ntp } = layout;
  const [module] = layout.modules;
  const grid = module && denseGrid(module);
  const shape: NtpShape = { cp: grid?.sizeOf('cp') ?? 1, dp: grid?.sizeOf('dp') ?? 1 };
  const failed = new Set(ntp?.failedRanks);
  const isSpareRank = (rank: number) => ntp !== null && isSpare(ntp, shape, rank);
  return {
    name: 'nonuniform TP',
    fills: NTP_FILLS,
    values: NTP_ROLES.length,
    label: (value) => NTP_ROLES[value] ?? '',
    valueOf: (rank) => (failed.has(rank) ? 2 : isSpareRank(rank) ? 1 : 0),
  };
}

/** Steps of the ramp of bandwidths. */
const BANDWIDTH_STEPS = 100;

/** The colouring by the bus bandwidth that a smoke job measured in the groups of one name; from 0 to the best. */
export function bandwidthColouring(
  families: readonly GroupFamily[],
  name: string,
  results: readonly PanelGroupResult[],
): Colouring {
  const own = families.filter((family) => family.name === name);
  const measured = own.map(
    ({ module }) =>
      new Map(
        results
          .filter((result) => result.name === name && result.module === module)
          .map(({ index, busGBs }) => [index, busGBs]),
      ),
  );
  const best = measured.reduce(
    (most, map) => [...map.values()].reduce((m: number, gbs) => Math.max(m, gbs ?? 0), most),
    0,
  );
  return {
    name: `bus bandwidth of ${name}, GB/s`,
    values: BANDWIDTH_STEPS + 1,
    label: (step) => ((best * step) / BANDWIDTH_STEPS).toPrecision(3),
    valueOf: (rank) => {
      const found = own.flatMap((family, i) => family.indicesOf(rank).map((index) => measured[i]?.get(index) ?? null));
      const gbs = found.find((value) => value !== null) ?? null;
      return gbs === null || best === 0 ? -1 : Math.round((gbs / best) * BANDWIDTH_STEPS);
    },
  };
}

/** The colouring by a dimension, by module, by node or by what nonuniform TP makes of a rank. */
export function dimensionColouring(layout: ResolvedLayout, id: string): Colouring {
  if (id === 'ntp') {
    return ntpColouring(layout);
  }
  if (id === 'module') {
    const { modules } = layout;
    return {
      name: 'module',
      values: modules.length,
      label: (value) => modules[value]?.name ?? '',
      valueOf: (rank) =>
        modules.findIndex(({ rankOffset, numRanks }) => rank >= rankOffset && rank < rankOffset + numRanks),
    };
  }
  if (id === 'node') {
    const { gpusPerNode, nodes } = layout;
    return {
      name: 'node',
      values: nodes,
      label: (value) => `node ${value}`,
      valueOf: (rank) => Math.floor(rank / gpusPerNode),
    };
  }
  const expert = id.startsWith('expt') || id === 'ep';
  const grids = layout.modules.map(expert ? expertGrid : denseGrid);
  const axes = grids.map((grid) => grid.axes.find(({ name }) => name === id));
  return {
    name: id,
    values: Math.max(1, ...axes.map((axis) => axis?.size ?? 1)),
    label: (value) => `${id} ${value}`,
    valueOf: (rank) => {
      const at = grids.findIndex((grid) => grid.has(rank));
      const axis = axes[at];
      return axis && grids[at] ? grids[at].indexAlong(axis, rank) : -1;
    },
  };
}

/** The colouring by the process group of one name that a rank is in. */
export function groupColouring(families: readonly GroupFamily[], name: string): Colouring {
  const own = families.filter((family) => family.name === name);
  const starts = own.map((_, i) => own.slice(0, i).reduce((n, { count }) => n + count, 0));
  return {
    name: `${name} groups`,
    values: own.reduce((n, { count }) => n + count, 0),
    label: (value) => `group ${value}`,
    valueOf: (rank) => {
      for (let i = 0; i < own.length; i++) {
        const index = own[i]?.indicesOf(rank)[0];
        if (index !== undefined) {
          return (starts[i] ?? 0) + index;
        }
      }
      return -1;
    },
  };
}

/** The names of the process groups that hold more than one rank. */
export function groupNames(layout: ResolvedLayout): string[] {
  return [
    ...new Set(
      processGroups(layout)
        .filter(({ size }) => size > 1)
        .map(({ name }) => name),
    ),
  ];
}

/** Whether values are steps of a ramp, not categories. */
export const isRamp = ({ values, name }: Colouring): boolean =>
  values > CATEGORICAL.length && !name.endsWith(' groups');

/** The colour of a value: categories while they can be told apart, then a ramp (dimensions) or a cycle (groups). */
export function colourOf(value: number, colouring: Colouring): string {
  if (value < 0) {
    return 'transparent';
  }
  return isRamp(colouring)
    ? interpolateCividis(0.08 + (0.92 * value) / (colouring.values - 1))
    : ((colouring.fills ?? CATEGORICAL)[value % CATEGORICAL.length] ?? '');
}

/** Colours of all values as one little-endian RGBA word each, for a bitmap; the last is for ranks without a value. */
export function palette(colouring: Colouring): { words: Uint32Array; step: (value: number) => number } {
  const steps = Math.min(colouring.values, MAX_STEPS);
  const scale = colouring.values > MAX_STEPS && isRamp(colouring) ? MAX_STEPS / colouring.values : null;
  const words = new Uint32Array(steps + 1);
  for (let i = 0; i < steps; i++) {
    const { r, g, b } = rgb(colourOf(scale ? Math.floor(i / scale) : i, colouring));
    words[i] = (255 << 24) | (b << 16) | (g << 8) | r;
  }
  const step = (value: number) => (value < 0 ? steps : scale ? Math.floor(value * scale) : value % steps);
  return { words, step };
}
