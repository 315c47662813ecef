import { sbatchDirectives } from './launch/sources/shell/slurm';

/** The most nodes that are named. */
const MAX_NODES = 100_000;

/** A host name as DNS and Slurm have it. */
const NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/;

/**
 * The names in a list as Slurm writes it, such as `gpu[003,017-019],login1`; null where it is none. One pair of brackets a name.
 */
export function nodeNames(list: string): readonly string[] | null {
  const names: string[] = [];
  for (const part of partsOf(list)) {
    const [open, close] = [part.indexOf('['), part.indexOf(']')];
    const isRange = open >= 0 && close > open;
    const [prefix, ranges, suffix] = isRange
      ? [part.slice(0, open), part.slice(open + 1, close), part.slice(close + 1)]
      : [part, null, ''];
    for (const range of ranges?.split(',') ?? [null]) {
      const numbers = range === null ? [''] : numbersOf(range, MAX_NODES - names.length);
      const found = numbers?.map((number) => prefix + number + suffix) ?? [];
      if (found.length === 0 || !found.every((name) => NAME.test(name))) {
        return null;
      }
      names.push(...found);
    }
  }
  return [...new Set(names)];
}

/** The parts of a list at its commas outside brackets. */
function partsOf(list: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of list) {
    depth += character === '[' ? 1 : character === ']' ? -1 : 0;
    if (character === ',' && depth === 0) {
      parts.push('');
    } else {
      parts.push((parts.pop() ?? '') + character);
    }
  }
  return parts.map((part) => part.trim());
}

/** `017-019` as its numbers, with their zeros; null where it is no range, or a range of more than `most`. */
function numbersOf(range: string, most: number): string[] | null {
  const [, first = '', last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(range) ?? [];
  const [from, to] = [Number(first), Number(last)];
  if (first === '' || to < from || to - from >= most) {
    return null;
  }
  return Array.from({ length: to - from + 1 }, (_, i) => String(from + i).padStart(first.length, '0'));
}

/** How a scheduler is told to leave nodes alone. */
export interface NodeExclusion {
  /** An option of `sbatch` and `srun`, and a directive of a script. */
  readonly slurm: string;
  /** A field of a pod's `spec`, as YAML on one line. */
  readonly kubernetes: string;
}

/**
 * What keeps a job off the named nodes.
 * @param scripts of the job: an option of `sbatch` takes the place of their `--exclude`, so that its names are kept
 */
export function nodeExclusion(names: readonly string[], scripts: readonly string[] = []): NodeExclusion {
  const all = [...new Set([...names, ...namedBy(scripts, 'exclude')])];
  const values = names.map((name) => JSON.stringify(name)).join(', ');
  const term = `{matchExpressions: [{key: kubernetes.io/hostname, operator: NotIn, values: [${values}]}]}`;
  return {
    slurm: `--exclude=${all.join(',')}`,
    kubernetes: `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [${term}]}}}`,
  };
}

/** Those of the named nodes that `--nodelist` of a script asks for: Slurm refuses a node that is asked for and excluded. */
export function askedFor(names: readonly string[], scripts: readonly string[]): readonly string[] {
  const asked = new Set(namedBy(scripts, 'nodelist'));
  return names.filter((name) => asked.has(name));
}

const namedBy = (scripts: readonly string[], option: string): string[] =>
  scripts.flatMap((script) => nodeNames(sbatchDirectives(script).get(option)?.value ?? '') ?? []);
