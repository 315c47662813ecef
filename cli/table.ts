import { gibibytes } from '../layout';

/** Columns as wide as their widest cell, the first to the left, the others to the right; two spaces before each line. */
export function* table(rows: readonly (readonly string[])[]): Iterable<string> {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    yield `  ${cells.join('  ')}\n`;
  }
  yield '\n';
}

/** Bytes that travel. */
export const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;

/** Memory, in the unit in which GPUs have it. */
export const memory = (bytes: number): string => `${gibibytes(bytes)} GiB`;
