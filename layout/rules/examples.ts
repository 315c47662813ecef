/** A layout of `parallelism` in a few words: `job(16, 'tp: 2', 'fsdp: {enabled: true}')`. */
export function job(ranks: number, degrees: string, ...rest: readonly string[]): string {
  return ['layout: 1', `world_size: ${ranks}`, `parallelism: {${degrees}}`, ...rest, ''].join('\n');
}

/** A layout of `modules`, a line each: `modules(8, 'language: {num_ranks: 8, tp: 2}')`. */
export function modules(ranks: number, ...lines: readonly string[]): string {
  return ['layout: 1', `world_size: ${ranks}`, 'modules:', ...lines.map((line) => `  ${line}`), ''].join('\n');
}

/** A layout of a framework: `of('torchtitan', 8, 'tp: 2', 'data_parallel_shard_degree: 4')`; the last are keys of `fsdp`. */
export function of(family: string, ranks: number, degrees: string, fsdp = ''): string {
  return job(ranks, degrees, `launch: {family: ${family}}`, ...(fsdp === '' ? [] : [`fsdp: {${fsdp}}`]));
}
