import type { Job } from './commands';
import type { TreeMap } from './sources/tree';
import type { Facts } from './value';

/** What a family needs beside the job or document itself. */
export interface LaunchContext {
  readonly file: string;
  readonly text: string;
  /** Reads a file that the launch file names, by the paths at which it may lie; null where there is none. */
  find(path: string, from?: string): { readonly file: string; readonly text: string } | null;
  /** As `find`, a YAML or JSON file parsed; null also where it is no map. */
  findTree(path: string, from?: string): { readonly file: string; readonly tree: TreeMap } | null;
}

/** What shows a framework, the weakest first. Detection takes the strongest, whatever the order in which frameworks are listed. */
export const EVIDENCE = [
  /** A launcher that several frameworks share. */
  'launcher',
  /** Options that several frameworks share, or a program that runs beside the training. */
  'options',
  /** The name of a degree. */
  'degree',
  /** A script with a name that training scripts have. */
  'script',
  /** Such a script with a configuration, or the usual sections of a configuration. */
  'configuration',
  /** A program or options of the framework, which others have taken over. */
  'entry',
  /** A script of the framework that starts its program, which says more. */
  'wrapper',
  /** The framework's own program, options or keys. */
  'own',
] as const;

export type Evidence = (typeof EVIDENCE)[number];

/** A configuration file that describes a job, with what started it where that is known. */
export interface LaunchDocument {
  readonly file: string;
  readonly tree: TreeMap;
  /** The command that names the file; null where the file is read alone. */
  readonly job: Job | null;
}

/** One of several jobs or recipes of a file, by the name under which it is chosen. */
export interface NamedFacts {
  readonly name: string;
  readonly facts: Facts;
}

/** A way to read launch files of a framework; null is no evidence. */
interface Reader<Source> {
  evidence(source: Source, context: LaunchContext): Evidence | null;
  read(source: Source, context: LaunchContext): Facts;
}

/** How the launch files of a framework are read; `launch/write.ts` lists how they are written. */
export interface LaunchFamily<Name extends string = string> {
  /** The name that `--family` takes. */
  readonly name: Name;
  /** Jobs that a command line starts. */
  readonly command?: Reader<Job>;
  /** Jobs that a configuration file describes. */
  readonly document?: Reader<LaunchDocument>;
  /** Jobs that the functions of a Python file describe. */
  readonly python?: {
    readonly evidence: Evidence;
    /** What each function describes; none where the file is not of this framework. */
    read(context: LaunchContext): readonly NamedFacts[];
  };
  /** Jobs that a log describes. */
  readonly log?: {
    isLog(text: string): boolean;
    read(file: string, text: string): Facts;
  };
}
