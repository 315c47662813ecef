import type { Option } from '../options';
import type { Reason } from '../value';
import { at, type Copies, setAt, type Tree, type TreeMap, type TreeScalar, textOfScalar } from './tree';

/** The longest chain of references, and the most values that are resolved. */
const MAX_STEPS = 24;
const MAX_RESOLVED = 100_000;
/** The most characters that references put into texts: a text of references to texts of references has no end. */
const MAX_WRITTEN = 4 * 1024 * 1024;

/**
 * A tree with its `${...}` references followed as OmegaConf follows them: paths, relative paths, `oc.select`, `oc.env` and the
 * arithmetic that NeMo-RL adds (nemo_rl/utils/config.py). What refers to the environment is not known.
 */
export function resolveReferences(root: TreeMap): TreeMap {
  const resolver = new Resolver(root);
  const resolved = resolver.tree(root, []);
  return resolved.kind === 'map' ? resolved : root;
}

class Resolver {
  #resolved = 0;
  #written = 0;

  constructor(readonly root: TreeMap) {}

  tree(tree: Tree, path: readonly string[], depth = 0): Tree {
    if (++this.#resolved > MAX_RESOLVED || depth > MAX_STEPS) {
      return { kind: 'scalar', value: null, place: tree.place, unknown: 'a reference that leads back to itself' };
    }
    if (tree.kind === 'map') {
      const entries = [...tree.entries].map(
        ([name, value]) => [name, this.tree(value, [...path, name], depth)] as const,
      );
      return { ...tree, entries: new Map(entries) };
    }
    if (tree.kind === 'list') {
      return { ...tree, items: tree.items.map((item) => this.tree(item, path, depth)) };
    }
    return this.#scalar(tree, path, depth);
  }

  #scalar(scalar: TreeScalar, path: readonly string[], depth: number): Tree {
    const { value } = scalar;
    if (depth > MAX_STEPS) {
      return unknownAt(scalar, 'a reference that leads back to itself');
    }
    if (value === '???') {
      return unknownAt(scalar, 'a value that must be given (???)');
    }
    if (typeof value !== 'string' || !value.includes('${')) {
      return scalar;
    }
    const parts = referencesIn(value);
    const [only] = parts;
    if (parts.length === 1 && only && 'reference' in only) {
      return this.#reference(only.reference, scalar, path, depth);
    }
    let text = '';
    for (const part of parts) {
      const found = 'text' in part ? part.text : textOfTree(this.#reference(part.reference, scalar, path, depth));
      this.#written += found?.length ?? 0;
      if (found === null || this.#written > MAX_WRITTEN) {
        return unknownAt(scalar, value);
      }
      text += found;
    }
    return { ...scalar, value: text };
  }

  #reference(reference: string, scalar: TreeScalar, path: readonly string[], depth: number): Tree {
    const call = /^([\w.]+):([\s\S]*)$/.exec(reference);
    if (call) {
      return this.#call(call[1] ?? '', splitArguments(call[2] ?? ''), scalar, path, depth);
    }
    const dots = /^\.*/.exec(reference)?.[0].length ?? 0;
    const base = dots > 0 ? path.slice(0, Math.max(0, path.length - dots)) : [];
    const target = [...base, ...reference.slice(dots).split('.')].join('.');
    const found = /[${}]/.test(target) ? undefined : at(this.root, target);
    return found ? this.tree(found, target.split('.'), depth + 1) : unknownAt(scalar, `\${${reference}}`);
  }

  #call(name: string, args: readonly string[], scalar: TreeScalar, path: readonly string[], depth: number): Tree {
    const [first = '', second] = args;
    const otherwise = () =>
      second === undefined
        ? unknownAt(scalar, `\${${name}:${first}}`)
        : this.#scalar({ ...scalar, value: scalarOf(second) }, path, depth + 1);
    if (name === 'oc.env') {
      return second === undefined ? unknownAt(scalar, { variable: first }) : otherwise();
    }
    if (name === 'oc.select') {
      const found = at(this.root, first);
      return found
        ? this.tree(found, first.split('.'), depth + 1)
        : second === undefined
          ? { ...scalar, value: null }
          : otherwise();
    }
    const numbers = args.map((arg) =>
      Number(textOfTree(this.#scalar({ ...scalar, value: arg }, path, depth + 1)) ?? Number.NaN),
    );
    const [a = Number.NaN, b = Number.NaN] = numbers;
    const results: Readonly<Record<string, number>> = { mul: a * b, add: a + b, div: a / b, max: Math.max(a, b) };
    const result = Object.hasOwn(results, name) ? results[name] : undefined;
    return result !== undefined && Number.isFinite(result)
      ? { ...scalar, value: result }
      : unknownAt(scalar, `\${${name}:...}`);
  }
}

