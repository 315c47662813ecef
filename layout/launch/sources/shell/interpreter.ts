import {
  type AndOr,
  type Assignment,
  type Case,
  type Command,
  type CommandNode,
  type CompoundList,
  type For,
  type If,
  type ParsedScript,
  type Pipeline,
  parse,
  type Redirection,
  type Statement,
  type While,
} from 'unbash';
import { reasonText } from '../../value';
import { candidatePaths, joinPath } from '../paths';
import { assign, assignmentText, declare } from './assignments';
import { BUILTINS, type BuiltinShell } from './builtins';
import { DONE, endsScript, type Outcome, type Signal, UNKNOWN } from './commandOutcome';
import { testVerdict, type Verdict } from './conditions';
import { arithmeticValue, expandArgs, expandList, expandText, gathered } from './expand';
import { FILTERS, READERS } from './filters';
import { matchesGlob, matchingWork } from './patterns';
import type { Invocation } from './shell';
import { slurmVariables } from './slurm';
import { commandsGiven, fileSource, knownEnd, scriptCalled, writtenSource } from './startedScripts';
import { type DefinedFunction, type Source, State } from './state';
import {
  type Arg,
  bounded,
  boundedList,
  choiceOfTexts,
  literal,
  MAX_WORDS,
  placeOf,
  sameText,
  type Text,
  textAt,
  textOf,
  unknownText,
  type Variable,
  whyUnknown,
  word,
} from './words';

/** Gives the text of a file that a launch file names, or null where there is none. */
export type ReadFile = (path: string) => string | null;

/** All that running a script without running it shows. */
export interface ScriptRun {
  readonly invocations: readonly Invocation[];
  /** Variables at the end of the script. */
  readonly variables: ReadonlyMap<string, Variable>;
  /** Files that were named and not found. */
  readonly missing: readonly string[];
  /** Problems of syntax, and limits that cut the reading short. */
  readonly problems: readonly string[];
  /** Variables that the job scheduler sets, from the script's `#SBATCH` lines. */
  readonly scheduled: ReadonlyMap<string, Text>;
  /** The constants that arguments of the script are compared with, by the arguments' numbers. */
  readonly choices: ReadonlyMap<string, ReadonlySet<string>>;
  /** The arguments without which the script has no branch to follow. */
  readonly required: ReadonlySet<string>;
  /** How many commands were followed. */
  readonly steps: number;
}

/** Commands and loop passes that are followed, far beyond any script. */
const MAX_STEPS = 4_000;
const MAX_PASSES = 2_000;
/** Characters that are copied or compared while commands are followed, far beyond any script. */
const MAX_WORK = 20_000_000;
/** What an entry of a state takes, in characters that are copied. */
const ENTRY_WORK = 10;
const MAX_INVOCATIONS = 400;
/** How deep scripts, functions and substitutions may call one another. */
const MAX_CALLS = 24;
/** The constants that an argument is compared with, and the characters of one, that are offered as choices. */
const MAX_CHOICES = 16;
const MAX_CHOICE = 40;
/** The longest script, in UTF-16 units. */
const MAX_SCRIPT = 1024 * 1024;

/**
 * Follows a shell script without running anything: variables, arrays, arithmetic, functions, conditions and loops as far as
 * they are certain. What depends on the environment, on arguments or on the output of a command is unknown.
 * @param file the script's path; `$0` in it
 * @param readFile gives sourced and called scripts
 * @param chosen arguments of the script by their numbers; the others are not known
 * @param given variables of the environment by their names; the others are not known
 */
export function runScript(
  file: string,
  text: string,
  readFile: ReadFile,
  chosen: ReadonlyMap<string, string> = new Map(),
  given: ReadonlyMap<string, Text> = new Map(),
): ScriptRun {
  const interpreter = new Interpreter(readFile, chosen);
  interpreter.give(given);
  interpreter.script(file, text);
  return interpreter.result();
}

