import type { ParsedScript } from 'unbash';
import type { Source, State } from './state';
import type { Arg, Place, Text, Variable } from './words';

/** A program that a script starts. */
export interface Invocation {
  readonly args: readonly Arg[];
  /** The variables at that moment, those before the command included. */
  readonly variables: ReadonlyMap<string, Variable>;
  readonly place: Place;
  /** What the command reads from a here-document or the command before it in a pipeline. */
  readonly stdin: Text | null;
  /** The words of the programs around it, such as `srun -N 4` where it stands in `bash -c`. */
  readonly outer: readonly Arg[];
}

/** What expanding words needs of the interpreter. */
export interface Shell {
  readonly state: State;
  readonly source: Source;
  /** The script that is run, `$0` in it and in what it sources. */
  readonly program: string;
  /** The files that were sourced and not found. */
  readonly missing: readonly string[];
  /** Whether an assumption was made since it was last cleared: that the script is called without arguments. */
  assumed: boolean;
  /** Whether an argument of the script was compared with a constant since it was last cleared. */
  compared: boolean;
  /** The arguments of the script that the caller chose, by their numbers. */
  readonly chosen: ReadonlyMap<string, string>;
  /**
   * Takes note of work beside that of following commands: characters that are copied or compared. False where a script has had more of
   * it than any needs: what it would give is not known.
   */
  spend(work: number): boolean;
  /** Takes note of a constant that a text is compared with. */
  compares(text: Text, constant: string): void;
  /** What the commands of a substitution print. */
  capture(script: ParsedScript): Text;
  assign(name: string, value: Variable): void;
  /** The value of a variable that the job scheduler sets, or null. */
  scheduled(name: string): Text | null;
}
