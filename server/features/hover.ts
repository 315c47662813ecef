import type { Hover } from 'vscode-languageserver';
import {
  type Checked,
  code,
  countOf,
  denseGrid,
  type GroupFamily,
  gibibytes,
  groupAlong,
  Markdown,
  markdown,
  neighbours,
  type Score,
  type Span,
  scoreOf,
  specAt,
} from '../../layout';
import { derivedLines, moduleAt, signature, stageLines } from '../describe';
import { type Located, locate, scalarAt } from '../locate';
import { markup } from '../markup';
import { canList, groupsOf, rankLines, ranksText } from '../ranks';
import { feature } from './feature';

export const hoverFeature = feature({ hoverProvider: true }, ({ connection, checked }) => {
  connection.onHover(({ textDocument, position }) => {
    const found = checked(textDocument.uri);
    return hover(found, found.lines.offsetAt(position));
  });
});

/**
 * What the key at an offset means, and what follows for its grid from the numbers of this file. On the number of a rank: its place
 * and its groups.
 */
export function hover(checked: Checked, offset: number): Hover | null {
  const found = locate(checked.read.tree.root, offset);
  const spec = found && specAt(found.path);
  if (!found || !spec) {
    return moduleHover(checked, found, offset);
  }
  const name = found.path.at(-1) ?? '';
  const span = found.onKey ? found.entry.keySpan : found.entry.value.span;
  const number = found.onKey ? null : numberAt(checked, found, offset);
  if (number) {
    return answer(checked, number.span, [...number.lines, Markdown.trusted(spec.doc)]);
  }
  if (found.path.length === 2 && found.path[0] === 'modules') {
    return moduleHover(checked, found, offset);
  }
  return answer(checked, span, [
    signature(name, spec),
    Markdown.trusted(spec.doc),
    ...hereLines(checked, found.path, name),
    ...costLines(checked, found.path, name),
  ]);
}

function answer({ lines }: Checked, span: Span, sections: readonly Markdown[]): Hover {
  return { contents: markup(Markdown.join(sections, '\n\n')), range: lines.rangeOf(span) };
}

/** What follows for the grid of a path, and the process groups that a key makes. */
function hereLines({ facts, resolved }: Checked, path: readonly string[], name: string): Markdown[] {
  const module = facts && moduleAt(facts, path);
  const here = module ? derivedLines(facts, module) : [];
  const groups = resolved && module ? groupLine(name, groupsOf(resolved, module.name), canList(resolved)) : null;
  const ofStages = ['parallelism', 'model', 'modules'].includes(path[0] ?? '');
  const stages = facts && module && ofStages ? stageLines(facts, module, name) : [];
  return [
    ...(here.length > 0 ? [markdown`Here: ${Markdown.trusted(here.join('; '))}.`] : []),
    ...(groups ? [groups] : []),
    ...stages,
  ];
}

/** The degrees whose half and double are compared with the written value. */
const WEIGHED: ReadonlySet<string> = new Set(['tp', 'cp', 'pp', 'ep']);

/** What the layout costs with half and with double the degree, beside its cost as written. */
function costLines(checked: Checked, path: readonly string[], name: string): Markdown[] {
  const now = path.length === 2 && path[0] === 'parallelism' && WEIGHED.has(name) ? scoreOf(checked) : null;
  const others = now ? neighbours(checked, [`parallelism.${name}`]) : [];
  return now && others.length > 0
    ? [
        Markdown.join(
          others.map((other) => markdown`- ${name} ${other.to}: ${Markdown.trusted(weighed(now, other.score))}`),
          '\n',
        ),
      ]
    : [];
}

function weighed(now: Score, then: Score): string {
  const more = then.totalBytes - now.totalBytes;
  const changed = (words: string, before: number | null, after: number | null) =>
    before && after !== null ? [`${words} ${change(after / before)}`] : [];
  const parts = [
    `about ${gibibytes(then.totalBytes)} GiB a GPU (${more < 0 ? '−' : '+'}${gibibytes(Math.abs(more))})`,
    ...changed('NVLink traffic', now.nvlinkBytes, then.nvlinkBytes),
    ...changed('network traffic', now.networkBytes, then.networkBytes),
    ...changed('step time', now.seconds, then.seconds),
  ];
  return `${parts.join(', ')}, by estimate`;
}

