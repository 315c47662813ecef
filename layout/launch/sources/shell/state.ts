import type { Function as ShellFunction } from 'unbash';
import { Layers } from './layers';
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
    readonly variables: Layers<Variable>,
    readonly exported: Layers<true>,
    readonly functions: Layers<DefinedFunction>,
    /** Files that the script writes, such as here-documents. */
    readonly files: Layers<Text>,
    /** The arguments of a function or script; null for those of the first script, which nobody knows. */
    public positional: readonly Arg[] | null,
    /** The current directory; null where it is the caller's. */
    public directory: string | null,
  ) {}

  static empty(): State {
    return new State(new Layers(), new Layers(), new Layers(), new Layers(), null, null);
  }

  fork(): State {
    const { variables, exported, functions, files, positional, directory } = this;
    return new State(variables.copy(), exported.copy(), functions.copy(), files.copy(), positional, directory);
  }

  /** The state of a program that this one starts: it sees the exported variables alone. */
  child(positional: readonly Arg[]): State {
    const variables = new Layers([...this.variables.all()].filter(([name]) => this.exported.has(name)));
    return new State(variables, this.exported.copy(), new Layers(), this.files.copy(), positional, this.directory);
  }

  /** The state after a condition that is not known let one of two branches run. */
  merge(other: State, reason: string): State {
    const merged = this.fork();
    for (const name of this.variables.changedSince(other.variables)) {
      const mine = this.variables.get(name);
      const theirs = other.variables.get(name);
      if (mine !== theirs) {
        merged.variables.set(name, mergeVariables(mine, theirs, name, reason));
      }
    }
    addMissing(merged.exported, other.exported);
    addMissing(merged.functions, other.functions);
    addMissing(merged.files, other.files);
    return merged;
  }
}

/** Adds the values that only the other has. */
function addMissing<Value extends object | string | true>(merged: Layers<Value>, other: Layers<Value>): void {
  for (const name of merged.changedSince(other)) {
    if (!merged.has(name)) {
      merged.set(name, other.get(name));
    }
  }
}
