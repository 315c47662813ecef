import type { CodeLens } from 'vscode-languageserver';
import { type Checked, countOf, type LineIndex, type Span } from '../../layout';
import type { Commands } from '../messages';
import { groupsOf } from '../ranks';
import { feature } from './feature';

export const codeLensFeature = feature({ codeLensProvider: {} }, ({ connection, commands, launch, checked }) => {
  connection.onCodeLens(async ({ textDocument: { uri } }) => {
    const found = checked(uri);
    const { compareLaunchFile = '' } = commands;
    return [...codeLenses(uri, found, commands), ...((await launch?.lenses(uri, found, compareLaunchFile)) ?? [])];
  });
});

/**
 * Lenses with the commands of a layout, and with the ranks and process groups of its grids. A lens takes up a line, so a file with
 * errors keeps its lenses, with less text: lines do not jump while a person types.
 */
export function codeLenses(uri: string, checked: Checked, commands: Commands): CodeLens[] {
  const { facts, lines, text } = checked;
  if (text.trim() === '' && commands.newLayout !== undefined) {
    return emptyLenses(uri, lines, commands.newLayout);
  }
  // the first key, behind comments
  const start = facts?.span.start ?? Math.max(0, text.search(/^[^\s#]/m));
  const top = { start, end: start };
  const { showGrid, runSmokeJob } = commands;
  return [
    ...(showGrid ? [lens(top, lines, 'Show Rank Grid', showGrid, uri)] : []),
    ...(runSmokeJob ? [smokeLens(top, checked, runSmokeJob, uri)] : []),
    ...gridLenses(uri, checked, showGrid ?? ''),
    ...modelLens(uri, checked, commands.addModel),
  ];
}

/** With what an empty file can begin. */
const BEGINNINGS = [
  ['Start from a Template', 'template'],
  ['from Copied Flags', 'flags'],
  ['from a Launch Script', 'launch'],
] as const;

const emptyLenses = (uri: string, lines: LineIndex, command: string): CodeLens[] =>
  BEGINNINGS.map(([title, from]) => ({
    range: lines.rangeOf({ start: 0, end: 0 }),
    command: { title, command, arguments: [uri, from] },
  }));

/** Offers to say which model a grid runs, without which neither memory nor time is known. */
function modelLens(uri: string, { facts, resolved, lines }: Checked, command: string | undefined): CodeLens[] {
  const [grid, ...more] = facts?.modules ?? [];
  return command !== undefined && resolved && grid && more.length === 0 && !facts?.root.model.written
    ? [lens(grid.nameSpan, lines, 'Add the Model: memory, time', command, uri)]
    : [];
}

function smokeLens(top: Span, { diagnostics, lines }: Checked, command: string, uri: string): CodeLens {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  return errors === 0
    ? lens(top, lines, 'Run Smoke Job', command, uri)
    : lens(top, lines, `Run Smoke Job: fix ${countOf(errors, 'error')} first`, '', uri);
}

/** The most grids that get a lens. */
const MAX_GRIDS = 200;

/** What a grid has whose ranks are not known. */
const UNKNOWN = 'ranks not known';

function gridLenses(uri: string, { text, facts, resolved, lines }: Checked, command: string): CodeLens[] {
  const grids = (facts?.modules ?? []).slice(0, MAX_GRIDS).map(({ name, nameSpan, ranks }) => {
    // a group of one rank does not communicate
    const groups = resolved
      ? groupsOf(resolved, name).reduce((sum, { size, count }) => sum + (size > 1 ? count : 0), 0)
      : undefined;
    const words = [
      ranks === undefined ? UNKNOWN : countOf(ranks, 'rank'),
      ...(groups === undefined ? [] : [countOf(groups, 'process group')]),
    ];
    return lens(nameSpan, lines, words.join(', '), command, uri);
  });
  return grids.length > 0 ? grids : gridHeads(text).map((head) => lens(head, lines, UNKNOWN, '', uri));
}

/** Where the grids of a text begin that cannot be read: `parallelism`, or the keys right below `modules`. */
function gridHeads(text: string): Span[] {
  const spanOf = (match: RegExpMatchArray): Span => {
    const start = (match.index ?? 0) + (match[1]?.length ?? 0);
    return { start, end: start + (match[2]?.length ?? 0) };
  };
  const modules = /^modules[ \t]*:[^\n]*\n((?:[ \t][^\n]*(?:\n|$)|\r?\n)*)/m.exec(text);
  if (!modules) {
    return [...text.matchAll(/^()(parallelism)[ \t]*:/gm)].slice(0, 1).map(spanOf);
  }
  const body = modules[1] ?? '';
  const at = modules.index + modules[0].length - body.length;
  const indent = /^[ \t]+(?=\S)/m.exec(body)?.[0] ?? '';
  return [...body.matchAll(/^([ \t]+)([\w.-]+)[ \t]*:/gm)]
    .filter(([, before]) => before === indent)
    .slice(0, MAX_GRIDS)
    .map(spanOf)
    .map(({ start, end }) => ({ start: at + start, end: at + end }));
}

/** A lens whose command is empty is shown as text. */
function lens(span: Span, lines: LineIndex, title: string, command: string, uri: string): CodeLens {
  return {
    range: lines.rangeOf(span),
    command: { title, command, ...(command !== '' && { arguments: [uri] }) },
  };
}
