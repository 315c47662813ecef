import { LineIndex } from '../format/lines';
import { type FamilyName, LAUNCH_FAMILIES } from '../frameworks/families';
import type { Engine } from '../frameworks/framework';
import { megatronLm } from '../frameworks/megatron-lm';
import { FLAGS_ALONE, type Job, jobOf, type World } from './commands';
import { EVIDENCE, type Evidence, type LaunchContext, type LaunchFamily, type NamedFacts } from './family';
import { describeModel } from './namedModel';
import { podScript } from './sources/kubernetes';
import { type ObservedCommand, observedRun } from './sources/observedRun';
import { candidatePaths, lastPart } from './sources/paths';
import { pythonCommands } from './sources/python/commands';
import { type ReadFile, runScript, type ScriptRun } from './sources/shell/interpreter';
import { type Arg, type Place, splitWords, type Text, textAt, textOf, unknownText, word } from './sources/shell/words';
import { parseTomlTree } from './sources/toml';
import { optionsOf, type TreeMap, type TreeScalar } from './sources/tree';
import { limitReached } from './sources/workLimit';
import { parseYamlTree } from './sources/yaml';
import { type FactPath, Facts, type FactValue, type Found, isKnown, reasonText, type Unmapped } from './value';
import { setWorld } from './world';

/** A place in a file as it is printed; lines count from 1. */
export interface LaunchPlace {
  readonly file: string;
  readonly line: number;
}

/** One value of an import: its key is a path such as `parallelism.tp`. */
export interface LaunchValue {
  readonly key: FactPath;
  /** Null where it is not known. */
  readonly value: FactValue | null;
  readonly source: LaunchPlace | 'default' | 'unknown';
  /** What was looked for, where the value is not known. */
  readonly lookedFor?: string;
  /** The UTF-16 offset of the value in its file. */
  readonly offset?: number;
}

/** What was read of a launch file. */
export interface LaunchReading {
  readonly file: string;
  readonly family: FamilyName | null;
  /** What trains, where the family has several engines and this is not its usual one. */
  readonly engine: Engine | null;
  readonly values: readonly LaunchValue[];
  readonly unmapped: readonly { readonly name: string; readonly value: string | null; readonly line: number | null }[];
  readonly notes: readonly string[];
  /** The names of the jobs of the file, for `ImportOptions.job`; none where it has one alone. */
  readonly jobs: readonly string[];
  /** Why what was asked for cannot be given, such as a job that the file does not have; null where it can. */
  readonly problem: string | null;
  /** Whether the file starts training, as far as it says: it may infer, evaluate, convert or hold a part of a command. */
  readonly trains: boolean;
  /** The file with the command that starts the job, and the command's UTF-16 offset there; null where no command does. */
  readonly command: Place | null;
  /** The framework that decides where the file is silent, with the version whose defaults are known; null where none is. */
  readonly defaults: string | null;
  /** The files that were read, the launch file first. */
  readonly files: ReadonlyMap<string, string>;
}

export interface ImportOptions {
  /** The family to read the file as; left out, it is detected. */
  readonly family?: FamilyName | undefined;
  /** Which of several jobs is read: the name of a recipe, or a number from 1 in the order of the file; left out, what all agree on. */
  readonly job?: string | undefined;
  /** Variables of the environment of a script, by their names. */
  readonly variables?: ReadonlyMap<string, string> | undefined;
  /** What the script started when it was run; left out, the script is read statically. */
  readonly observed?: readonly ObservedCommand[] | undefined;
}

/**
 * Reads a launch file: which degrees, sizes and world its job has, and where each value comes from. Never throws and
 * never guesses: what depends on something that the file does not say is unknown.
 * @param file the file's path, with `/` between its parts; other files are looked for from there
 * @param readFile gives the text of a file by its path, or null
 */
export function readLaunchFile(
  file: string,
  text: string,
  readFile: ReadFile,
  options: ImportOptions = {},
): LaunchReading {
  const session = new Session(file, text, readFile);
  return session.read(options);
}

/** Names of scripts that load a model for another purpose than training. */
const OTHER_PURPOSE =
  /(^|[._-])(convert|infer\w*|generat\w*|eval\w*|export|preprocess|quantize|prune|serv(er|ing)|chat)([._-]|$)/i;

/** How many commands are followed in all to read the branches of a script that compares an argument. */
const MAX_CHOICE_STEPS = 8_000;

class Session implements LaunchContext {
  readonly #files = new Map<string, string>();
  readonly #trees = new Map<string, TreeMap | null>();

