import type { CodeLens } from 'vscode-languageserver';
import { type Checked, countOf, hasErrors, type LineIndex, type Span } from '../../layout';
import type { Commands } from '../messages';
import { groupsOf } from '../moduleGroups';

/** What can be done with a layout, and how many ranks and process groups its grids have. */
export function codeLenses(uri: string, checked: Checked, commands: Commands): CodeLens[] {
  const { facts, lines } = checked;
  if (!facts) {
    return [];
  }
  const top = { start: facts.span.start, end: facts.span.start };
  const { showGrid, runSmokeJob } = commands;
  return [
    ...(showGrid ? [lens(top, lines, 'Show Rank Grid', showGrid, uri)] : []),
    ...(runSmokeJob && checked.resolved && !hasErrors(checked)
      ? [lens(top, lines, 'Run Smoke Job', runSmokeJob, uri)]
      : []),
    ...gridLenses(uri, checked, showGrid ?? ''),
  ];
}

/** The most grids that get a lens. */
const MAX_GRIDS = 200;

function gridLenses(uri: string, { facts, resolved, lines }: Checked, command: string): CodeLens[] {
  if (!facts || !resolved) {
    return [];
  }
  return facts.modules.slice(0, MAX_GRIDS).map(({ name, nameSpan, ranks }) => {
    // a group of one rank has nobody to talk to
    const groups = groupsOf(resolved, name).reduce((sum, { size, count }) => sum + (size > 1 ? count : 0), 0);
    return lens(nameSpan, lines, `${countOf(ranks ?? 0, 'rank')}, ${countOf(groups, 'process group')}`, command, uri);
  });
}

/** A lens whose command is empty is shown as text. */
function lens(span: Span, lines: LineIndex, title: string, command: string, uri: string): CodeLens {
  return {
    range: lines.rangeOf(span),
    command: { title, command, ...(command !== '' && { arguments: [uri] }) },
  };
}
