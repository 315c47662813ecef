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
