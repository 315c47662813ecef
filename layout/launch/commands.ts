import { memoizeRecent } from '../memoize';
import { readFlags } from './flags';
import { integerOf, type Option, Options } from './options';
import { lastPart } from './sources/paths';
import type { ReadFile } from './sources/shell/interpreter';
import type { Invocation } from './sources/shell/shell';
import {
  type Arg,
  literal,
  type Place,
  placeOf,
  type Text,
  textOf,
  type Variable,
  whyUnknown,
} from './sources/shell/words';
import { type Defaults, type Found, isKnown, ONE } from './value';

/** What the launchers around a program say of its world. */
export interface World {
  readonly nodes?: Found<number> | undefined;
  /** Processes, and so ranks, a node. */
  readonly perNode?: Found<number> | undefined;
  readonly total?: Found<number> | undefined;
}

/** A program that a script starts, without the launchers around it. */
export interface Job {
  /** The program: `python`, `vllm`, `megatron`, ... */
  readonly program: string;
  /** The script or module that Python runs; null for other programs, and where it is not known. */
  readonly script: string | null;
  readonly args: readonly Arg[];
  readonly world: World;
  /** The launchers, outermost first. */
  readonly launchers: readonly string[];
  /** The configuration files that launchers are given. */
  readonly configurations: readonly string[];
  /** The options of the innermost launcher; null where there is none. */
  readonly launcherOptions: Options | null;
  readonly variables: ReadonlyMap<string, Variable>;
  readonly place: Place;
}

/** The program of a job that is flags alone, as they are pasted, or as a lost line continuation leaves them. */
export const FLAGS_ALONE = 'flags';

/** A flag, or an override such as `trainer.nnodes=2`, where a program stands. */
const LOST_FLAG = /^(--[a-z]|\+{0,2}[A-Za-z_]\w*\.[\w.]+=)/;

/** How the options of a launcher are separated from the program behind them. */
interface Launcher {
  /** Options without a value. */
  readonly switches: ReadonlySet<string>;
  /** Options with two values. */
  readonly pairs?: ReadonlySet<string>;
  /** The options that say its world, by their names. */
  readonly counts?: { readonly [P in keyof World]?: readonly string[] };
  /** What else says it: the files that options name, and what is taken where none is given. */
  readonly world?: (options: Options, textOf: ReadFile) => World;
}

const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** Where its options are absent, torchrun starts one process (torch/distributed/run.py, torch 2.14.1). */
const TORCHRUN: Launcher = {
  switches: names('standalone no_python m module run_path use_env'),
  counts: { nodes: ['nnodes'], perNode: ['nproc_per_node'] },
  world: () => ({ nodes: ONE, perNode: ONE }),
};

const SRUN: Launcher = {
  switches: names(
    'l label u unbuffered exclusive overlap O v verbose Q quiet k no_kill pty overcommit multi_prog E preserve_env exact whole s oversubscribe Z no_container_mount_home container_remap_root container_writable no_container_remap_root no_container_entrypoint container_mount_home parsable requeue H hold test_only W wait',
  ),
  counts: { nodes: ['nodes', 'N'], perNode: ['ntasks_per_node', 'tasks_per_node'], total: ['ntasks', 'n'] },
};

const MPIRUN: Launcher = {
  switches: names('allow_run_as_root oversubscribe tag_output v verbose report_bindings nolocal d launch_agent'),
  pairs: names('mca gmca'),
  counts: { perNode: ['npernode', 'N', 'ppn', 'perhost'], total: ['np', 'n', 'c'] },
};

