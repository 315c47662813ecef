import { type Axis, countOf, type Grid, grouped, type ResolvedLayout, type ResolvedModule } from '../layout';
import { numberingOf } from './numbering';
import { gridsOf } from './rankDetails';

/** The ranks that a search names, by arithmetic: however many, none is listed. */
export interface Matches {
  readonly count: number;
  rankAt(index: number): number;
}

/** What a search finds: ranks, or why there are none. */
export type Found = Matches | { readonly problem: string };

/** The ranks in each condition that a search can name: `failed`, `differs`, ... */
export type Conditions = Readonly<Record<string, readonly number[]>>;

/** Coordinates along one dimension: all of these. */
interface Wanted {
  readonly name: string;
  readonly values: readonly number[];
}

/** So many coordinates along one dimension can be asked for. */
const MAX_VALUES = 65_536;

/** What people call coordinates along some dimensions. */
const ALIASES: Readonly<Record<string, string>> = { stage: 'pp', replica: 'dp' };

/** So many ranks are put in order; more come by coordinate. */
const MAX_SORTED = 65_536;

/** Why a search that cannot be read finds nothing. */
const FORMS = 'Write rank 5, node 3, 0:5, dp=1 pp=0, tp=0-3 or failed';

/**
 * Reads a search: ranks (`5`, `rank 5-9`, `5,7`), nodes (`node 3`, `nodes 2-3`), a GPU of a node (`0:5`), coordinates
 * (`dp=3 pp=1`, `tp=0-3`, `tp=0,2`, with a module's name where modules differ), or a word for ranks in a condition (`failed`).
 */
export function findRanks(layout: ResolvedLayout, text: string, conditions: Conditions): Found {
  const query = text.trim().toLowerCase();
  if (query === '') {
    return { problem: FORMS };
  }
  const words = Object.hasOwn(conditions, query) ? conditions[query] : undefined;
  if (words) {
    return words.length > 0 ? listed(words) : { problem: `No rank matches “${query}”` };
  }
  return byNumber(layout, query) ?? byPlace(layout, query) ?? byCoordinates(layout, query);
}

const listed = (ranks: readonly number[]): Matches => ({ count: ranks.length, rankAt: (i) => ranks[i] ?? 0 });

const range = (first: number, count: number): Matches => ({ count, rankAt: (i) => first + i });

/** Numbers and ranges of numbers: `0-3,7`. */
const NUMBERS = String.raw`\d+(?:\s*[-–]\s*\d+)?(?:\s*,\s*\d+(?:\s*[-–]\s*\d+)?)*`;
const RANKS = new RegExp(String.raw`^(?:ranks?\s*)?(${NUMBERS})$`);
const COORDINATES = new RegExp(String.raw`([a-z_]+)\s*[= ]\s*(${NUMBERS})(?![\w.])`, 'g');

/** `5`, `rank 5`, `ranks 4-7`, `5,7`. */
function byNumber({ worldSize }: ResolvedLayout, query: string): Found | null {
  const [, numbers] = RANKS.exec(query) ?? [];
  if (numbers === undefined) {
    return null;
  }
  const [first = 0, end = first] = numbers.split(/[-–]/).map(Number);
  const ranks = numbers.includes(',') ? valuesOf(numbers).filter((rank) => rank < worldSize) : null;
  if (ranks?.length === 0 || first >= worldSize) {
    return { problem: `The last rank is ${grouped(worldSize - 1)}` };
  }
  if (ranks) {
    return listed(ranks);
  }
  return end < first ? { problem: `${end} is below ${first}` } : range(first, Math.min(end, worldSize - 1) - first + 1);
}

/** `node 3`, `nodes 2-3`, `node 3 gpu 1`, `3:1`. */
function byPlace({ worldSize, gpusPerNode }: ResolvedLayout, query: string): Found | null {
  const match = /^(?:nodes?\s*(\d+)(?:\s*[-–]\s*(\d+)|[\s,:]+(?:gpu\s*)?(\d+))?|(\d+)\s*:\s*(\d+))$/.exec(query);
  if (!match) {
    return null;
  }
  const node = Number(match[1] ?? match[4]);
  const end = Number(match[2] ?? node);
  const gpu = match[3] ?? match[5];
  const last = Math.floor((worldSize - 1) / gpusPerNode);
  if (node > last) {
    return { problem: `The last node is ${grouped(last)}` };
  }
  if (end < node) {
    return { problem: `${end} is below ${node}` };
  }
  const first = node * gpusPerNode;
  const count = Math.min((end - node + 1) * gpusPerNode, worldSize - first);
  if (gpu === undefined) {
    return range(first, count);
  }
  return Number(gpu) < count
    ? range(first + Number(gpu), 1)
    : { problem: `Node ${grouped(node)} has ${countOf(count, 'GPU')}` };
}

