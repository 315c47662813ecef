import {
  code,
  denseGrid,
  expertGrid,
  type Grid,
  type GroupFamily,
  LANGUAGE_MODULE,
  Markdown,
  markdown,
  processGroups,
  type ResolvedLayout,
  type ResolvedModule,
} from '../layout';

/** The most ranks of one group that are shown. */
const MAX_SHOWN = 8;

/** The largest world whose groups are spelt out: some groups list all ranks of another to find theirs. */
const MAX_WORLD_LISTED = 1_048_576;

/** Whether listing the ranks of a layout's groups is quick enough for a request. */
export function canList({ worldSize }: ResolvedLayout): boolean {
  return worldSize <= MAX_WORLD_LISTED;
}

/** The process groups of one grid, at a cost that does not grow with the number of other modules. */
export function groupsOf(layout: ResolvedLayout, module: string | null): GroupFamily[] {
  // a bridge reaches from a module to the language model
  const modules = layout.modules.filter(({ name }) => name === module || name === LANGUAGE_MODULE);
  return processGroups({ ...layout, modules }).filter((family) => family.module === module);
}

/** The place of a global rank and its groups, a paragraph of Markdown for each grid that holds it. */
export function rankLines(layout: ResolvedLayout, rank: number): Markdown[] {
  if (!Number.isSafeInteger(rank) || rank < 0 || rank >= layout.worldSize) {
    return [];
  }
  const { gpusPerNode } = layout;
  const place = markdown`**Rank ${rank}**: node ${Math.floor(rank / gpusPerNode)}, GPU ${rank % gpusPerNode}.`;
  const grids = layout.modules.filter((module) => denseGrid(module).has(rank)).slice(0, MAX_SHOWN);
  // many modules may cover the same ranks: the groups of as many are listed as one large world has
  const listed = canList(layout) ? Math.max(1, Math.floor(MAX_WORLD_LISTED / layout.worldSize)) : 0;
  return [place, ...grids.flatMap((module, i) => gridLines(layout, module, rank, i < listed))];
}

function gridLines(layout: ResolvedLayout, module: ResolvedModule, rank: number, listsPeers: boolean): Markdown[] {
  const experts = expertGrid(module);
  // with packed nonuniform TP a rank's number says nothing of its place in the grid
  const isPacked = layout.ntp?.placement === 'packed';
  const places = [denseGrid(module), ...(experts.sizeOf('ep') > 1 ? [experts] : [])];
  const coordinates = isPacked ? [] : places.map((grid) => coordinatesOf(grid, rank)).filter((text) => text !== '');
  const title = module.name === null ? '' : markdown`In ${code(module.name)}: `;
  const peers = listsPeers ? groupsOf(layout, module.name).flatMap((family) => peersOf(family, rank)) : [];
  return [
    ...(coordinates.length > 0 ? [markdown`${title}${Markdown.trusted(coordinates.join('; experts: '))}.`] : []),
    ...(peers.length > 0 ? [Markdown.join(peers, '\n')] : []),
  ];
}

function coordinatesOf(grid: Grid, rank: number): string {
  const at = grid.coordinates(rank);
  return grid.axes.flatMap(({ name, size }, i) => (size > 1 ? [`${name} ${at[i]} of ${size}`] : [])).join(', ');
}

function peersOf(family: GroupFamily, rank: number): Markdown[] {
  if (family.size < 2) {
    return [];
  }
  return family
    .indicesOf(rank)
    .map((index) => markdown`- ${code(family.name)}: ${Markdown.trusted(ranksText(family.ranks(index)))}`);
}

/** `[0, 2, 4]`, the first few of many. */
export function ranksText(ranks: readonly number[]): string {
  const rest = ranks.length - MAX_SHOWN;
  return rest > 0 ? `[${ranks.slice(0, MAX_SHOWN).join(', ')}, … ${rest} more]` : `[${ranks.join(', ')}]`;
}
