import type { Function as ShellFunction } from 'unbash';
import { type Arg, mergeVariables, type Place, type Text, type Variable } from './values';

/** Finds the place of an offset of the text that is being run. */
export interface Source {
  readonly file: string;
  place(offset: number): Place;
}

/** A function with the text that it is written in. */
export interface DefinedFunction {
  readonly node: ShellFunction;
  readonly source: Source;
}

/** All that commands of a script change. */
export class State {
  #variables: Map<string, Variable>;
  /** Whether another state has the same map, so that it is copied before it changes. */
  #isShared = false;

  private constructor(
    variables: Map<string, Variable>,
    readonly exported: Set<string>,
    readonly functions: Map<string, DefinedFunction>,
    /** Files that the script writes, such as here-documents. */
    readonly files: Map<string, Text>,
    /** The arguments of a function or script; null for those of the first script, which nobody knows. */
    public positional: readonly Arg[] | null,
    /** The current directory; null where it is the caller's. */
    public directory: string | null,
  ) {
    this.#variables = variables;
  }

  get variables(): ReadonlyMap<string, Variable> {
    return this.#variables;
  }

  /** The variables as they are now, whatever changes later. */
  snapshot(): ReadonlyMap<string, Variable> {
    this.#isShared = true;
    return this.#variables;
  }

  /** Sets a variable; `undefined` leaves it to the environment. */
  set(name: string, value: Variable | undefined): void {
    if (this.#isShared) {
      this.#variables = new Map(this.#variables);
      this.#isShared = false;
    }
    if (value) {
      this.#variables.set(name, value);
    } else {
      this.#variables.delete(name);
    }
  }

  static empty(): State {
    return new State(new Map(), new Set(), new Map(), new Map(), null, null);
  }

  fork(): State {
    this.#isShared = true;
    const fork = new State(
      this.#variables,
      new Set(this.exported),
      new Map(this.functions),
      new Map(this.files),
      this.positional,
      this.directory,
    );
    fork.#isShared = true;
    return fork;
  }

  /** The state of a program that this one starts: it sees the exported variables alone. */
  child(positional: readonly Arg[]): State {
    const variables = new Map([...this.variables].filter(([name]) => this.exported.has(name)));
    return new State(variables, new Set(this.exported), new Map(), new Map(this.files), positional, this.directory);
  }

  /** The state after a condition that is not known let one of two branches run. */
  merge(other: State, reason: string): State {
    const merged = this.fork();
    if (this.#variables === other.#variables) {
      return merged;
    }
    const merge = (name: string, mine: Variable | undefined, theirs: Variable | undefined) => {
      if (mine !== theirs) {
        merged.set(name, mergeVariables(mine, theirs, name, reason));
      }
    };
    for (const [name, mine] of this.#variables) {
      merge(name, mine, other.#variables.get(name));
    }
    for (const [name, theirs] of other.#variables) {
      if (!this.#variables.has(name)) {
        merge(name, undefined, theirs);
      }
    }
    for (const name of other.exported) {
      merged.exported.add(name);
    }
    for (const [name, defined] of other.functions) {
      if (!merged.functions.has(name)) {
        merged.functions.set(name, defined);
      }
    }
    for (const [name, text] of other.files) {
      if (!merged.files.has(name)) {
        merged.files.set(name, text);
      }
    }
    return merged;
  }
}
