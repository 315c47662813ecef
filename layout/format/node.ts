import type { Span } from '../diagnostic';

/** A scalar as the file has it. */
export interface ScalarNode {
  readonly kind: 'scalar';
  readonly value: string | number | bigint | boolean | null;
  /** The text between the value's ends, quotes included. */
  readonly source: string;
  readonly quoted: boolean;
  readonly span: Span;
}

/** A map with its entries in the order of the file; a key may stand in it more than once. */
export interface MapNode {
  readonly kind: 'map';
  readonly entries: readonly Entry[];
  /** Whether it is written `{a: 1}` on the spot rather than as indented lines. */
  readonly flow: boolean;
  readonly span: Span;
}

export interface ListNode {
  readonly kind: 'list';
  readonly items: readonly Node[];
  readonly flow: boolean;
  readonly span: Span;
}

export type Node = ScalarNode | MapNode | ListNode;

/** One `key: value` of a map. */
export interface Entry {
  readonly key: string;
  readonly keySpan: Span;
  readonly value: Node;
}

/** What keeps a file from being read. */
export interface TreeProblem {
  /** `syntax`: it is not valid YAML. `too-large`: it is longer, deeper or more than is read. */
  readonly kind: 'syntax' | 'too-large';
  readonly message: string;
  readonly span: Span;
}

/** What a parser makes of a text: `root` is null where it is empty, too large, or so broken that nothing can be read. */
export interface Parsed {
  readonly root: Node | null;
  readonly problem: TreeProblem | null;
}