  constructor(
    readonly file: string,
    readonly text: string,
    readonly readOther: ReadFile,
  ) {
    this.#files.set(file, text);
  }

  readonly readFile: ReadFile = (path) => {
    const known = this.#files.get(path);
    if (known !== undefined) {
      return known;
    }
    const text = this.readOther(path);
    if (text !== null) {
      this.#files.set(path, text);
    }
    return text;
  };

  find(path: string, from = this.file): { file: string; text: string } | null {
    for (const candidate of candidatePaths(from, path)) {
      const text = this.readFile(candidate);
      if (text !== null) {
        return { file: candidate, text };
      }
    }
    return null;
  }

  /** Several jobs of a script may name one file, and one family asks for it more than once. */
  findTree(path: string, from?: string): { file: string; tree: TreeMap } | null {
    const found = this.find(path, from);
    if (!found) {
      return null;
    }
    const { file, text } = found;
    const known = this.#trees.get(file);
    const tree = known === undefined ? parseYamlTree(file, text) : known;
    this.#trees.set(file, tree);
    return tree && { file, tree };
  }

  read(options: ImportOptions): LaunchReading {
    try {
      return this.#read(options);
    } catch (error) {
      return this.#reading(null, new Facts(), [limitReached(error, this.file)]);
    }
  }

