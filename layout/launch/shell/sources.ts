/** A Slurm option's value with its line: `#SBATCH --nodes=4`. */
interface Directive {
  readonly value: string;
  readonly offset: number;
}

/** The long names of the short options that decide how many ranks a job has. */
const SHORT: Readonly<Record<string, string>> = { N: 'nodes', n: 'ntasks', c: 'cpus-per-task', G: 'gpus' };

/** The `#SBATCH` options at the head of a script by their long names; the last of a name wins. */
export function sbatchDirectives(text: string): ReadonlyMap<string, Directive> {
  const directives = new Map<string, Directive>();
  for (const match of text.matchAll(
    /^#SBATCH[ \t]+(--?)([\w-]{1,64}?)(?:(?:[ \t]*=[ \t]*|[ \t]+)([^\s#]+)|(\d{1,9}))?[ \t]*(?:#.*)?$/gm,
  )) {
    const [, dashes, name = '', spaced, joined] = match;
    const long = dashes === '--' ? name : SHORT[name];
    const value = spaced ?? joined;
    if (long && value !== undefined) {
      directives.set(long, { value: value.replace(/^["']|["']$/g, ''), offset: match.index });
    }
  }
  return directives;
}

/** A whole number from the value of an option such as `8`, `h100:8` or `gpu:8`; null where it is none. */
export function countIn(value: string): number | null {
  const digits = /^(?:[\w.-]+:)*(\d+)$/.exec(value)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** The number of GPUs a node that Slurm options ask for, or null. */
function gpusPerNode(directives: ReadonlyMap<string, Directive>): Directive | null {
  for (const name of ['gpus-per-node', 'gres', 'gpus_per_node']) {
    const directive = directives.get(name);
    if (directive && countIn(directive.value) !== null) {
      return { ...directive, value: String(countIn(directive.value)) };
    }
  }
  return null;
}

/** Variables that Slurm sets in a job, from its options. */
export const SLURM_VARIABLES: Readonly<
  Record<string, (directives: ReadonlyMap<string, Directive>) => Directive | null>
> = {
  SLURM_NNODES: (d) => numeric(d.get('nodes')),
  SLURM_JOB_NUM_NODES: (d) => numeric(d.get('nodes')),
  SLURM_NTASKS: (d) => numeric(d.get('ntasks')),
  SLURM_NPROCS: (d) => numeric(d.get('ntasks')),
  SLURM_NTASKS_PER_NODE: (d) => numeric(d.get('ntasks-per-node')),
  SLURM_TASKS_PER_NODE: (d) => numeric(d.get('ntasks-per-node')),
  SLURM_CPUS_PER_TASK: (d) => numeric(d.get('cpus-per-task')),
  SLURM_GPUS_PER_NODE: gpusPerNode,
  SLURM_GPUS_ON_NODE: gpusPerNode,
};

function numeric(directive: Directive | undefined): Directive | null {
  return directive && /^\d+$/.test(directive.value) ? directive : null;
}

/** No path is longer, in characters. Patterns that take the square of a text's length are tried on no more than that. */
const MAX_PATH = 4_096;

/** A directory and a path below it as one path, without `.` and `..` where they can be resolved. */
export function joinPath(directory: string, path: string): string {
  const whole = path.startsWith('/') || directory === '' ? path : `${directory}/${path}`;
  const parts: string[] = [];
  for (const part of whole.split('/')) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..' && parts.at(-1) !== '') {
      parts.pop();
    } else if (part !== '.' && (part !== '' || parts.length === 0)) {
      parts.push(part);
    }
  }
  return parts.join('/') || (whole.startsWith('/') ? '/' : '.');
}

/** The directory of a path; `.` for a bare name. */
export function directoryOf(path: string): string {
  const cut = path.lastIndexOf('/');
  return cut < 0 ? '.' : cut === 0 ? '/' : path.slice(0, cut);
}

/** How many directories above a file are searched for the files that it names. */
const MAX_ANCESTORS = 8;

/**
 * Where a file that a launch file names may lie: at the path itself, beside the launch file, and from each directory above
 * it, the repository's root among them. A path of a container or with an unknown start is also tried by its ends.
 * @param from the file that names it
 * @param path the path as written; `null` pieces are not known
 */
export function candidatePaths(from: string, path: string): string[] {
  if (path.length > MAX_PATH) {
    return [];
  }
  const ancestors = ancestorsOf(directoryOf(from));
  const ends = path.startsWith('/') ? endsOf(path) : [path];
  const candidates = path.startsWith('/') ? [path] : [];
  for (const end of ends) {
    candidates.push(...ancestors.map((directory) => joinPath(directory, end)));
  }
  return [...new Set(candidates)];
}

function ancestorsOf(directory: string): string[] {
  const ancestors = [directory];
  let current = directory;
  for (let level = 0; level < MAX_ANCESTORS && current !== '/' && current !== '.' && !current.endsWith('..'); level++) {
    current = directoryOf(current);
    ancestors.push(current);
  }
  return ancestors;
}

/** How many ends of an absolute path are tried. */
const MAX_ENDS = 6;

/** The ends of an absolute path with at least two components: `/root/slime/scripts/x.sh` is `slime/scripts/x.sh`, `scripts/x.sh`. */
function endsOf(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '');
  return parts
    .slice(1, -1)
    .slice(0, MAX_ENDS)
    .map((_, index) => parts.slice(index + 1).join('/'));
}
