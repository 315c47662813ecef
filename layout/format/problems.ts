import type { Span } from '../diagnostic';
import type { IntegerSpec, KeySpec, MapSpec } from './spec';
import type { Entry, MapNode, Node, ScalarNode } from './tree';

/** A whole number below the least that its key can have. */
export interface TooSmall {
  /** Where it stands: `modules.language.rank_offset`. */
  readonly path: string;
  readonly value: number;
  readonly spec: IntegerSpec;
  readonly span: Span;
}

/** Something about the shape of a file that the reader cannot use. The rule of the code in `kind` reports it. */
export type Problem =
  /** The file is empty; a layout would begin at `start`. */
  | { readonly kind: 'empty'; readonly start: number }
  | { readonly kind: 'duplicate-key'; readonly entry: Entry; readonly first: Entry }
  | {
      readonly kind: 'unknown-key';
      readonly entry: Entry;
      readonly spec: MapSpec;
      /** The entries of the map by their keys. */
      readonly siblings: ReadonlyMap<string, Entry>;
      /** The path of the map; empty for the whole file. */
      readonly path: string;
    }
  | {
      readonly kind: 'missing-key';
      readonly name: string;
      readonly spec: KeySpec;
      readonly map: MapNode;
      /** The key that holds the map. */
      readonly keySpan: Span;
      readonly path: string;
    }
  | { readonly kind: 'wrong-type'; readonly spec: KeySpec; readonly node: Node; readonly path: string }
  | {
      readonly kind: 'not-an-option';
      readonly options: readonly string[];
      readonly node: ScalarNode;
      readonly path: string;
    }
  /** A whole number that is not exact in 53 bits. */
  | { readonly kind: 'number-too-large'; readonly node: ScalarNode }
  | { readonly kind: 'text-too-long'; readonly length: number; readonly span: Span; readonly path: string }
  | { readonly kind: 'unsupported-version'; readonly version: number; readonly span: Span };

/** Those of some problems that are of one kind. */
export function problemsOf<K extends Problem['kind']>(
  problems: readonly Problem[],
  kind: K,
): Extract<Problem, { kind: K }>[] {
  return problems.filter((problem): problem is Extract<Problem, { kind: K }> => problem.kind === kind);
}
