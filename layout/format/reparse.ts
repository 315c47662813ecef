import type { Span } from '../finding';
import type { Change } from './change';
import { startOfLine } from './edit';
import { MAX_TEXT } from './limits';
import { endOf, parsePlainEntries } from './plain';
import { type Entry, hasControlCharacter, type MapNode, type Node, type Tree } from './tree';

/*
 * A keystroke changes one block of a file. In plain block YAML a block is cut out by its indentation alone, so its lines are
 * parsed by themselves, and the entries around it stay what they are. Where that cannot be, the whole file is parsed.
 */

/** How deep blocks are cut: at the keys of the file, and at the keys below one of them (its modules). */
const LEVELS = 2;

/** A text and its tree. */
export interface Source {
  readonly text: string;
  readonly tree: Tree;
}

/**
 * The tree of an edited text, made from the one before by parsing only the lines that changed; null where the whole text must
 * be parsed. It is the tree that `parseTree` makes.
 *
 * The entries that did not change are taken over, and their spans are moved to where they are now: the tree before, and
 * whatever refers to its spans, holds no more.
 * @param change what made `text` of the text before
 */
export function reparse(before: Source, text: string, change: Change): Tree | null {
  const { root, plain } = before.tree;
  const isCuttable = plain && root?.kind === 'map' && !root.flow && text.length <= MAX_TEXT;
  if (!isCuttable || isMarked(before.text) || isMarked(text) || hasControlCharacter(freshPart(text, change))) {
    return null;
  }
  const block = new Block(root, { start: 0, end: before.text.length }, 1, { before: before.text, text, change });
  const edited = block.edited();
  return edited && { root: edited, problem: null, plain: true };
}

/** A byte order mark moves the columns of its line. */
const isMarked = (text: string): boolean => text.startsWith('\ufeff');

const freshPart = (text: string, { start, newEnd }: Change): string => text.slice(start, newEnd);

/** A text before and after a change. */
interface Edited {
  readonly before: string;
  readonly text: string;
  readonly change: Change;
}

/** A block map with its lines, cut into those of its entries: each goes from its key to the next one's. */
class Block {
  readonly #column: number;

  /**
   * @param lines of the map in the text before the change, which lies in them
   * @param level how many collections the map stands in, itself included
   */
  constructor(
    readonly map: MapNode,
    readonly lines: Span,
    readonly level: number,
    readonly edit: Edited,
  ) {
    const { start } = map.span;
    this.#column = start - startOfLine(edit.before, start);
  }

  /** The map after the change; null where its lines are no longer a map by themselves. */
  edited(): MapNode | null {
    const { entries } = this.map;
    const { start, oldEnd, newEnd } = this.edit.change;
    // an entry is touched too where the change begins right behind its lines, or ends right in front of them
    const first = this.#firstWith((i) => this.#end(i) >= start);
    const last = this.#firstWith((i) => this.#end(i) > oldEnd);
    const fresh = (first === last ? this.#editedWithin(first) : null) ?? this.#parsed(first, last);
    if (!fresh || fresh.length + entries.length === last - first + 1) {
      return null;
    }
    const behind = entries.slice(last + 1);
    moveEntries(behind, newEnd - oldEnd);
    const now = [...entries.slice(0, first), ...fresh, ...behind];
    return { ...this.map, entries: now, span: { start: now[0]?.keySpan.start ?? 0, end: endOf(now) } };
  }

  /** An entry whose value is a block map that holds the whole change. */
  #editedWithin(i: number): Entry[] | null {
    const entry = this.map.entries[i];
    const value = entry?.value;
    if (!entry || value?.kind !== 'map' || value.flow || this.level === LEVELS) {
      return null;
    }
    const lines = { start: lineBehind(this.edit.before, entry.keySpan.end), end: this.#end(i) };
    const isWithin = lines.start <= this.edit.change.start;
    const map = isWithin ? new Block(value, lines, this.level + 1, this.edit).edited() : null;
    return map && [{ ...entry, value: map }];
  }

  /** What the lines of some entries are after the change, parsed by themselves. */
  #parsed(first: number, last: number): Entry[] | null {
    const { text, change } = this.edit;
    const start = this.#start(first);
    const lines = text.slice(start, this.#end(last) + change.newEnd - change.oldEnd);
    const entries = parsePlainEntries(ownCopy(lines), this.#column, this.level);
    if (entries) {
      moveEntries(entries, start);
    }
    return entries;
  }

  /** Comments in front of the first key belong to its lines. */
  #start(i: number): number {
    return i === 0 ? this.lines.start : this.#end(i - 1);
  }

  #end(i: number): number {
    const next = this.map.entries[i + 1];
    return next ? next.keySpan.start - this.#column : this.lines.end;
  }

  /** The first entry for which something holds that holds for all behind it; the last where it holds for none. */
  #firstWith(holds: (i: number) => boolean): number {
    let low = 0;
    let high = this.map.entries.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
}

/** Where the line behind the one at an offset begins. */
function lineBehind(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end < 0 ? text.length : end + 1;
}

/** A slice keeps the whole text that it was cut from in memory, and every entry might keep another one. */
function ownCopy(slice: string): string {
  return ` ${slice}`.slice(1);
}

/** Moves the spans of entries: every span of a plain tree stands in it once. */
function moveEntries(entries: readonly Entry[], by: number): void {
  if (by === 0) {
    return;
  }
  for (const { keySpan, value } of entries) {
    moveSpan(keySpan, by);
    moveNode(value, by);
  }
}

function moveNode(node: Node, by: number): void {
  moveSpan(node.span, by);
  if (node.kind === 'map') {
    moveEntries(node.entries, by);
  } else if (node.kind === 'list') {
    for (const item of node.items) {
      moveNode(item, by);
    }
  }
}

function moveSpan(span: { -readonly [P in keyof Span]: Span[P] }, by: number): void {
  span.start += by;
  span.end += by;
}