  #read(options: ImportOptions): LaunchReading {
    const { family } = options;
    const log = LAUNCH_FAMILIES.find(({ name, log }) =>
      family === undefined ? log?.isLog(this.text) : name === family && log,
    );
    if (log?.log) {
      return this.#reading(log.name, log.log.read(this.file, this.text), []);
    }
    const document = this.#document(family) ?? this.#pods(options);
    if (document) {
      return document;
    }
    if (/\.py$/.test(this.file)) {
      return this.#python(options);
    }
    if (/\.(ya?ml|json|toml)$/.test(this.file)) {
      return this.#reading(null, new Facts(), ['The keys of this file are not those of a supported framework.']);
    }
    return this.#script(options);
  }

  /** Reads the file as a configuration; null where it is of no supported family. */
  #document(family: FamilyName | undefined): LaunchReading | null {
    const isShell = /\.(sh|bash|slurm|sbatch|sub|py)$/.test(this.file) || this.text.startsWith('#!');
    const tree = isShell
      ? null
      : /\.toml$/.test(this.file)
        ? parseTomlTree(this.file, this.text)
        : parseYamlTree(this.file, this.text);
    if (!tree) {
      return null;
    }
    const document = { file: this.file, tree, job: null };
    const found = strongest(familiesNamed(family), (one) =>
      one.document ? (family === undefined ? one.document.evidence(document, this) : 'own') : null,
    );
    const facts = found?.one.document?.read(document, this);
    return found && facts ? this.#reading(found.one.name, describeModel(facts, this), []) : null;
  }

  /** Reads the file as a job of Kubernetes, by the command of its pods; null where it is none. */
  #pods(options: ImportOptions): LaunchReading | null {
    const tree = /\.(ya?ml|json)$/.test(this.file) ? parseYamlTree(this.file, this.text) : null;
    const pods = tree && podScript(this.text, tree);
    if (!pods) {
      return null;
    }
    const given = new Map([...pods.variables, ...givenTexts(options.variables)]);
    const counts = { nodes: countOfScalar(pods.nodes), perNode: countOfScalar(pods.perNode) };
    return (
      this.#commands(pods.text, options, given, counts) ??
      this.#reading(null, new Facts(), ['The pods of this job start no training of a supported framework.'])
    );
  }

  /**
   * Reads commands that stand in a file of another kind; null where they start no training.
   * @param script the commands where the file has them, all else blank
   * @param world what the file says where the commands do not
   */
  #commands(
    script: string,
    { family, job }: ImportOptions,
    given: ReadonlyMap<string, Text>,
    world: World | null = null,
  ): LaunchReading | null {
    const run = runScript(this.file, script, this.readFile, new Map(), given);
    const started = this.#started(run, family);
    if (!started) {
      return null;
    }
    const facts = chosenJob(started.jobs, job);
    facts.trains &&= started.trains;
    if (world && !isKnown(facts.get('world_size'))) {
      setWorld(facts, world);
    }
    return this.#reading(started.family, facts, run.problems);
  }

  #python(options: ImportOptions): LaunchReading {
    const read = familiesNamed(options.family).flatMap(({ name, python }) => {
      const recipes = python?.read(this) ?? [];
      return python && recipes.length > 0 ? [{ name, recipes, evidence: python.evidence }] : [];
    });
    const found = strongest(read, ({ evidence }) => evidence);
    if (found) {
      for (const { facts } of found.one.recipes) {
        describeModel(facts, this);
      }
      return this.#reading(found.one.name, chosenJob(found.one.recipes, options.job), []);
    }
    const commands = pythonCommands(this.text);
    const started = commands && this.#commands(commands, options, givenTexts(options.variables));
    return (
      started ||
      this.#reading(null, new Facts(), ['No function of this file describes a training job of a supported framework.'])
    );
  }

  #script({ family, job: wanted, observed, variables }: ImportOptions): LaunchReading {
    const run = observed
      ? observedRun(this.file, this.text, observed)
      : runScript(this.file, this.text, this.readFile, new Map(), givenTexts(variables));
    const started = this.#started(run, family);
    const chosen = this.#byArgument(run, started, { family, variables });
    const found = started ?? chosen?.[0]?.started;
    if (!found) {
      const facts = this.#argumentsOnly(run);
      const note = facts
        ? 'The file holds arguments for another script; what that one sets is unknown.'
        : 'No command that starts a training job was found.';
      return this.#reading(facts ? 'megatron-lm' : null, facts ?? new Facts(), [...run.problems, note]);
    }
    const facts = chosen ? byArgument(chosen, started, wanted) : chosenJob(found.jobs, wanted);
    facts.trains &&= found.trains;
    const reasons = [...facts.all.values()].flatMap((one) =>
      isKnown(one) || typeof one.unknown === 'string' ? [] : one.unknown,
    );
    const needed = reasons.flatMap((reason) => ('argument' in reason ? reason.argument : []));
    const numbers = [...new Set(needed)].filter((part) => /^\d+$/.test(part)).sort((a, b) => Number(a) - Number(b));
    if (numbers.length > 0) {
      facts.note(`The script takes values from its arguments: ${numbers.map((number) => `$${number}`).join(', ')}.`);
    }
    const unset = reasons.flatMap((reason) => ('variable' in reason ? reason.variable : []));
    if (unset.length > 0) {
      facts.note(
        `The script takes values from its environment: ${[...new Set(unset)].join(', ')}. Give them with --set NAME=VALUE.`,
      );
    }
    const missing = run.missing.map((name) => `${name} was not found: what it sets is unknown.`);
    return this.#reading(found.family, facts, [...run.problems, ...missing]);
  }

  /** The jobs that a run of the script starts; null where it starts none of a supported family. */
  #started(run: ScriptRun, family: FamilyName | undefined): Started | null {
    const jobs = run.invocations.map((invocation) =>
      jobOf(invocation, run.scheduled, (path) => this.find(path)?.text ?? null),
    );
    // flags alone count where nothing else starts a job
    const [alone, started] = [true, false].map((isAlone) =>
      jobs.filter(({ program }) => (program === FLAGS_ALONE) === isAlone),
    );
    const first = this.#strongest(started ?? [], family) ?? this.#strongest(alone ?? [], family);
    if (!first) {
      return null;
    }
    const { command, name } = first.family;
    const same = jobs.filter(
      (job) =>
        (job.program === FLAGS_ALONE) === (first.job.program === FLAGS_ALONE) &&
        command?.evidence(job, this) === first.evidence,
    );
    const named = distinctJobs(
      same.flatMap((job) => {
        const facts = command && describeModel(command.read(job, this), this);
        if (facts) {
          facts.command = job.place;
        }
        return facts ?? [];
      }),
    );
    if (jobs.some(({ program }) => program === FLAGS_ALONE) && first.job.program !== FLAGS_ALONE) {
      for (const { facts } of named) {
        facts.note(
          'Flags begin a command of their own: the line before them lacks its `\\`, so the job does not get them.',
        );
      }
    }
    const trains = same.every((job) => !OTHER_PURPOSE.test(lastPart(job.script ?? '')));
    return { family: name, jobs: named, trains };
  }

  /** The job of a script with the strongest evidence, and the framework that it is evidence of; null where there is none. */
  #strongest(jobs: readonly Job[], family: FamilyName | undefined): StartedJob | null {
    const candidates = jobs.flatMap((job) => familiesNamed(family).map((one) => ({ job, family: one })));
    const found = strongest(candidates, (one) => one.family.command?.evidence(one.job, this) ?? null);
    return found && { ...found.one, evidence: found.evidence };
  }

  /**
   * The jobs for each constant that the script compares one of its arguments with; null where they do not differ.
   * @param without what the script starts without the argument
   */
  #byArgument(
    run: ScriptRun,
    without: Started | null,
    { family, variables }: ImportOptions,
  ): readonly ByArgument[] | null {
    const number = [...run.required, ...run.choices.keys()].find((name) => run.choices.has(name));
    if (number === undefined) {
      return null;
    }
    const isRequired = run.required.has(number);
    const constants = [...(run.choices.get(number) ?? [])];
    if (constants.length * run.steps > MAX_CHOICE_STEPS) {
      return null;
    }
    const all = constants.flatMap((constant): ByArgument[] => {
      const chosen = runScript(
        this.file,
        this.text,
        this.readFile,
        new Map([[number, constant]]),
        givenTexts(variables),
      );
      const started = this.#started(chosen, family);
      return started ? [{ number, constant, isRequired, started }] : [];
    });
    const runs = [...(isRequired || !without ? [] : [without]), ...all.map(({ started }) => started)];
    const signatures = new Set(runs.map(({ jobs }) => jobs.map(({ facts }) => signature(facts)).join()));
    return signatures.size > 1 ? all : null;
  }

  /** Reads a script that only sets variables with Megatron-LM's flags; null where it sets none. */
  #argumentsOnly({ variables }: ScriptRun): Facts | null {
    const place = { file: this.file, offset: 0 };
    const args = [...variables.values()].flatMap((variable): readonly Arg[] => {
      const items =
        variable.kind === 'array' ? variable.items : variable.kind === 'scalar' ? splitWords(variable.text) : [];
      const isArguments = items.some((item) =>
        /^--(num-layers|hidden-size|tensor-model-parallel-size)$/.test(textOf(item) ?? ''),
      );
      return isArguments ? items : [];
    });
    if (args.length === 0) {
      return null;
    }
    const unknown = word(unknownText('file', 'the script that uses these arguments'));
    const job = {
      program: 'python',
      script: null,
      launchers: [],
      configurations: [],
      launcherOptions: null,
      world: {},
    };
    const facts = megatronLm.command?.read({ ...job, args: [unknown, ...args], variables, place }, this) ?? new Facts();
    facts.trains = false;
    return facts;
  }

  #reading(family: FamilyName | null, facts: Facts, notes: readonly string[]): LaunchReading {
    const indexes = new Map<string, LineIndex>();
    const lineOf = ({ file, offset }: Place): number => {
      const index = indexes.get(file) ?? new LineIndex(this.#files.get(file) ?? '');
      indexes.set(file, index);
      return index.positionAt(Math.min(offset, index.text.length)).line + 1;
    };
    return {
      file: this.file,
      family,
      values: [...facts.all].map(([key, found]) => launchValue(key, found, lineOf)),
      unmapped: facts.unmapped.map(({ name, value, place }: Unmapped) => ({
        name,
        value,
        line: place ? lineOf(place) : null,
      })),
      notes: [...facts.notes, ...notes],
      engine: facts.engine,
      problem: facts.problem,
      trains: facts.trains,
      command: facts.command,
      defaults: facts.defaults && `${facts.defaults.framework} ${facts.defaults.version}`,
      jobs: facts.jobs,
      files: this.#files,
    };
  }
}

