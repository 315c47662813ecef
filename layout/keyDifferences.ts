import type { Understood } from './check';
import { specAt } from './format/keyPath';
import type { Node } from './format/node';

/** A key that has not the same value in two layouts. */
export interface KeyDifference {
  /** Its path, such as `batch.micro_batch_size`. */
  readonly path: readonly string[];
  /** The values as one line of text; null where a layout neither has the key nor is there a default that holds for every layout. */
  readonly before: string | null;
  readonly after: string | null;
}

/** A key that holds no map, with its value as one line of text. */
export interface KeyValue {
  readonly path: readonly string[];
  readonly value: string;
  /** What the key is where a layout leaves it out; null where no default holds for every layout. */
  readonly unwritten: string | null;
}

/** Every key of a layout that holds no map, in the order of the file. */
export function keyValues({ read }: Understood): readonly KeyValue[] {
  const values: KeyValue[] = [];
  const visit = (node: Node, path: readonly string[]) => {
    if (node.kind === 'map') {
      for (const { key, value } of node.entries) {
        visit(value, [...path, key]);
      }
    } else {
      values.push({ path, value: textOf(node), unwritten: defaultOf(path) });
    }
  };
  if (read.tree.root) {
    visit(read.tree.root, []);
  }
  return values;
}

/** Every key whose value differs between two layouts, in the order of the second one; those that it lacks come last. */
export function keyDifferences(before: readonly KeyValue[], after: readonly KeyValue[]): readonly KeyDifference[] {
  const [old, now] = [before, after].map((all) => new Map(all.map((one) => [JSON.stringify(one.path), one.value])));
  const keys = new Map([...after, ...before].map((one) => [JSON.stringify(one.path), one]));
  return [...keys].flatMap(([key, { path, unwritten }]) => {
    const [was, is] = [old, now].map((values) => values?.get(key) ?? unwritten);
    return was === is ? [] : [{ path, before: was ?? null, after: is ?? null }];
  });
}

/** A value in one line, however it is written: `4`, `[0, 2]`, `{dp: 1}`. */
function textOf(node: Node): string {
  switch (node.kind) {
    case 'scalar':
      return String(node.value);
    case 'list':
      return `[${node.items.map(textOf).join(', ')}]`;
    case 'map':
      return `{${node.entries.map(({ key, value }) => `${key}: ${textOf(value)}`).join(', ')}}`;
  }
}

function defaultOf(path: readonly string[]): string | null {
  const spec = specAt(path);
  return spec && 'default' in spec && spec.default !== undefined ? String(spec.default) : null;
}
