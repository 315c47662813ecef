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
function countIn(value: string): number | null {
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