function change(share: number): string {
  const percent = Math.round(100 * (share - 1));
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent)} %`;
}

/** The hover of a module's name. */
function moduleHover(checked: Checked, found: Located | null, offset: number): Hover | null {
  const onName = found?.onKey === true && found.path.length === 2 && found.path[0] === 'modules';
  const name = found?.path[1] ?? '';
  if (!found || !onName || offset > found.entry.keySpan.end) {
    return null;
  }
  return answer(checked, found.entry.keySpan, [
    markdown`**${name}**: one module of the job`,
    ...hereLines(checked, found.path, name),
  ]);
}

/** The keys whose numbers are global ranks. */
const RANK_KEYS: ReadonlySet<string> = new Set(['rank_offset', 'failed_ranks']);

/** The lines about the number at an offset, where it is the number of a rank or of a slot. */
function numberAt(
  checked: Checked,
  { path, entry }: Located,
  offset: number,
): { span: Span; lines: Markdown[] } | null {
  const { resolved } = checked;
  const node = scalarAt(entry.value, offset);
  const key = path.at(-1) ?? '';
  if (!resolved || typeof node?.value !== 'number') {
    return null;
  }
  const lines = RANK_KEYS.has(key)
    ? rankLines(resolved, node.value)
    : key === 'local_ranks'
      ? slotLines(checked, node.value, offset)
      : [];
  return lines.length > 0 ? { span: node.span, lines } : null;
}

/** The global ranks that a local TP slot of one replica stands for. */
function slotLines({ facts, resolved }: Checked, slot: number, offset: number): Markdown[] {
  const entries = facts?.root.ntp.value?.non_active_ranks_per_dp.value ?? [];
  const entry = entries.find(({ span }) => span.start <= offset && offset <= span.end)?.value;
  const [module] = resolved?.modules ?? [];
  if (!resolved || !module || entry?.dp.value === undefined || resolved.ntp?.placement === 'packed') {
    return [];
  }
  const grid = denseGrid(module);
  const wanted: Readonly<Record<string, number | undefined>> = {
    tp: slot,
    dp: entry.dp.value,
    cp: entry.cp.value,
    pp: entry.pp.value,
  };
  if (!canList(resolved) || grid.axes.some(({ name, size }) => (wanted[name] ?? 0) >= size)) {
    return [];
  }
  const open = grid.axes.filter(({ name }) => wanted[name] === undefined).map(({ name }) => name);
  const first = grid.rankAt(grid.axes.map(({ name }) => wanted[name] ?? 0));
  const groups = grid.groups(open);
  const ranks = groups.ranks(groups.groupOf(first));
  return [
    markdown`**Slot ${slot}** of replica dp ${entry.dp.value}: ${ranks.length === 1 ? 'rank' : 'ranks'} ${Markdown.trusted(ranksText(ranks))}.`,
  ];
}

/** How many process groups a degree makes, and the first of them. */
function groupLine(key: string, families: readonly GroupFamily[], lists: boolean): Markdown | null {
  const wanted = groupAlong(key);
  const family = families.find(({ name }) => name === wanted);
  if (!family || family.size < 2) {
    return null;
  }
  const count = markdown`Process group ${code(family.name)}: ${countOf(family.count, 'group')} of ${countOf(family.size, 'rank')}`;
  if (!lists) {
    return markdown`${count}.`;
  }
  const first = Array.from({ length: Math.min(3, family.count) }, (_, i) => ranksText(family.ranks(i))).join(', ');
  return markdown`${count}: ${Markdown.trusted(first)}${Markdown.trusted(family.count > 3 ? ', …' : '.')}`;
}
