// Layouts that the benchmarks share.

/** A heterogeneous layout of about the given number of lines. */
export function layoutOfLines(lines) {
  const modules = Math.max(1, Math.round((lines - 4) / 7));
  const blocks = Array.from(
    { length: modules },
    (_, i) => `  ${i === 0 ? 'language' : `module_${i}`}:
    rank_offset: ${i * 8}
    num_ranks: 8
    tp: 2
    cp: 1
    pp: 2
    ep: 1
`,
  );
  return `layout: 1\nname: bench\nworld_size: ${modules * 8}\nmodules:\n${blocks.join('')}`;
}
