/** A Slurm option's value with its line: `#SBATCH --nodes=4`. */
interface Directive {
  readonly value: string;
  readonly offset: number;
}

/** The long names of the short options that decide how many ranks a job has, and on which nodes. */
const SHORT: Readonly<Record<string, string>> = {
  ...{ N: 'nodes', n: 'ntasks', c: 'cpus-per-task', G: 'gpus' },
  ...{ w: 'nodelist', x: 'exclude' },
};

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

/** A whole number from the value of an option such as `8`, `h100:8` or `gpu:8`; undefined where it is none. */
const countIn = (value: string): string | undefined => /^(?:[\w.-]+:)*(\d+)$/.exec(value)?.[1];

/** Variables that Slurm sets in a job, with the options that say them: the first that holds a count. */
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  SLURM_NNODES: ['nodes'],
  SLURM_JOB_NUM_NODES: ['nodes'],
  SLURM_NTASKS: ['ntasks'],
  SLURM_NPROCS: ['ntasks'],
  SLURM_NTASKS_PER_NODE: ['ntasks-per-node'],
  SLURM_TASKS_PER_NODE: ['ntasks-per-node'],
  SLURM_CPUS_PER_TASK: ['cpus-per-task'],
  SLURM_GPUS_PER_NODE: ['gpus-per-node', 'gres', 'gpus_per_node'],
  SLURM_GPUS_ON_NODE: ['gpus-per-node', 'gres', 'gpus_per_node'],
};

/** The variables that Slurm sets for a script, with the lines of its options. */
export function slurmVariables(text: string): ReadonlyMap<string, Directive> {
  const directives = sbatchDirectives(text);
  return new Map(
    Object.entries(VARIABLES).flatMap(([name, options]) => {
      const found = options.flatMap((option) => directives.get(option) ?? []).find(({ value }) => countIn(value));
      return found ? [[name, { ...found, value: countIn(found.value) ?? '' }] as const] : [];
    }),
  );
}