class Interpreter implements BuiltinShell {
  state = State.empty();
  source: Source = fileSource('');
  program = '';
  assumed = false;
  compared = false;
  readonly #choices = new Map<string, Set<string>>();
  readonly #required = new Set<string>();
  /** The arguments that were compared since `compared` was last cleared. */
  #arguments = new Set<string>();
  readonly missing: string[] = [];
  readonly #invocations: Invocation[] = [];
  readonly #files = new Map<string, string>();
  readonly #problems = new Set<string>();
  readonly #scheduled = new Map<string, Text>();
  readonly #given = new Map<string, Text>();
  /** States that left a function early where it is not known whether they do. */
  #returns: State[] = [];
  /** What commands print inside a substitution; null outside. */
  #output: Text | null = null;
  stdin: Text | null = null;
  /** The words before the command that is followed, such as `srun -N 4` before `bash -c`. */
  #outer: readonly Arg[] = [];
  #steps = 0;
  #work = 0;
  #placeholders = 0;
  #passes = 0;
  #calls = 0;

  constructor(
    readonly readFile: ReadFile,
    readonly chosen: ReadonlyMap<string, string>,
  ) {}

  result(): ScriptRun {
    return {
      invocations: this.#invocations,
      variables: this.state.variables,
      missing: this.missing,
      problems: [...this.#problems],
      scheduled: this.#scheduled,
      choices: this.#choices,
      required: this.#required,
      steps: this.#steps,
    };
  }

  spend(work: number): boolean {
    this.#work += work;
    return this.#work <= MAX_WORK;
  }

  /** A state of its own for commands that may not run, or that run beside the others. */
  #fork(state = this.state): State {
    this.spend(ENTRY_WORK * state.size);
    return state.fork();
  }

  compares(text: Text, constant: string): void {
    const pieces = text.filter((piece) => piece.kind !== 'text' || piece.text !== '');
    const [only] = pieces;
    if (pieces.length !== 1 || only?.kind !== 'unknown' || only.why !== 'positional') {
      return;
    }
    this.compared = true;
    this.#arguments.add(only.name);
    const known = this.#choices.get(only.name) ?? new Set();
    if (constant !== '' && !constant.startsWith('-') && constant.length <= MAX_CHOICE && known.size < MAX_CHOICES) {
      this.#choices.set(only.name, known.add(constant));
    }
  }