/** The launchers by name. Sources: torch/distributed/run.py, Slurm's srun(1), Open MPI's mpirun(1), MindSpore's msrun. */
const LAUNCHERS: Readonly<Record<string, Launcher>> = {
  torchrun: TORCHRUN,
  torchrun_npu: TORCHRUN,
  srun: SRUN,
  sbatch: SRUN,
  salloc: SRUN,
  mpirun: MPIRUN,
  mpiexec: MPIRUN,
  'mpirun.openmpi': MPIRUN,
  accelerate: {
    switches: names(
      'multi_gpu cpu use_fsdp use_deepspeed use_megatron_lm tpu quiet debug m module no_python same_network tee use_xpu mps fsdp_cpu_ram_efficient_loading use_parallelism_config enable_cpu_affinity',
    ),
    counts: { nodes: ['num_machines'], total: ['num_processes'] },
  },
  deepspeed: {
    switches: names('module no_python no_local_rank save_pid enable_each_rank_log bind_cores_to_rank no_ssh'),
    counts: { nodes: ['num_nodes'], perNode: ['num_gpus'] },
    world: (options, textOf) => (options.get('hostfile', 'H') ? hostsOf(options, textOf) : localOf(options)),
  },
  msrun: {
    switches: names('join_cluster'),
    counts: { perNode: ['local_worker_num'], total: ['worker_num'] },
  },
  ray: { switches: names('no_wait verbose v') },
  numactl: { switches: names('localalloc l all a show hardware') },
  nsys: { switches: names('python_sampling') },
  timeout: { switches: names('foreground preserve_status v verbose') },
  stdbuf: { switches: names('oL eL oL0 o0') },
};

/** The world that the options of a launcher give, such as `--nproc_per_node 8`; `gpu`, `auto` and `1:4` are not known. */
function worldIn(launcher: Launcher, options: Options, textOf: ReadFile): World | undefined {
  const { counts, world } = launcher;
  const count = (names: readonly string[] = []) => options.given.integer(...names);
  const counted = counts && { nodes: count(counts.nodes), perNode: count(counts.perNode), total: count(counts.total) };
  return counted && { ...world?.(options, textOf), ...defined(counted) };
}

/** Programs that only start another one, with whether their options are read up to it. */
const WRAPPERS: ReadonlySet<string> = names('nohup time exec sudo command nice catchsegv unbuffer setsid ionice');

/** Subcommands after which a launcher's own options begin. */
const SUBCOMMANDS: Readonly<Record<string, readonly string[]>> = {
  accelerate: ['launch'],
  ray: ['job', 'submit'],
  nsys: ['profile'],
};

/** Wrappers whose options are not known; an unknown program may be one. */
const OTHER_WRAPPERS =
  /^(docker|podman|apptainer|singularity|enroot|ssh|pdsh|nsys|ncu|kubectl|xargs|bash|sh|stdbuf|rocprof|modal|sky|eai|)$/;

/** Programs that may stand behind a wrapper that is not known, such as `docker run ...`. */
const PROGRAMS = /^(torchrun|python[\d.]*|accelerate|deepspeed|srun|mpirun|msrun|megatron|swift|axolotl|vllm|uv)$/;

/**
 * The machines of the file that `deepspeed --hostfile` names: `worker-1 slots=8` a line (deepspeed/launcher/runner.py). Nothing
 * where they have unequal slots, or where other options choose among them.
 */
function hostsOf(options: Options, textOf: ReadFile): World {
  const named = options.get('hostfile', 'H');
  const [path, place] = [named?.values[0], named?.place];
  const isFiltered = ['include', 'i', 'exclude', 'e'].some((name) => options.has(name));
  const text = path && !isFiltered ? textOf(path) : null;
  const lines = text?.split('\n').filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#')) ?? [];
  const slots = lines.map((line) => integerOf(/^\S+[ \t]+slots=(\d{1,6})[ \t]*$/.exec(line.trim())?.[1] ?? null));
  const [first] = slots;
  if (!place || !first || slots.some((one) => one !== first)) {
    return {};
  }
  return { nodes: { value: slots.length, source: place }, perNode: { value: first, source: place } };
}

/**
 * The machine of a command without a file of hosts: this one, with the GPUs that `--include localhost:0,1` names. A command that
 * says nothing of GPUs may find a file of hosts where DeepSpeed looks for one.
 */
