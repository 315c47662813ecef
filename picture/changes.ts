import { countOf, grouped, type ResolvedLayout, type ResolvedModule } from '../layout';
import { familiesOf, kindOrder, USUAL_GROUPS } from './rankDetails';

/** So many kinds of process groups are named in a summary; they follow from the degrees. */
const MAX_KINDS = 4;

/** How two layouts differ, in words: `tp 4 → 2, dp 4 → 8`, then `tp groups 16 × 4 → 32 × 2`. */
export function changesInWords(before: ResolvedLayout, after: ResolvedLayout): string[] {
  const worlds =
    before.worldSize === after.worldSize ? [] : [`${countOf(before.worldSize, 'rank')} → ${grouped(after.worldSize)}`];
  const names = [...new Set([...before.modules, ...after.modules].map(({ name }) => name))];
  const modules = names.flatMap((name) => moduleChanges(name, moduleOf(before, name), moduleOf(after, name)));
  return [...worlds, ...modules, ...names.flatMap((name) => groupChanges(name, before, after))];
}

const moduleOf = ({ modules }: ResolvedLayout, name: string | null): ResolvedModule | undefined =>
  modules.find((module) => module.name === name);

function moduleChanges(
  name: string | null,
  before: ResolvedModule | undefined,
  after: ResolvedModule | undefined,
): string[] {
  const title = name === null ? '' : `${name}: `;
  if (!before || !after) {
    return [`${name ?? 'parallelism'} ${before ? 'is gone' : 'is new'}`];
  }
  const dimsOf = ({ dense, expert }: ResolvedModule) => [...expert, ...dense];
  const sizeIn = (module: ResolvedModule, dim: string) =>
    dimsOf(module).findLast(({ name }) => name === dim)?.size ?? 1;
  const [old, now] = [(dim: string) => sizeIn(before, dim), (dim: string) => sizeIn(after, dim)];
  const isSame = (one: string, other: string) => [old, now].every((size) => size(one) === size(other));
  // without expert parallelism the grid of the experts says nothing new
  const isDense = old('ep') === 1 && now('ep') === 1 && isSame('expt_tp', 'tp');
  const names = new Set([...dimsOf(before), ...dimsOf(after)].map((dim) => dim.name));
  const dims = [...names].filter(
    (dim) => old(dim) !== now(dim) && !(dim.startsWith('expt_') && (isDense || isSame(dim, dim.slice('expt_'.length)))),
  );
  const changes = dims
    .sort((a, b) => kindOrder(a) - kindOrder(b))
    .map((dim) => `${dim} ${grouped(old(dim))} → ${grouped(now(dim))}`);
  const moved =
    before.rankOffset === after.rankOffset
      ? []
      : [`first rank ${grouped(before.rankOffset)} → ${grouped(after.rankOffset)}`];
  const orderOf = ({ dense }: ResolvedModule) => dense.map((dim) => dim.name).join('-');
  const orders =
    changes.length === 0 && orderOf(before) !== orderOf(after) ? [`order ${orderOf(before)} → ${orderOf(after)}`] : [];
  const all = [...moved, ...changes, ...orders];
  return all.length > 0 ? [`${title}${all.join(', ')}`] : [];
}

/** `tp groups 16 × 4 → 32 × 2`: how many there are, and how many ranks each has. */
function groupChanges(module: string | null, before: ResolvedLayout, after: ResolvedLayout): string[] {
  const shapeOf = (layout: ResolvedLayout, kind: string) =>
    familiesOf(layout)
      .filter((family) => family.name === kind && family.module === module && family.size > 1)
      .map(({ count, size }) => `${grouped(count)} × ${grouped(size)}`)
      .join(' + ');
  const changes = USUAL_GROUPS.map((kind) => [kind, shapeOf(before, kind), shapeOf(after, kind)] as const)
    .filter(([, old, now]) => old !== now && old !== '' && now !== '')
    .slice(0, MAX_KINDS)
    .map(([kind, old, now]) => `${kind} groups ${old} → ${now}`);
  return changes.length > 0 ? [`${module === null ? '' : `${module}: `}${changes.join(', ')}`] : [];
}
