import { type RunRecord, type Slowdown, slowdowns } from './runRecord';
import { bandwidthText, bytesText, type KindOfGroups, measuresSpeed, nameOfKind, speedText } from './speeds';
import { foldTracebacks, type Traceback } from './tracebacks';

/** The most ranks that a line lists. */
const MAX_RANKS = 32;

/**
 * The report of a run in Markdown that also reads well as plain text, for a ticket.
 * @param earlier other runs, the newest first, to find kinds of groups that became slower
 * @param log the output of the job and its ranks
 */
export function reportOf(
  record: RunRecord,
  earlier: readonly RunRecord[],
  log: readonly string[] = record.lastWords,
): string {
  const lastLines = foldTracebacks(record.lastWords).shown;
  const sections = [
    [`# Smoke job of ${record.name}: ${verdictText(record)}`],
    factLines(record),
    faultText(record),
    listText('Slower than in the last run on this cluster', slowdowns(record, earlier).map(slowdownLine)),
    kindsTable(record),
    sweepText(record),
    listText('Checks', [
      ...record.passed.map(({ name, message }) => `passed: ${name}: ${message}`),
      ...record.skipped.map(({ name, reason }) => `skipped: ${name}: ${reason}`),
    ]),
    listText('Warnings', record.warnings),
    record.verdict === 'unknown' ? ['## Last lines of the job', '', ...codeBlock(lastLines)] : [],
    ...foldTracebacks(log).tracebacks.map(tracebackText),
  ];
  return `${sections
    .filter(({ length }) => length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

/** Collapsed where Markdown is rendered: the fault above says what to do. */
function tracebackText({ rank, lines }: Traceback): string[] {
  const title = rank === '' ? 'Traceback' : `Traceback of rank ${rank}`;
  return ['<details>', `<summary>${title}</summary>`, '', ...codeBlock(lines), '', '</details>'];
}

/** Lines as they are: the fence is longer than any in them. */
function codeBlock(lines: readonly string[]): string[] {
  const longest = Math.max(2, ...lines.flatMap((line) => [...line.matchAll(/`+/g)].map(([run]) => run.length)));
  const fence = '`'.repeat(longest + 1);
  return [`${fence}text`, ...lines, fence];
}

/** The outcome in a word or two. */
function verdictText({ ok, verdict }: Pick<RunRecord, 'ok' | 'verdict'>): string {
  if (ok || verdict === 'cancelled') {
    return ok ? 'passed' : verdict;
  }
  return verdict === 'unknown' ? 'no verdict' : `failed (${verdict.replaceAll('_', ' ')})`;
}

function factLines(record: RunRecord): string[] {
  const { communicatorBytes } = record;
  const passed = record.kinds.reduce((sum, { groups }) => sum + groups, 0);
  const memory = communicatorBytes === null ? '' : `${(communicatorBytes / 2 ** 30).toFixed(2)} GiB of each GPU`;
  return [
    ['Cluster', `${record.cluster} (${record.kind}, ${record.backend})`],
    ['Began', record.started],
    ['Took', `${record.seconds.toFixed(1)} s`],
    ['Ranks', String(record.world)],
    ['Process groups', `${passed} of ${record.allGroups} passed`],
    ['Device', record.device],
    ['Software', record.software.join('; ')],
    ['Communicators', memory],
    ['Layout hash', record.layoutHash],
  ].flatMap(([name, value]) => (value === '' ? [] : [`- ${name}: ${value}`]));
}

function faultText({ fault }: RunRecord): string[] {
  if (!fault) {
    return [];
  }
  const { code, msg, kind, module = null, ranks = [], culprits, host = '', waiting } = fault;
  const lines = [
    ['Group', kind === undefined ? '' : nameOfKind({ kind, module })],
    ['Ranks of the group', rankList(ranks)],
    ['Ranks named', rankList(culprits)],
    ['Host', host],
    ['Ranks that wait', rankList(waiting)],
  ].flatMap(([name, value]) => (value === '' ? [] : [`- ${name}: ${value}`]));
  return [`## Fault: ${code}`, '', msg, '', ...lines];
}

/** The first ranks of a list, and how many more there are. */
function rankList(ranks: readonly number[]): string {
  const more = ranks.length - MAX_RANKS;
  return ranks.slice(0, MAX_RANKS).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** One kind of group that became slower. */
export function slowdownLine({ operation, now, before, since, ...kind }: Slowdown): string {
  const share = Math.round((1 - now / before) * 100);
  return `${nameOfKind(kind)}: ${operation} ${bandwidthText(now)}, ${share} % slower (${bandwidthText(before)} on ${since.slice(0, 16).replace('T', ' ')} UTC)`;
}

function listText(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, '', ...lines.map((line) => `- ${line}`)];
}

/** What the check `bandwidth` measured: of each kind one group, payload by payload. */
function sweepText({ bandwidth, device }: RunRecord): string[] {
  return listText(
    measuresSpeed(device) ? 'Bandwidth by payload' : 'Payloads',
    bandwidth.flatMap((group) =>
      Object.entries(group.ops).map(
        ([operation, { bytes, busGBs }]) =>
          `${nameOfKind(group)}: ${operation} ${speedText(busGBs, device)} at ${bytesText(bytes)}`,
      ),
    ),
  );
}

/** A table of the slowest group's bus bandwidth by kind of group and operation. */
function kindsTable({ kinds, device }: RunRecord): string[] {
  if (kinds.length === 0) {
    return [];
  }
  const title = measuresSpeed(device)
    ? '## Bus bandwidth of the slowest group'
    : '## Operations (on the CPU, which shows no bandwidth)';
  return [title, '', ...markdownTable(speedTable(kinds, device))];
}

/** The table of bandwidths as cells: a row a kind of group, a column an operation. */
export function speedTable(kinds: readonly KindOfGroups[], device: string): string[][] {
  const operations = [...new Set(kinds.flatMap(({ speeds }) => speeds.map(({ operation }) => operation)))];
  return [
    ['Group', 'Groups x ranks', ...operations],
    ...kinds.map((kind) => [
      nameOfKind(kind),
      `${kind.groups} x ${kind.size}`,
      ...operations.map((operation) => {
        const speed = kind.speeds.find((one) => one.operation === operation);
        return speed ? speedText(speed.busGBs, device) : '-';
      }),
    ]),
  ];
}

function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): string[] {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`;
  const [first = [], ...others] = cells;
  return [line(first), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...others.map(line)];
}