function localOf(options: Options): World {
  const included = options.get('include', 'i');
  if (!included && options.has('num_gpus') && !options.has('exclude') && !options.has('e')) {
    return { nodes: ONE };
  }
  const [, slots] = /^[\w.-]{1,255}:(\d+(?:,\d+)*)$/.exec(included?.values[0] ?? '') ?? [];
  return included && slots ? { nodes: ONE, perNode: { value: slots.split(',').length, source: included.place } } : {};
}

/** The program that an invocation starts, with the world that its launchers give it. */
export function jobOf(
  invocation: Invocation,
  scheduled: ReadonlyMap<string, Text>,
  textOf: ReadFile = () => null,
): Job {
  const chain = new Chain(invocation, textOf);
  chain.peel(invocation.outer);
  const rest = chain.peel(invocation.args);
  return { ...chain.job(rest), world: chain.world(scheduled) };
}

/** Launchers by the module that starts them. */
const LAUNCHER_MODULES: Readonly<Record<string, string>> = {
  'torch.distributed.run': 'torchrun',
  'torch.distributed.launch': 'torchrun',
  'accelerate.commands.launch': 'accelerate',
  'deepspeed.launcher.runner': 'deepspeed',
  torchrun: 'torchrun',
};

/** Where the options of Python itself end; -1 where nothing else follows. */
function startOfScript(args: readonly Arg[]): number {
  return args.findIndex((arg, index) => index > 0 && !/^-[uBOsEI]+$|^-X|^-W/.test(startOf(arg)));
}

class Chain {
  readonly launchers: string[] = [];
  readonly #configurations: string[] = [];
  #launcherOptions: Options | null = null;
  /** What the innermost launcher with a count says. */
  #world: World | undefined;
  #asModule = false;

  constructor(
    readonly invocation: Invocation,
    readonly textOf: ReadFile,
  ) {}

  /** Removes the launchers from the front of a command. */
  peel(args: readonly Arg[]): readonly Arg[] {
    let rest = args;
    for (let step = 0; step < 16; step++) {
      const next = this.#step(rest);
      if (!next) {
        break;
      }
      rest = next;
    }
    return rest;
  }

