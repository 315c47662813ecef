/** Rows as lines, columns as wide as their widest cell: the first `left` to the left, the others to the right. */
export function aligned(rows: readonly (readonly string[])[], left: number): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row.map((cell, i) => (i < left ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
  );
}

/** A table whose first column is to the left, with two spaces before each line and a blank line after it. */
export function* table(rows: readonly (readonly string[])[]): Iterable<string> {
  yield* aligned(rows, 1).map((line) => `  ${line}\n`);
  yield '\n';
}