  /** Clears what was assumed of the caller before a condition. */
  #clearAssumptions(): void {
    this.assumed = false;
    this.compared = false;
    this.#arguments = new Set();
  }

  /** Takes note that the script needs the arguments that were compared last. */
  #requireArguments(): void {
    for (const name of this.#arguments) {
      this.#required.add(name);
    }
  }

  /** Sets variables of the environment. */
  give(variables: ReadonlyMap<string, Text>): void {
    for (const [name, text] of variables) {
      this.assign(name, { kind: 'scalar', text });
      this.#given.set(name, text);
    }
  }

  script(file: string, text: string): Signal {
    this.#files.set(file, text);
    for (const [name, { value, offset }] of slurmVariables(text)) {
      this.#scheduled.set(name, textAt(value, { file, offset }));
    }
    for (const [name, given] of this.#given) {
      this.#scheduled.set(name, given);
    }
    return this.#text(text, fileSource(file), file);
  }

  get isCaptured(): boolean {
    return this.#calls > 0 && this.#output !== null;
  }

  scheduled(name: string): Text | null {
    return this.#scheduled.get(name) ?? null;
  }

  assign(name: string, value: Variable): void {
    this.state.variables.set(name, value);
  }

  capture(script: ParsedScript): Text {
    if (this.#calls >= MAX_CALLS || this.#work > MAX_WORK) {
      return unknownText('command', 'nested commands');
    }
    const { source } = this;
    const inner = script.source === undefined ? source : { ...source, place: () => source.place(script.pos) };
    const before = this.#output;
    this.#output = [];
    this.#within({ state: this.#fork(), source: inner }, () => this.#list(script.commands));
    const output = withoutLastLineBreak(this.#output);
    this.#output = before;
    return output;
  }

  /** Follows commands one call deeper, in surroundings of their own: those around them hold again behind it. */
  #within<T>(own: Partial<Surroundings>, follow: () => T): T {
    const { state, source, program, stdin } = this;
    const [outer, returns] = [this.#outer, this.#returns];
    Object.assign(this, own);
    this.#calls++;
    const result = follow();
    this.#calls--;
    Object.assign(this, { source, program, stdin, ...(own.state && { state }) });
    [this.#outer, this.#returns] = [outer, returns];
    return result;
  }

  #text(text: string, source: Source, program = this.program): Signal {
    if (text.length > MAX_SCRIPT || this.#calls >= MAX_CALLS) {
      this.#problems.add(`${source.file} is too long or calls itself too often; it is not read to its end.`);
      return null;
    }
    const script = parse(text);
    for (const error of script.errors ?? []) {
      this.#problems.add(`${source.file}:${lineOf(text, error.pos)}: ${error.message}`);
    }
    return this.#within({ source, program }, () => this.#list(script.commands)).signal;
  }

  #list(statements: readonly Statement[]): Outcome {
    let outcome: Outcome = DONE;
    for (const { command } of statements) {
      outcome = this.#run(command);
      if (outcome.signal) {
        return outcome;
      }
    }
    return outcome;
  }

  #run(node: Statement['command']): Outcome {
    if (++this.#steps > MAX_STEPS || this.#work > MAX_WORK) {
      const much = this.#steps > MAX_STEPS ? `runs more than ${MAX_STEPS} commands` : 'handles very long texts';
      this.#problems.add(`The script ${much}; the rest is not followed.`);
      return { verdict: null, signal: 'exit' };
    }
    switch (node.type) {
      case 'Command':
        return this.#command(node);
      case 'AndOr':
        return this.#andOr(node);
      case 'Pipeline':
        return this.#pipeline(node);
      case 'Redirected':
        return this.#withStdin(this.#input(node.redirects), () => this.#run(node.command));
      case 'If':
        return this.#if(node);
      case 'For':
        return this.#for(node);
      case 'While':
        return this.#while(node);
      case 'Case':
        return this.#case(node);
      case 'Function':
        this.state.functions.set(node.name.value, { node, source: this.source });
        return DONE;
      case 'BraceGroup':
        return this.#list(node.body.commands);
      case 'Subshell':
        return this.#subshell(() => this.#list(node.body.commands));
      case 'TestCommand':
        return { verdict: testVerdict(this, node.expression), signal: null };
      case 'ArithmeticCommand': {
        const value = arithmeticValue(this, node.expression);
        return { verdict: value === null ? null : value !== 0, signal: null };
      }
      case 'ArithmeticFor':
        return this.#arithmeticFor(node);
      default:
        return UNKNOWN;
    }
  }

  #subshell(follow: () => Outcome): Outcome {
    const before = this.state;
    this.state = this.#fork(before);
    const { verdict } = follow();
    this.state = before;
    return { verdict, signal: null };
  }

  #withStdin<T>(stdin: Text | null, follow: () => T): T {
    const before = this.stdin;
    this.stdin = stdin ?? before;
    const result = follow();
    this.stdin = before;
    return result;
  }

  /** What a command reads by `<<` and `<<<`; null where it reads something else. */
  #input(redirects: readonly Redirection[]): Text | null {
    for (const redirect of redirects) {
      if (redirect.type === 'HereDoc') {
        return redirect.delimiter?.quoted
          ? textAt(redirect.body.text, this.source.place(redirect.body.pos))
          : expandText(this, redirect.body);
      }
      if (redirect.type === 'HereString' && redirect.target) {
        return expandText(this, redirect.target);
      }
    }
    return null;
  }

  #pipeline({ commands, prefixes }: Pipeline): Outcome {
    const outer = this.#output;
    let stdin: Text | null = null;
    let verdict: Verdict = null;
    commands.forEach((command, index) => {
      const isLast = index === commands.length - 1;
      this.#output = isLast ? outer : [];
      ({ verdict } = this.#withStdin(stdin, () =>
        isLast && commands.length === 1 ? this.#run(command) : this.#subshell(() => this.#run(command)),
      ));
      stdin = isLast ? null : (this.#output ?? null);
    });
    if (commands.length > 1) {
      verdict = null;
    }
    const negations = prefixes.filter(({ type }) => type === 'Negation').length;
    return { verdict: verdict !== null && negations % 2 === 1 ? !verdict : verdict, signal: null };
  }

  #andOr({ commands, operators }: AndOr): Outcome {
    let outcome: Outcome = DONE;
    commands.forEach((command, index) => {
      const operator = operators[index - 1];
      if (
        outcome.signal ||
        (operator === '&&' && outcome.verdict === false) ||
        (operator === '||' && outcome.verdict === true)
      ) {
        return;
      }
      const isCertain = operator === undefined || outcome.verdict !== null;
      outcome = isCertain
        ? this.#assumedOr(operator, () => this.#run(command))
        : this.#perhaps(`\`${this.#excerpt(commands[index - 1] ?? command)}\``, () => this.#run(command));
    });
    return outcome;
  }

  /** Follows the second half of `[ -z "$X" ] && ...`; if the script refuses to run so, X was not empty after all. */
  #assumedOr(operator: string | undefined, follow: () => Outcome): Outcome {
    if (operator === undefined) {
      this.#clearAssumptions();
      return follow();
    }
    const { assumed } = this;
    const before = this.#fork();
    const outcome = follow();
    if (isRefused(outcome, assumed)) {
      this.state = before;
      return UNKNOWN;
    }
    return outcome;
  }

  /** Follows commands of which it is not known whether they run. */
  #perhaps(reason: string, follow: () => Outcome): Outcome {
    const skipped = this.#fork();
    const output = this.#output;
    const { signal } = follow();
    this.#join(skipped, null, signal, reason);
    this.#output = printedIn(output, this.#output, reason);
    return UNKNOWN;
  }

  /** Joins the state of another branch with that of the one followed last, of which one may have ended the script. */
  #join(other: State, otherSignal: Signal, signal: Signal, reason: string): Signal {
    if (endsScript(signal) || endsScript(otherSignal)) {
      this.state = endsScript(signal) ? other : this.state;
      return endsScript(signal) ? otherSignal : signal;
    }
    if ((signal === 'return') !== (otherSignal === 'return')) {
      this.#returns.push(signal === 'return' ? this.state : other);
      this.state = signal === 'return' ? other : this.state;
      return null;
    }
    this.spend(ENTRY_WORK * this.state.size);
    this.state = other.merge(this.state, reason);
    return signal === otherSignal ? signal : null;
  }

  #if({ clause, then, elif, else: otherwise }: If): Outcome {
    const branches = [{ clause, then }, ...elif];
    return this.#branches(branches, otherwise);
  }

  /**
   * Follows the branch of an `if` that runs.
   * @param isOpen whether an earlier branch compares an argument of the script, so that any of the branches may run
   */
  #branches(
    branches: readonly { clause: CompoundList; then: CompoundList }[],
    otherwise: CompoundList | undefined,
    isOpen = false,
  ): Outcome {
    const [branch, ...rest] = branches;
    if (!branch) {
      return otherwise ? this.#list(otherwise.commands) : DONE;
    }
    this.#clearAssumptions();
    const { verdict, signal } = this.#list(branch.clause.commands);
    if (signal) {
      return { verdict, signal };
    }
    // without arguments, none of several branches would run
    const isChoice = this.compared && verdict === false && !otherwise && (isOpen || rest.length > 0);
    if (isChoice) {
      this.#requireArguments();
    }
    if (verdict === null || isChoice) {
      return this.#either(branch, () => this.#branches(rest, otherwise, isChoice));
    }
    const { assumed, compared } = this;
    const compares = this.#arguments;
    const lists = [...branches.map(({ then }) => then), ...(otherwise ? [otherwise] : [])];
    const before = lists.some(mayLeave) ? this.#fork() : null;
    const outcome = verdict ? this.#list(branch.then.commands) : this.#branches(rest, otherwise);
    if (!before || !isRefused(outcome, assumed)) {
      return outcome;
    }
    // a script is read as it runs: it is meant to be given what is missing
    this.state = before;
    if (compared && !verdict) {
      this.#arguments = compares;
      this.#requireArguments();
      return this.#either(branch, () => this.#branches(rest, otherwise));
    }
    if (verdict) {
      return this.#branches(rest, otherwise);
    }
    return assumed ? this.#list(branch.then.commands) : DONE;
  }

  #either({ clause, then }: { clause: CompoundList; then: CompoundList }, otherwise: () => Outcome): Outcome {
    const reason = `\`${this.#excerpt(clause)}\``;
    const before = this.#fork();
    const printed = this.#output;
    const first = this.#list(then.commands);
    const taken = this.state;
    const output = this.#output;
    this.state = before;
    this.#output = printed;
    const second = otherwise();
    this.#output = printedIn(output, this.#output, reason);
    return { verdict: null, signal: this.#join(taken, first.signal, second.signal, reason) };
  }

  #case({ word: subject, items }: Case): Outcome {
    const text = expandText(this, subject);
    const reason = `\`case ${subject.text.slice(0, 60)}\` (${reasonText(whyUnknown(text) ?? 'not known')})`;
    if (text.length > 0 && text.every((piece) => piece.kind === 'unknown' && piece.why === 'positional')) {
      return this.#caseOfArgument(text, items, reason);
    }
    const known = literal(text);
    for (const item of items) {
      const verdict = known === null ? null : this.#matches(known, item.pattern);
      if (verdict === null) {
        return this.#anyCase(items.slice(items.indexOf(item)), reason);
      }
      if (verdict) {
        return this.#list(item.body.commands);
      }
    }
    return DONE;
  }

  /** Follows a `case` on an argument of the script: the branch for an empty one, or any where that one refuses. */
  #caseOfArgument(text: Text, items: Case['items'], reason: string): Outcome {
    this.#clearAssumptions();
    for (const constant of items.flatMap(({ pattern }) => pattern.map((one) => literal(expandText(this, one))))) {
      if (constant !== null && !/[*?[]/.test(constant)) {
        this.compares(text, constant);
      }
    }
    const compares = this.#arguments;
    const empty = items.find(({ pattern }) => this.#matches('', pattern) === true);
    const before = this.#fork();
    const outcome = empty ? this.#list(empty.body.commands) : DONE;
    if (empty ? !endsScript(outcome.signal) : items.length <= 1) {
      return outcome;
    }
    this.state = before;
    this.#arguments = compares;
    this.#requireArguments();
    return this.#anyCase(items, reason);
  }

  #matches(known: string, patterns: Case['items'][number]['pattern']): Verdict {
    const verdicts = patterns.map((pattern) => {
      const text = literal(expandText(this, pattern));
      return text !== null && this.spend(matchingWork(known, text)) ? matchesGlob(known, text) : null;
    });
    return verdicts.includes(true) ? true : verdicts.includes(null) ? null : false;
  }

  /** Follows every branch of a `case` whose subject is not known. */
  #anyCase(items: Case['items'], reason: string): Outcome {
    const before = this.#fork();
    const isTotal = items.some(({ pattern }) => pattern.some(({ text }) => text === '*'));
    let joined: { state: State; signal: Signal } | null = isTotal ? null : { state: this.#fork(before), signal: null };
    const printed = this.#output;
    for (const { body } of items) {
      this.state = this.#fork(before);
      const { signal } = this.#list(body.commands);
      if (joined) {
        joined = { signal: this.#join(joined.state, joined.signal, signal, reason), state: this.state };
      } else {
        joined = { state: this.state, signal };
      }
    }
    this.state = joined?.state ?? before;
    this.#output = printed && [...printed, ...unknownText('branch', reason)];
    return { verdict: null, signal: joined?.signal ?? null };
  }

  #for({ name, wordlist, body }: For): Outcome {
    const items = wordlist ? expandList(this, wordlist) : (this.state.positional ?? []);
    const isKnown = items.every((item) => item.kind === 'word' && whyUnknown(item.text) === null);
    if (!isKnown) {
      const reason = `the list of \`for ${name.value}\``;
      return this.#perhaps(reason, () => {
        this.assign(name.value, { kind: 'scalar', text: unknownText('branch', reason) });
        return this.#list(body.commands);
      });
    }
    for (const item of items) {
      if (++this.#passes > MAX_PASSES) {
        this.#problems.add(`Loops run more than ${MAX_PASSES} times; the rest is not followed.`);
        break;
      }
      this.assign(name.value, { kind: 'scalar', text: item.kind === 'word' ? item.text : [] });
      const outcome = this.#list(body.commands);
      if (outcome.signal === 'break') {
        break;
      }
      if (endsScript(outcome.signal) || outcome.signal === 'return') {
        return outcome;
      }
    }
    return DONE;
  }

  #while({ kind, clause, body }: While): Outcome {
    return this.#loop(
      () => {
        const { verdict } = this.#list(clause.commands);
        return kind === 'until' && verdict !== null ? !verdict : verdict;
      },
      () => this.#list(body.commands),
      `\`${kind} ${this.#excerpt(clause)}\``,
    );
  }

  #arithmeticFor({ initialize, test, update, body }: Extract<CommandNode, { type: 'ArithmeticFor' }>): Outcome {
    arithmeticValue(this, initialize);
    return this.#loop(
      () => {
        const value = test ? arithmeticValue(this, test) : null;
        return value === null ? null : value !== 0;
      },
      () => {
        const outcome = this.#list(body.commands);
        arithmeticValue(this, update);
        return outcome;
      },
      'the condition of a loop',
    );
  }

  #loop(condition: () => Verdict, pass: () => Outcome, reason: string): Outcome {
    for (;;) {
      const variables = new Map(this.state.variables);
      const verdict = condition();
      if (verdict === false) {
        return DONE;
      }
      if (verdict === null) {
        return this.#perhaps(reason, pass);
      }
      const outcome = pass();
      const changed = this.state.variables;
      const isStuck = [...changed].every(([name, value]) => variables.get(name) === value);
      if (outcome.signal === 'break' || isStuck || ++this.#passes > MAX_PASSES) {
        return DONE;
      }
      if (endsScript(outcome.signal) || outcome.signal === 'return') {
        return outcome;
      }
    }
  }

  #command(node: Command): Outcome {
    // a backslash at the very end of a file continues nothing
    const words = [...(node.name ? [node.name] : []), ...node.args].filter(({ text }) => text !== '\\');
    const assignments = node.prefix.filter((one): one is Assignment => one.type === 'Assignment');
    const [first] = words;
    if (first === undefined) {
      for (const assignment of assignments) {
        assign(this, assignment);
      }
      return assignments.some(
        ({ value }) => value.type === 'Word' && value.parts?.some(({ type }) => type === 'CommandExpansion'),
      )
        ? { verdict: null, signal: null }
        : DONE;
    }
    if (first.type === 'Word' && DECLARATIONS.has(first.value)) {
      return declare(this, first.value, node.args);
    }
    const args = boundedList(
      gathered(words, MAX_WORDS, (one) =>
        one.type === 'Word' ? expandArgs(this, one) : [word(assignmentText(this, one))],
      ),
    );
    const stdin = this.#input(node.redirects) ?? this.stdin;
    const outcome = this.#withVariables(assignments, () => this.#withStdin(stdin, () => this.#call(args, node)));
    this.#keepOutput(node, args);
    return outcome;
  }

  #withVariables(assignments: readonly Assignment[], follow: () => Outcome): Outcome {
    if (assignments.length === 0) {
      return follow();
    }
    const before = assignments.map(({ name }) => [name, this.state.variables.get(name)] as const);
    const wasExported = new Set(this.state.exported);
    for (const assignment of assignments) {
      assign(this, assignment);
      this.state.exported.add(assignment.name);
    }
    const outcome = follow();
    for (const [name, value] of before) {
      if (value) {
        this.state.variables.set(name, value);
      } else {
        this.state.variables.delete(name);
      }
      if (!wasExported.has(name)) {
        this.state.exported.delete(name);
      }
    }
    return outcome;
  }

  /** Runs a command whose words are known as far as they can be. */
  #call(args: readonly Arg[], node: Command): Outcome {
    const [head, ...rest] = args;
    if (!head) {
      return UNKNOWN;
    }
    const name = textOf(head);
    const defined = name === null ? undefined : this.state.functions.get(name);
    if (defined) {
      return this.#function(defined, rest);
    }
    const builtin = name === null ? undefined : BUILTINS[name];
    if (builtin) {
      return builtin(this, rest, node);
    }
    const printed = name === null ? null : this.#filtered(name, rest);
    if (printed !== null) {
      this.print(printed);
      return DONE;
    }
    this.#program(args, node);
    return name !== null && SUCCEEDS.has(name) ? DONE : UNKNOWN;
  }

  /** What one of the small commands prints; null for other commands, and where it is not known. */
  #filtered(name: string, args: readonly Arg[]): Text | null {
    if (name === 'cat' && this.stdin && (args.length === 0 || textOf(args[0]) === '-')) {
      // every piece keeps its place
      return this.stdin;
    }
    const unknown = this.stdin?.find(({ kind }) => kind === 'unknown');
    if (READERS.has(name) && this.stdin) {
      return unknown ? [unknown] : unknownText('command', `\`${name}\``);
    }
    const filter = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
    const known = args.map(textOf);
    if (!filter || known.includes(null)) {
      return null;
    }
    const words = known.flatMap((one) => (one === null || one === '--' ? [] : one));
    const stdin = this.stdin === null ? null : literal(this.stdin);
    if (stdin === null && unknown) {
      return [unknown];
    }
    const text = filter(words, stdin);
    const first = args.find((arg) => arg.kind === 'word');
    const place =
      (first?.kind === 'word' && placeOf(first.text)) || (this.stdin && placeOf(this.stdin)) || this.source.place(0);
    return text === null ? null : textAt(text, place);
  }

  print(text: Text): void {
    if (this.#output) {
      const separator = this.#output.length > 0 ? textAt('\n', this.source.place(0)) : [];
      this.#output = bounded([...this.#output, ...separator, ...text]);
    }
  }

  #program(args: readonly Arg[], node: Command): void {
    const name = textOf(args[0]) ?? node.name?.text ?? '';
    this.print(unknownText('command', `\`${this.#excerpt(node)}\``));
    if (this.#invocations.length < MAX_INVOCATIONS) {
      this.#invocations.push({
        args,
        variables: new Map(this.state.variables),
        place: this.source.place(node.pos),
        stdin: this.stdin,
        outer: this.#outer,
      });
    }
    this.#nestedProgram(name, args);
  }

  /** Follows what a program starts in turn: a script, or the commands of `bash -c` and `sbatch --wrap`. */
  #nestedProgram(name: string, args: readonly Arg[]): void {
    const outer = this.#outer;
    const commands = commandsGiven(args);
    if (commands) {
      this.#outer = [...outer, ...args.slice(0, commands.index)];
      this.#subshell(() => this.evaluate(commands.text));
    } else {
      const script = scriptCalled(name, args);
      if (script) {
        this.#outer = [...outer, ...args.slice(0, Math.max(0, args.length - script.args.length - 1))];
        this.#calledScript(script.path, script.args);
      } else if (/(^|\/)(bash|sh|sbatch)$/.test(name) && this.stdin) {
        this.#subshell(() => this.evaluate(this.stdin ?? []));
      }
    }
    this.#outer = outer;
  }

  /** Follows a script that the script starts, as `bash run.sh 8`. */
  #calledScript(path: string, args: readonly Arg[]): void {
    const found = this.#find(path);
    if (!found) {
      return;
    }
    const { written } = found;
    this.#within({ state: this.state.child(args), stdin: null }, () =>
      written ? this.#text(found.text, writtenSource(this.source.file, written)) : this.script(found.path, found.text),
    );
  }

  /** A file that the script names: one that it writes itself, or one that can be read. */
  #find(path: string): { path: string; text: string; written: Text | null } | null {
    const file = this.state.files.get(path);
    if (file) {
      const written = this.#withPlaceholders(file);
      return { path, text: literal(written) ?? '', written };
    }
    const whole = this.state.directory !== null && !path.startsWith('/') ? [joinPath(this.state.directory, path)] : [];
    for (const candidate of [...whole, ...candidatePaths(this.source.file, path)]) {
      const content = this.#files.get(candidate) ?? this.readFile(candidate);
      if (content !== null) {
        this.#files.set(candidate, content);
        return { path: candidate, text: content, written: null };
      }
    }
    return null;
  }

  #function({ node, source }: DefinedFunction, args: readonly Arg[]): Outcome {
    if (this.#calls >= MAX_CALLS) {
      return UNKNOWN;
    }
    const before = this.state.positional;
    this.state.positional = args;
    const { verdict, signal } = this.#within({ source }, () => {
      this.#returns = [];
      const { body } = node;
      const outcome = body.type === 'CompoundList' ? this.#list(body.commands) : this.#run(body);
      for (const state of this.#returns) {
        this.state = state.merge(this.state, `\`return\` in ${node.name.value}`);
      }
      return outcome;
    });
    this.state.positional = before;
    return { verdict, signal: endsScript(signal) ? signal : null };
  }

  /** Remembers a file that a command writes: `cat > run.sh <<EOF`, `echo ... > file`, `tee file`. */
  #keepOutput(node: Command, args: readonly Arg[]): void {
    const target = node.redirects.find(
      (one) => one.type === 'Redirect' && (one.operator === '>' || one.operator === '>>'),
    );
    const name = textOf(args[0]);
    const body = this.#input(node.redirects);
    const path =
      target?.type === 'Redirect' && target.target
        ? literal(expandText(this, target.target))
        : name === 'tee'
          ? textOf(args[1])
          : null;
    if (path !== null && body && (name === 'cat' || name === 'tee')) {
      this.state.files.set(path, body);
    }
  }

  sourced(args: readonly Arg[]): Outcome {
    const [path, ...rest] = args;
    const text = path?.kind === 'word' ? path.text : [];
    const known = literal(text) ?? knownEnd(text);
    const name = known ?? reasonText(whyUnknown(text) ?? 'a file');
    const found = known === null ? null : this.#find(known);
    if (!found) {
      if (!isOfMachine(name)) {
        this.missing.push(name);
      }
      return UNKNOWN;
    }
    this.#files.set(found.path, found.text);
    const before = this.state.positional;
    this.state.positional = rest.length > 0 ? rest : before;
    const signal = this.#text(
      found.text,
      found.written ? writtenSource(this.source.file, found.written) : fileSource(found.path),
    );
    this.state.positional = before;
    return { verdict: true, signal: endsScript(signal) ? signal : null };
  }

  evaluate(text: Text): Outcome {
    if (this.#calls >= MAX_CALLS) {
      return UNKNOWN;
    }
    const commands = this.#withPlaceholders(text);
    return { verdict: null, signal: this.#text(literal(commands) ?? '', writtenSource(this.source.file, commands)) };
  }

  /** A text of commands in which variables stand for what is not known, so that the rest of it can be followed. */
  #withPlaceholders(text: Text): Text {
    return text.map((piece) => {
      if (piece.kind === 'text' || literal([piece]) !== null) {
        return piece;
      }
      const name = `_unknown_${++this.#placeholders}`;
      this.assign(name, { kind: 'scalar', text: [piece] });
      this.state.exported.add(name);
      return { kind: 'text', text: `\${${name}}`, place: this.source.place(0), quoted: false };
    });
  }

  /** The first line of a command, for messages. */
  #excerpt(node: { readonly pos: number; readonly end: number }): string {
    const file = this.source.place(node.pos);
    const text = this.#files.get(file.file) ?? '';
    const line = text.slice(file.offset, file.offset + (node.end - node.pos)).split('\n')[0] ?? '';
    return line.length > 80 ? `${line.slice(0, 80)}...` : line.trim();
  }
}

