import { type RunRecord, type Slowdown, slowdowns } from './runRecord';
import { bandwidthText, bytesText, type KindOfGroups, measuresSpeed, nameOfKind, speedText } from './speeds';
import { foldTracebacks, type Traceback } from './tracebacks';

/**
 * The report of a run in Markdown that reads well as plain text too: made to be pasted into a ticket.
 * @param earlier other runs, the last first: what became slower is said
 * @param log what the job and its ranks wrote
 */
export function reportOf(
  record: RunRecord,
  earlier: readonly RunRecord[],
  log: readonly string[] = record.lastWords,
): string {
  const lastLines = foldTracebacks(record.lastWords).shown;
  const sections = [
    [`# Smoke job of ${record.name}: ${verdictText(record)}`],
    facts(record).map(([name, value]) => `- ${name}: ${value}`),
    faultText(record),
    slowdownText(slowdowns(record, earlier)),
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
  if (ok) {
    return 'passed';
  }
  return verdict === 'cancelled'
    ? 'cancelled'
    : verdict === 'unknown'
      ? 'no verdict'
      : `failed (${verdict.replaceAll('_', ' ')})`;
}

function facts(record: RunRecord): [name: string, value: string][] {
  const { cluster, kind, backend, started, seconds, world, device, software, communicatorBytes } = record;
  const passed = record.kinds.reduce((sum, { groups }) => sum + groups, 0);
  return [
    ['Cluster', `${cluster} (${kind}, ${backend})`],
    ['Began', started],
    ['Took', `${seconds.toFixed(1)} s`],
    ['Ranks', String(world)],
    ['Process groups of more than one rank', `${passed} of ${record.allGroups} passed`],
    ...(device === '' ? [] : [['Device', device] as [string, string]]),
    ...(software.length === 0 ? [] : [['Software', software.join('; ')] as [string, string]]),
    ...(communicatorBytes === null
      ? []
      : [
          ['Memory of communicators', `${(communicatorBytes / 2 ** 30).toFixed(2)} GiB of each GPU`] as [
            string,
            string,
          ],
        ]),
    ['Layout hash', record.layoutHash],
  ];
}

function faultText({ fault }: RunRecord): string[] {
  if (!fault) {
    return [];
  }
  const ranks = (name: string, list: readonly number[]) => (list.length > 0 ? [`- ${name}: ${list.join(', ')}`] : []);
  const group =
    fault.kind === undefined ? [] : [`- Group: ${nameOfKind({ kind: fault.kind, module: fault.module ?? null })}`];
  return [
    `## Fault: ${fault.code}`,
    '',
    fault.msg,
    '',
    ...group,
    ...ranks('Ranks of the group', fault.ranks ?? []),
    ...ranks('Ranks named', fault.culprits),
    ...(fault.host === undefined ? [] : [`- Host: ${fault.host}`]),
    ...ranks('Ranks that wait', fault.waiting),
  ];
}

function slowdownText(slower: readonly Slowdown[]): string[] {
  return listText('Slower than in the last run on this cluster', slower.map(slowdownLine));
}

/** One kind of group that became slower. */
export function slowdownLine({ operation, now, before, since, ...kind }: Slowdown): string {
  const share = Math.round((1 - now / before) * 100);
  return `${nameOfKind(kind)}: ${operation} ${bandwidthText(now)}, ${share} % slower than ${bandwidthText(before)} of ${since}`;
}

function listText(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, '', ...lines.map((line) => `- ${line}`)];
}

/** What the check `bandwidth` measured: of each kind one group, payload by payload. */
function sweepText({ bandwidth, device }: RunRecord): string[] {
  return listText(
    measuresSpeed(device) ? 'Bandwidth by payload' : 'Payloads that were moved',
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
    : '## Operations that moved their data (on a processor, which shows no bandwidth)';
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
