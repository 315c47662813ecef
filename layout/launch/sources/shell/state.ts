import type { Function as ShellFunction } from 'unbash';
import { type Arg, mergeVariables, type Place, type Text, type Variable } from './words';

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
  private constructor(
    readonly variables: Map<string, Variable>,
    readonly exported: Set<string>,
    readonly functions: Map<string, DefinedFunction>,
    /** Files that the script writes, such as here-documents. */
    readonly files: Map<string, Text>,
    /** The arguments of a function or script; null for those of the first script, which nobody knows. */
    public positional: readonly Arg[] | null,
    /** The current directory; null where it is the caller's. */
    public directory: string | null,
  ) {}

  static empty(): State {
    return new State(new Map(), new Set(), new Map(), new Map(), null, null);
  }

  /** How many entries a copy has. */
  get size(): number {
    return this.variables.size + this.exported.size + this.functions.size + this.files.size;
  }

  fork(): State {
    const { variables, exported, functions, files, positional, directory } = this;
    return new State(new Map(variables), new Set(exported), new Map(functions), new Map(files), positional, directory);
  }

  /** The state of a program that this one starts: it sees the exported variables alone. */
  child(positional: readonly Arg[]): State {
    const variables = new Map([...this.variables].filter(([name]) => this.exported.has(name)));
    return new State(variables, new Set(this.exported), new Map(), new Map(this.files), positional, this.directory);
  }

  /** The state after a condition that is not known let one of two branches run. */
  merge(other: State, reason: string): State {
    const merged = this.fork();
    for (const name of new Set([...this.variables.keys(), ...other.variables.keys()])) {
      const mine = this.variables.get(name);
      const theirs = other.variables.get(name);
      if (mine !== theirs) {
        merged.variables.set(name, mergeVariables(mine, theirs, name, reason));
      }
    }
    for (const name of other.exported) {
      merged.exported.add(name);
    }
    addMissing(merged.functions, other.functions);
    addMissing(merged.files, other.files);
    return merged;
  }
}

/** Adds the values that only the other has. */
function addMissing<Value>(merged: Map<string, Value>, other: ReadonlyMap<string, Value>): void {
  for (const [name, value] of other) {
    if (!merged.has(name)) {
      merged.set(name, value);
    }
  }
}