  #step(args: readonly Arg[]): readonly Arg[] | null {
    const name = lastPart(textOf(args[0]) ?? '');
    if (name === 'env') {
      return args.slice(1 + args.slice(1).findIndex((arg) => !/^(-|\w+=)/.test(startOf(arg))));
    }
    if (WRAPPERS.has(name)) {
      return args.slice(1);
    }
    if (/^(uv|poetry|pipenv|pixi|conda|micromamba|rye|coverage)$/.test(name)) {
      return afterRun(args);
    }
    if (/^(ba)?sh$/.test(name) && textOf(args[1])?.endsWith('.sh')) {
      return args.slice(1);
    }
    if (/^python[\d.]*$/.test(name)) {
      return this.#python(args);
    }
    const launcher = Object.hasOwn(LAUNCHERS, name) ? LAUNCHERS[name] : undefined;
    if (launcher) {
      return this.#launcher(name, launcher, args);
    }
    return behindUnknown(name, args);
  }

  /** `python -m torch.distributed.run` is torchrun, `python -m accelerate.commands.launch` is accelerate. */
  #python(args: readonly Arg[]): readonly Arg[] | null {
    const start = startOfScript(args);
    const module = textOf(args[start]) === '-m' ? (textOf(args[start + 1]) ?? '') : '';
    if (module === 'coverage') {
      return afterRun(args.slice(start + 1));
    }
    const launcher = Object.hasOwn(LAUNCHER_MODULES, module) ? LAUNCHER_MODULES[module] : undefined;
    const definition = launcher === undefined ? undefined : LAUNCHERS[launcher];
    return launcher !== undefined && definition ? this.#options(launcher, definition, args.slice(start + 2)) : null;
  }

  #launcher(name: string, launcher: Launcher, args: readonly Arg[]): readonly Arg[] | null {
    const subcommands = SUBCOMMANDS[name] ?? [];
    if (!subcommands.every((one, index) => textOf(args[index + 1]) === one)) {
      return null;
    }
    return this.#options(name, launcher, args.slice(1 + subcommands.length));
  }

  #options(name: string, launcher: Launcher, args: readonly Arg[]): readonly Arg[] {
    const end = endOfOptions(args, launcher, name);
    const options = args.slice(0, end);
    this.launchers.push(name);
    const flags = readFlags(options, this.invocation.place, { switches: launcher.switches });
    const world = withEnvironment(launcher, worldIn(launcher, flags.options, this.textOf), this.invocation);
    this.#world = world ?? this.#world;
    const configuration = flags.options.get('config_file')?.values[0];
    if (configuration) {
      this.#configurations.push(configuration);
    }
    this.#launcherOptions = flags.options;
    this.#asModule = flags.options.has('m') || flags.options.has('module');
    const rest = args.slice(end);
    const skipped = name === 'timeout' || textOf(rest[0]) === '--' ? 1 : 0;
    return rest.slice(skipped);
  }

  job(args: readonly Arg[]): Omit<Job, 'world'> {
    return {
      launchers: this.launchers,
      configurations: this.#configurations,
      launcherOptions: this.#launcherOptions,
      variables: this.invocation.variables,
      place: this.invocation.place,
      ...this.#program(args),
    };
  }

  #program(args: readonly Arg[]): Pick<Job, 'program' | 'script' | 'args'> {
    const program = lastPart(textOf(args[0]) ?? '');
    const isLaunched = this.launchers.some((name) => /^(torchrun\w*|accelerate|deepspeed|msrun)$/.test(name));
    if (/^python[\d.]*$/.test(program)) {
      const start = startOfScript(args);
      const at = textOf(args[start]) === '-m' ? start + 1 : start;
      return start < 0
        ? { program: 'python', script: null, args: [] }
        : { program: 'python', script: textOf(args[at]), args: args.slice(at + 1) };
    }
    if (LOST_FLAG.test(startOf(args[0]))) {
      return { program: FLAGS_ALONE, script: null, args };
    }
    const isScript = program.endsWith('.py') || this.#asModule || (isLaunched && args[0]?.kind === 'word');
    return isScript
      ? { program: 'python', script: startOf(args[0]), args: args.slice(1) }
      : { program, script: null, args: args.slice(1) };
  }

  /** The world that the innermost launcher with a count gives, filled up from the job scheduler. */
  world(scheduled: ReadonlyMap<string, Text>): World {
    const inner = this.#world;
    const name = this.launchers.findLast((one) => LAUNCHERS[one]?.counts);
    if (inner && name !== 'srun' && name !== 'sbatch') {
      return inner;
    }
    if (this.launchers.some((one) => one === 'srun' || one === 'mpirun')) {
      return {
        nodes: slurm(scheduled, 'SLURM_NNODES'),
        perNode: slurm(scheduled, 'SLURM_NTASKS_PER_NODE'),
        total: slurm(scheduled, 'SLURM_NTASKS'),
        ...defined(inner),
      };
    }
    return defined(inner);
  }
}

function defined(world: World | undefined): World {
  return Object.fromEntries(Object.entries(world ?? {}).filter(([, found]) => found !== undefined));
}

function slurm(scheduled: ReadonlyMap<string, Text>, name: string): Found<number> | undefined {
  const text = scheduled.get(name);
  const value = text ? integerOf(literal(text)) : null;
  const source = text && placeOf(text);
  return value === null || !source ? undefined : { value, source };
}

/** The known characters with which an argument begins. */
export function startOf(arg: Arg | undefined): string {
  const first = arg?.kind === 'word' ? arg.text[0] : undefined;
  return textOf(arg) ?? (first?.kind === 'text' ? first.text : '');
}

/** What follows `uv run` and its options. */
function afterRun(args: readonly Arg[]): readonly Arg[] | null {
  if (textOf(args[1]) !== 'run') {
    return null;
  }
  let index = 2;
  while (index < args.length && startOf(args[index]).startsWith('-')) {
    const option = textOf(args[index]) ?? '';
    index += /^(--(extra|with|python|env-file|directory|group|project|name|prefix)|-n|-p|-e)$/.test(option) ? 2 : 1;
  }
  return args.slice(index);
}

