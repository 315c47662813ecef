import { type Hover, MarkupKind } from 'vscode-languageserver';
import type { Checked, GroupFamily } from '../layout';
import { derivedLines, moduleAt, signature } from './describe';
import { groupsOf } from './groups';
import { locate, specAt } from './locate';

/** What the key at an offset means, and what its grid works out to with the numbers of this file. */
export function hover({ read, facts, lines, resolved }: Checked, offset: number): Hover | null {
  const found = locate(read.tree.root, offset);
  const spec = found && specAt(found.path);
  if (!found || !spec) {
    return null;
  }
  const module = facts && moduleAt(facts, found.path);
  const here = facts && module ? derivedLines(facts, module) : [];
  const name = found.path.at(-1) ?? '';
  const groups = resolved && module ? groupLine(name, groupsOf(resolved, module.name)) : null;
  const sections = [
    signature(name, spec),
    spec.doc,
    ...(here.length > 0 ? [`Here: ${here.join('; ')}.`] : []),
    ...(groups ? [groups] : []),
  ];
  return {
    contents: { kind: MarkupKind.Markdown, value: sections.join('\n\n') },
    range: lines.rangeOf(found.onKey ? found.entry.keySpan : found.entry.value.span),
  };
}

/** The keys whose own process group has another name than the key. */
const GROUP_OF_KEY: Readonly<Record<string, string>> = { expt_tp: 'ep_tp', expt_dp: 'ep_dp' };

/** How many process groups a degree makes, and the first of them. */
function groupLine(key: string, families: readonly GroupFamily[]): string | null {
  const wanted = GROUP_OF_KEY[key] ?? key;
  const family = families.find(({ name }) => name === wanted);
  if (!family || family.size < 2) {
    return null;
  }
  const ranks = family.ranks(0);
  const shown = ranks.length > 8 ? `${ranks.slice(0, 8).join(', ')}, …` : ranks.join(', ');
  return `Process group \`${family.name}\`: ${family.count} of ${family.size} ranks, the first [${shown}].`;
}