type Family = LaunchFamily<FamilyName>;

/** A job with the framework that starts it. */
interface StartedJob {
  readonly job: Job;
  readonly family: Family;
  readonly evidence: Evidence;
}

/** The family that is asked for, or all. */
function familiesNamed(family: FamilyName | undefined): readonly Family[] {
  return LAUNCH_FAMILIES.filter(({ name }) => family === undefined || name === family);
}

/** What has the strongest evidence, the first where several have it; null where nothing has any. */
function strongest<T>(
  all: readonly T[],
  evidenceOf: (one: T) => Evidence | null,
): { readonly one: T; readonly evidence: Evidence } | null {
  const found = all.flatMap((one) => {
    const evidence = evidenceOf(one);
    return evidence ? [{ one, evidence, strength: EVIDENCE.indexOf(evidence) }] : [];
  });
  const most = Math.max(...found.map(({ strength }) => strength));
  return found.find(({ strength }) => strength === most) ?? null;
}

function launchValue(key: FactPath, found: Found, lineOf: (place: Place) => number): LaunchValue {
  if (!isKnown(found)) {
    return { key, value: null, source: 'unknown', lookedFor: reasonText(found.unknown) };
  }
  const { value, source } = found;
  return source === 'default'
    ? { key, value, source }
    : { key, value, source: { file: source.file, line: lineOf(source) }, offset: source.offset };
}