/** What commands run in, and what is around them again when they have run. */
interface Surroundings {
  readonly state: State;
  readonly source: Source;
  readonly program: string;
  readonly stdin: Text | null;
}

/** Whether commands can leave the script: assignments alone cannot. */
function mayLeave({ commands }: CompoundList): boolean {
  return commands.some(({ command }) => command.type !== 'Command' || command.name !== undefined);
}

/**
 * Whether commands leave the script because it is not called as it wants to be.
 * @param assumed whether they run because of what the caller is taken to leave out
 */
function isRefused({ signal }: Outcome, assumed: boolean): boolean {
  return signal === 'refuse' || (assumed && signal === 'exit');
}

/** What is printed where it is not known which of two branches runs. */
function printedIn(one: Text | null, other: Text | null, reason: string): Text | null {
  return one === null || other === null || sameText(one, other) ? other : [choiceOfTexts([one, other], reason)];
}

const DECLARATIONS = new Set(['export', 'declare', 'local', 'readonly', 'typeset']);

/** Commands that scripts count on to succeed. */
const SUCCEEDS = new Set([
  'mkdir',
  'module',
  'conda',
  'pip',
  'rm',
  'cp',
  'ln',
  'touch',
  'chmod',
  'sleep',
  'git',
  'date',
  'python',
  'python3',
  'torchrun',
]);

/** Whether a sourced file sets up the machine or the person's environment, and holds nothing of a job. */
function isOfMachine(path: string): boolean {
  return (
    /(bashrc|profile|activate|conda\.sh|env\.sh|set_env\.sh|vars\.sh|\.env|\.config|\.local)$|^\/(etc|usr|opt)\//.test(
      path,
    ) ||
    (path.includes('setenv') && /^[\w.]*$/.test(path.slice(path.lastIndexOf('setenv'))))
  );
}

function withoutLastLineBreak(text: Text): Text {
  const last = text.at(-1);
  return last?.kind === 'text' && last.text.endsWith('\n')
    ? [...text.slice(0, -1), ...textAt(last.text.replace(/(?<!\n)\n+$/, ''), last.place, last.quoted)]
    : text;
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
