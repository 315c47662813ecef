import {
  bytesText,
  foldTracebacks,
  groupedBy,
  kindsOf,
  lineOfGroup,
  nameOfKind,
  type SmokeResult,
  speedTable,
  speedText,
} from '../jobs';
import type { Checked } from '../layout';
import { terminalLine } from '../layout';
import { styled } from './output';
import { aligned } from './table';

/**
 * The outcome of a smoke job as text: a table of bandwidths by kind of group, the results of the checks, and the fault at its line
 * of the layout, in the form of a diagnostic of `check`.
 */
export function smokeReport(file: string, checked: Checked, result: SmokeResult): string {
  const line = (style: 'green' | 'yellow', word: string, text: string) =>
    `${styled(style, word)}  ${terminalLine(text)}`;
  const lines = [
    ...kindRows(result),
    ...sweepRows(result),
    ...result.passed.map(({ name, message }) => line('green', 'ok', `${name}: ${message}`)),
    ...result.skipped.map(({ name, reason }) => line('yellow', 'skipped', `${name}: ${reason}`)),
    ...result.warnings.map((warning) => line('yellow', 'warning', warning)),
    ...(result.verdict === 'unknown' ? foldTracebacks(result.lastWords).shown.map(terminalLine) : []),
    ...faultLine(file, checked, result),
    ...(result.device === '' ? [] : [machineText(result)]),
    verdictLine(result),
  ];
  return `${lines.join('\n')}\n`;
}

function verdictLine({ ok, verdict, groups, seconds }: SmokeResult): string {
  const took = `${seconds.toFixed(1)} s`;
  return ok
    ? styled('green', `passed: ${groups.length} process groups in ${took}`)
    : styled('red', `failed (${verdict.replaceAll('_', ' ')}) after ${took}; ${groups.length} process groups passed`);
}

function faultLine(file: string, { facts, lines }: Checked, { fault }: SmokeResult): string[] {
  if (!fault) {
    return [];
  }
  const line = facts ? lineOfGroup(facts, lines, fault.kind, fault.module ?? null) + 1 : 1;
  const head = styled(['bold', 'red'], `error[smoke-${fault.code.replaceAll('_', '-')}]`);
  return [`${terminalLine(file)}:${line}:1: ${head}: ${terminalLine(fault.msg)}`];
}

function machineText({ device, software, communicatorBytes }: SmokeResult): string {
  const memory =
    communicatorBytes === null
      ? ''
      : `, communicators hold ${(communicatorBytes / 2 ** 30).toFixed(2)} GiB of each GPU`;
  return terminalLine(`${device}, ${software.join('; ')}${memory}`);
}

/** A row for every kind of group of more than one rank, in the order of creation, with its slowest group's bandwidths. */
function kindRows({ groups, device }: SmokeResult): string[] {
  const kinds = kindsOf(groups);
  if (kinds.length === 0) {
    return [];
  }
  const rows = speedTable(kinds, device).map((row) => row.map(terminalLine));
  const [head = '', ...lines] = aligned(rows, 2);
  const skipped = new Set(kinds.flatMap((kind) => kind.skipped));
  return [
    styled('bold', `    ${head}`),
    ...lines.map((line) => `${styled('green', 'ok')}  ${line}`),
    ...(skipped.size > 0
      ? [`${styled('yellow', 'skipped')}  ${[...skipped].map(terminalLine).join(', ')}: not on this backend`]
      : []),
  ];
}

/** A line for every operation that the check `bandwidth` measured, payload by payload. */
function sweepRows({ bandwidth, device }: SmokeResult): string[] {
  const sweeps = groupedBy(
    bandwidth.flatMap((group) => Object.entries(group.ops).map(([operation, step]) => ({ group, operation, step }))),
    ({ group, operation }) => `${nameOfKind(group)}  ${operation}`,
  );
  return [...sweeps].map(([name, steps]) => {
    const shown = steps.map(({ step }) => `${speedText(step.busGBs, device)} at ${bytesText(step.bytes)}`);
    return terminalLine(`bandwidth  ${name} ${shown.join(', ')}`);
  });
}
