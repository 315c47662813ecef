import type { Facts } from './foundValues';
import type { Job } from './launchers';
import type { ReadFile } from './shell/interpreter';
import type { Place } from './shell/values';
import type { TreeMap } from './tree';

/** The families of launch files, by the name that `--family` takes. */
export const FAMILIES = [
  'megatron-lm',
  'megatron-log',
  'model-config',
  'mimo',
  'megatron-bridge',
  'verl',
  'nemo-rl',
  'primus',
  'slime',
  'ms-swift',
  'mindspeed',
  'torchtitan',
  'accelerate',
  'axolotl',
  'nanotron',
  'vllm',
  'sglang',
  'srt-slurm',
] as const;

export type FamilyName = (typeof FAMILIES)[number];

/** What a family needs beside the job or document itself. */
export interface LaunchContext {
  readonly file: string;
  readonly text: string;
  /** Reads a file that the launch file names, by the paths at which it may lie; null where there is none. */
  find(path: string, from?: string): { readonly file: string; readonly text: string } | null;
  /** As `find`, a YAML or JSON file parsed; null also where it is no map. */
  findTree(path: string, from?: string): { readonly file: string; readonly tree: TreeMap } | null;
  readonly readFile: ReadFile;
}

/** A family whose jobs are started by a command line. */
export interface CommandFamily {
  readonly name: FamilyName;
  /** How surely a command starts a job of this family: 0 is not at all, 3 is certain. */
  matches(job: Job, context: LaunchContext): number;
  read(job: Job, context: LaunchContext): Facts;
}

/** A configuration file that describes a job, with what started it where that is known. */
interface LaunchDocument {
  readonly file: string;
  readonly tree: TreeMap;
  readonly place: Place;
  /** The command that names the file; null where the file is read alone. */
  readonly job: Job | null;
}

/** A family whose jobs are described by a configuration file. */
export interface DocumentFamily {
  readonly name: FamilyName;
  /** Whether a file is of this family, by its keys. */
  matches(document: LaunchDocument): boolean;
  read(document: LaunchDocument, context: LaunchContext): Facts;
}

/** One of several jobs or recipes of a file, by the name under which it is chosen. */
export interface NamedFacts {
  readonly name: string;
  readonly facts: Facts;
}

/** A family whose jobs are described by the functions of a Python file. */
export interface PythonFamily {
  readonly name: FamilyName;
  /** What each function describes; none where the file is not of this family. */
  read(context: LaunchContext): readonly NamedFacts[];
}