function unknownAt(scalar: TreeScalar, unknown: Reason): TreeScalar {
  return { ...scalar, value: null, unknown };
}

function textOfTree(tree: Tree): string | null {
  return tree.kind === 'scalar' ? textOfScalar(tree) : null;
}

/** The plain text and the references of a value, in order. */
function referencesIn(value: string): ({ readonly text: string } | { readonly reference: string })[] {
  const parts: ({ text: string } | { reference: string })[] = [];
  let index = 0;
  while (index < value.length) {
    const start = value.indexOf('${', index);
    if (start !== index) {
      const end = start < 0 ? value.length : start;
      parts.push({ text: value.slice(index, end) });
      index = end;
      continue;
    }
    const end = closingBrace(value, start + 2);
    parts.push(end < 0 ? { text: value.slice(start) } : { reference: value.slice(start + 2, end) });
    index = end < 0 ? value.length : end + 1;
  }
  return parts;
}

function closingBrace(text: string, from: number): number {
  let open = 1;
  for (let index = from; index < text.length; index++) {
    const character = text.charAt(index);
    open += character === '{' ? 1 : character === '}' ? -1 : 0;
    if (open === 0) {
      return index;
    }
  }
  return -1;
}

/** The arguments of a resolver, without blanks; commas inside braces and brackets do not part them. */
function splitArguments(text: string): string[] {
  const args = [''];
  let open = 0;
  for (const character of text) {
    open += '{[('.includes(character) ? 1 : '}])'.includes(character) ? -1 : 0;
    if (character === ',' && open === 0) {
      args.push('');
    } else {
      args[args.length - 1] += character;
    }
  }
  return args.map((arg) => arg.trim());
}

/** A value of Hydra's override grammar: `null`, `true`, numbers, quoted and plain strings. */
function scalarOf(text: string): string | number | boolean | null {
  const lower = text.toLowerCase();
  if (lower === 'null') {
    return null;
  }
  if (lower === 'true' || lower === 'false') {
    return lower === 'true';
  }
  if (/^[-+]?\d+(_\d+)*$/.test(text)) {
    return Number(text.replaceAll('_', ''));
  }
  return /^(["'])([\s\S]*)\1$/.exec(text)?.[2] ?? text;
}

/** A tree with a command line's overrides (`a.b=1`, `+a.b=1`) applied in order. */
export function applyOverrides(tree: TreeMap, overrides: ReadonlyMap<string, Option>): TreeMap {
  let result: Tree = tree;
  const copies: Copies = new Map();
  for (const [path, { values, places, place, unknown }] of overrides) {
    const [text = ''] = values;
    const at = places[0] ?? place;
    const value: Tree =
      text === null || unknown !== null
        ? { kind: 'scalar', value: null, place: at, unknown: unknown ?? path }
        : overrideValue(text, at);
    result = setAt(result, path.split(/[./]/), value, copies);
  }
  return result.kind === 'map' ? result : tree;
}

function overrideValue(text: string, place: TreeScalar['place']): Tree {
  const list = /^\[([\s\S]*)\]$/.exec(text);
  if (list) {
    const items = list[1]?.trim() === '' ? [] : splitArguments(list[1] ?? '');
    return { kind: 'list', place, items: items.map((item) => ({ kind: 'scalar', value: scalarOf(item), place })) };
  }
  return { kind: 'scalar', value: scalarOf(text), place };
}
