import { terminalLine } from './terminal';

/** A field of comma-separated values: quoted where it needs it, on one line, and never a formula of a spreadsheet. */
export function csvCell(value: string | number): string {
  if (typeof value === 'number' || /^\w[\w .-]*$/.test(value) || value === '') {
    return String(value);
  }
  return `"'${terminalLine(value).replaceAll('"', '""')}"`;
}