/** `tp=0-3 pp=1`, `dp=0,2`, with a module's name or without. */
function byCoordinates(layout: ResolvedLayout, query: string): Found {
  const wanted: Wanted[] = [];
  const rest = query.replaceAll(COORDINATES, (_, name: string, values: string) => {
    wanted.push({ name: ALIASES[name] ?? name, values: valuesOf(values) });
    return ' ';
  });
  const words = rest.split(/[\s,]+/).filter(Boolean);
  const known = new Map(
    layout.modules.flatMap(({ name }) => (name === null ? [] : [[name.toLowerCase(), name] as const])),
  );
  const strange = words.find((word) => !known.has(word));
  if (strange !== undefined || (wanted.length === 0 && words.length === 0)) {
    return { problem: `“${strange ?? query}” is not understood. ${FORMS}` };
  }
  const modules = layout.modules.filter(({ name }) => words.length === 0 || words.includes((name ?? '').toLowerCase()));
  const parts = modules.flatMap((module) => inModule(layout, module, wanted) ?? []);
  return parts.length > 0 ? joined(parts) : { problem: whyNone(modules, wanted) };
}

/** `0-3,7` as 0, 1, 2, 3, 7. */
function valuesOf(text: string): number[] {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [first = 0, last = first] = part.split(/[-–]/).map(Number);
    for (let value = first; value <= last && values.size < MAX_VALUES; value++) {
      values.add(value);
    }
  }
  return [...values];
}

function whyNone(modules: readonly ResolvedModule[], wanted: readonly Wanted[]): string {
  for (const { name, values } of wanted) {
    const sizes = modules.flatMap((module) =>
      gridsOf(module).flatMap(({ axes }) => axes.filter((axis) => axis.name === name)),
    );
    const most = Math.max(0, ...sizes.map(({ size }) => size));
    if (most === 0) {
      return `No dimension is called ${name}`;
    }
    if (values.every((value) => value >= most)) {
      return `${name} goes from 0 to ${grouped(most - 1)}`;
    }
  }
  return 'No rank has all of these coordinates';
}

function joined(parts: readonly Matches[]): Matches {
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  const rankAt = (index: number): number => {
    let rest = index;
    for (const part of parts) {
      if (rest < part.count) {
        return part.rankAt(rest);
      }
      rest -= part.count;
    }
    return -1;
  };
  return { count, rankAt };
}

/** The ranks of a module's grid that have the wanted coordinates; null where it has no such dimension or index. */
function inModule(layout: ResolvedLayout, module: ResolvedModule, wanted: readonly Wanted[]): Matches | null {
  const has = ({ axes }: Grid) =>
    wanted.every(({ name, values }) =>
      axes.some((axis) => axis.name === name && values.some((value) => value < axis.size)),
    );
  const grid = gridsOf(module).find(has);
  if (!grid) {
    return null;
  }
  const steps = wanted.map(({ name, values }) => {
    const axis: Axis | undefined = grid.axes.find((one) => one.name === name);
    return values.filter((value) => value < (axis?.size ?? 0)).map((value) => value * (axis?.stride ?? 0));
  });
  const free = grid.groups(
    grid.axes.map(({ name }) => name).filter((name) => !wanted.some((one) => one.name === name)),
  );
  const combinations = steps.reduce((product, { length }) => product * length, 1);
  const placeAt = (index: number) => {
    let left = Math.floor(index / free.size);
    let place = free.rankAt(0, index % free.size);
    for (const values of steps) {
      place += values[left % values.length] ?? 0;
      left = Math.floor(left / values.length);
    }
    return place;
  };
  const count = combinations * free.size;
  const numbering = numberingOf(layout);
  if (!numbering && (combinations === 1 || count > MAX_SORTED)) {
    return count > 0 ? { count, rankAt: placeAt } : null;
  }
  // packed placement leaves places out, so that the rest has to be looked at one by one
  const ranks = Array.from({ length: count }, (_, i) => numbering?.rankAt(placeAt(i)) ?? placeAt(i));
  const launched = ranks.filter((rank) => rank >= 0).sort((a, b) => a - b);
  return launched.length > 0 ? listed(launched) : null;
}