/** Variables that the caller gives, each in a place of its own. */
function givenTexts(variables: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, Text> {
  return new Map(
    [...variables].map(([name, value]) => [name, textAt(value, { file: `--set ${name}`, offset: 0 })] as const),
  );
}

function countOfScalar(scalar: TreeScalar | undefined): Found<number> | undefined {
  return (
    scalar && optionsOf({ kind: 'map', entries: new Map([['count', scalar]]), place: scalar.place }).integer('count')
  );
}

/** The jobs of a script that differ from one another, numbered in the order of the file. */
function distinctJobs(jobs: readonly Facts[]): NamedFacts[] {
  const distinct = new Map(jobs.map((facts) => [signature(facts), facts]));
  return [...distinct.values()].map((facts, index) => ({ name: String(index + 1), facts }));
}

/** What a run of a script starts. */
interface Started {
  readonly family: FamilyName;
  readonly jobs: readonly NamedFacts[];
  readonly trains: boolean;
}

/** What a script starts when one of its arguments, which it compares with constants, is one of them. */
interface ByArgument {
  readonly number: string;
  readonly constant: string;
  /** Whether the script refuses to run without the argument. */
  readonly isRequired: boolean;
  readonly started: Started;
}

/**
 * The job for the wanted value of the argument. Where none is wanted: the job that the script starts without the argument, or
 * what all jobs agree on if it starts none.
 */
function byArgument(all: readonly ByArgument[], without: Started | null, wanted: string | undefined): Facts {
  const jobs = all.flatMap(({ constant, started }) =>
    started.jobs.map(({ name, facts }) => ({
      name: started.jobs.length > 1 ? `${constant} ${name}` : constant,
      facts,
    })),
  );
  const [{ number, isRequired } = { number: '', isRequired: true }] = all;
  const isOptional = !isRequired && without !== null && wanted === undefined;
  const branches = `The script branches on its argument $${number} (${listed(jobs)})`;
  if (!isOptional) {
    return chosenJob(jobs, wanted, branches);
  }
  const facts = chosenJob(without.jobs, undefined);
  facts.jobs.push(...jobs.map(({ name }) => name));
  facts.note(`${branches}; the values are those without it. Choose another with --job.`);
  return facts;
}

/** How many names of jobs a note lists. */
const MAX_NAMES = 12;

/**
 * The job with the wanted name or number; what all jobs agree on where none is wanted.
 * @param several says that there are several
 */
function chosenJob(
  jobs: readonly NamedFacts[],
  wanted: string | undefined,
  several = `The file starts ${jobs.length} different jobs (${listed(jobs)})`,
): Facts {
  const [first] = jobs;
  if (!first) {
    return new Facts();
  }
  const chosen =
    wanted === undefined ? undefined : (jobs.find(({ name }) => name === wanted) ?? jobs[Number(wanted) - 1]);
  const facts = chosen?.facts ?? mergedFacts(jobs.map((one) => one.facts));
  facts.jobs.push(...(jobs.length > 1 ? jobs.map(({ name }) => name) : []));
  if (wanted !== undefined && !chosen) {
    facts.problem = `There is no job ${wanted}. The file has ${listed(jobs)}.`;
  } else if (jobs.length > 1) {
    facts.note(
      chosen
        ? `This is job ${chosen.name} of ${jobs.length}.`
        : `${several}; values in which they differ are unknown. Choose one with --job.`,
    );
  }
  return facts;
}

function listed(jobs: readonly NamedFacts[]): string {
  const names = jobs.slice(0, MAX_NAMES).map(({ name }) => name);
  return `${names.join(', ')}${jobs.length > MAX_NAMES ? ' and others' : ''}`;
}

/** What several jobs have in common; where they differ, the value is unknown. */
function mergedFacts(distinct: readonly Facts[]): Facts {
  const [first, ...others] = distinct;
  if (!first || others.length === 0) {
    return first ?? new Facts();
  }
  const merged = new Facts();
  for (const key of new Set(distinct.flatMap((facts) => [...facts.all.keys()]))) {
    const found = distinct.map((facts) => facts.get(key));
    const alike = new Set(found.map((one) => JSON.stringify(isKnown(one) ? one.value : (one ?? null))));
    merged.set(
      key,
      alike.size === 1 ? found[0] : { unknown: `one of the ${distinct.length} jobs that the file starts` },
    );
  }
  merged.engine = first.engine;
  merged.command = first.command;
  merged.trains = distinct.every(({ trains }) => trains);
  merged.defaults = first.defaults;
  merged.notes.push(...first.notes);
  merged.unmapped.push(...first.unmapped);
  return merged;
}

function signature(facts: Facts): string {
  return JSON.stringify([...facts.all].map(([key, found]) => [key, isKnown(found) ? found.value : null]));
}