/** Where the options of a launcher end and its program begins. */
function endOfOptions(args: readonly Arg[], { switches, pairs }: Launcher, name: string): number {
  let index = 0;
  while (index < args.length) {
    const arg = args[index];
    const start = startOf(arg);
    if (arg?.kind === 'choice' || (start === '' && isUnknown(arg))) {
      index++;
      continue;
    }
    if (!start.startsWith('-') || start === '--') {
      return index;
    }
    const option = start.replace(/^--?/, '').replaceAll('-', '_');
    const takesNone =
      start.includes('=') ||
      switches.has(option) ||
      /^-[nN]\d+$|^-[lu]+$/.test(start) ||
      (name === 'srun' && /^-[A-Za-z]\S+$/.test(start) && !start.startsWith('--'));
    index += takesNone ? 1 : pairs?.has(option) ? 3 : 2;
  }
  return args.length;
}

/** Whether an argument is unknown as a whole, so that it can be options. */
function isUnknown(arg: Arg | undefined): boolean {
  return arg?.kind === 'word' && arg.text.length === 1 && arg.text[0]?.kind === 'unknown';
}

/** The program behind a wrapper that is not known; null where there is none. */
function behindUnknown(name: string, args: readonly Arg[]): readonly Arg[] | null {
  const at = args.findIndex((arg, index) => index > 0 && PROGRAMS.test(lastPart(textOf(arg) ?? '')));
  return at < 0 || !OTHER_WRAPPERS.test(name) ? null : args.slice(at);
}

/** What torchrun's own variables give where its options do not (torch/distributed/argparse_util.py). */
function withEnvironment(
  launcher: Launcher,
  world: World | undefined,
  { variables, place }: Invocation,
): World | undefined {
  if (launcher !== TORCHRUN || !world) {
    return world;
  }
  const environment = environmentOf({ variables, place });
  const isOpen = (found: Found<number> | undefined) => !found || (isKnown(found) && found.source === 'default');
  return {
    ...world,
    nodes: (isOpen(world.nodes) ? environment.integer('PET_NNODES') : undefined) ?? world.nodes,
    perNode: (isOpen(world.perNode) ? environment.integer('PET_NPROC_PER_NODE') : undefined) ?? world.perNode,
  };
}

/** The variables of the environment of a command as options, such as `NPROC_PER_NODE`. */
export function environmentOf({ variables, place: otherwise }: Pick<Job, 'variables' | 'place'>): Options {
  const entries = [...variables].flatMap(([name, variable]): [string, Option][] => {
    if (variable.kind !== 'scalar') {
      return [];
    }
    const place = placeOf(variable.text) ?? otherwise;
    const values = [literal(variable.text)];
    return [[name, { values, places: [place], place, unknown: whyUnknown(variable.text) }]];
  });
  return new Options(new Map(entries), null);
}

/** A world that nothing else says, by the defaults of a framework's launcher. */
export function worldByDefault({ world }: Defaults): { nodes?: Found<number>; perNode?: Found<number> } {
  return {
    ...(world && { nodes: { value: world.nodes, source: 'default' } }),
    ...(world?.perNode && { perNode: { value: world.perNode, source: 'default' } }),
  };
}

/** Whether a command line has a flag, in any branch. */
export function hasFlag({ args }: Job, ...flags: readonly string[]): boolean {
  const words = flagsOf(args);
  return flags.some((flag) => words.has(flag));
}

/** Each family looks for its own flags in the same command line. */
const flagsOf = memoizeRecent((args: Job['args']): ReadonlySet<string> => new Set(wordsOf(args)));

/** The words of a command line up to their `=`. */
function wordsOf(args: Job['args']): readonly string[] {
  return args.flatMap((arg) =>
    arg.kind === 'choice' ? arg.options.flatMap(wordsOf) : ((textOf(arg) ?? '').split('=')[0] ?? ''),
  );
}
