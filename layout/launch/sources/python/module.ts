import { setAt, type Tree, type TreeMap, type TreeScalar, textAtPath } from '../tree';
import { TooMuchWork } from '../workLimit';
import { type Argument, type Call, type Expression, expressionOf, MAX_NAMES } from './expressions';
import { type Line, nesting, pythonLines, type Token } from './tokens';

/** A function at the top level of a Python file, with what it makes. */
interface PythonRecipe {
  readonly name: string;
  /** The variables when it ends, and what it returns under `return`. */
  readonly variables: ReadonlyMap<string, Tree>;
}

/** The key under which the map of a call keeps what was called. */
export const CALLEE = '()';

/** The method by which Megatron Bridge takes a model's sizes from Hugging Face, and the key of the model's name. */
export const FROM_HUGGING_FACE = 'from_hf_pretrained';

const MAX_CALLS = 8;

/** Tokens, values and variables that are looked at in one file. */
const MAX_STEPS = 300_000;

/** How many blocks stand in one another. */
const MAX_BLOCKS = 60;

/** The size of a variable's value: maps in one another, and values in all. Beyond it, it is unknown. */
const MAX_DEPTH = 64;
const MAX_VALUES = 20_000;

interface Parameter {
  readonly name: string;
  readonly otherwise: Expression | null;
}

interface FunctionBody {
  readonly parameters: readonly Parameter[];
  readonly lines: readonly Line[];
}

type Variables = Map<string, Tree>;

/** How many maps and lists stand in one another in a tree, and how many values it has; one that stands twice counts twice. */
interface Size {
  readonly depth: number;
  readonly values: number;
}

/**
 * Reads what the functions of a Python file set, without running it: literals, constants, keyword arguments and
 * assignments to attributes. What depends on a condition, a loop, or a function of another file is unknown.
 * @param file the path that places name
 * @throws TooMuchWork where the file takes more steps than any configuration
 */
export function pythonRecipes(file: string, text: string): PythonRecipe[] {
  return new Module(file, pythonLines(text)).recipes();
}

class Module {
  readonly #functions = new Map<string, FunctionBody>();
  readonly #globals: Variables = new Map();
  readonly #sizes = new WeakMap<Tree, Size>();
  #steps = 0;
  #blocks = 0;

  constructor(
    readonly file: string,
    lines: readonly Line[],
  ) {
    this.#run(this.#withoutFunctions(lines), this.#globals, 0);
  }

  recipes(): PythonRecipe[] {
    const made = [...this.#functions.keys()].map((name) => ({ name, variables: this.#called(name, [], 0) }));
    return [...made, { name: '', variables: this.#globals }];
  }

  /** Counts work, which calls and values of values multiply. */
  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) {
      throw new TooMuchWork(this.file);
    }
  }

  /** A value as a variable holds it. */
  #held(tree: Tree): Tree {
    const { depth, values } = this.#sizeOf(tree);
    return depth > MAX_DEPTH || values > MAX_VALUES ? this.#unknown(tree.place.offset, 'a very large value') : tree;
  }

  #sizeOf(tree: Tree): Size {
    const known = this.#sizes.get(tree);
    if (known) {
      return known;
    }
    const inner = tree.kind === 'map' ? [...tree.entries.values()] : tree.kind === 'list' ? tree.items : [];
    this.#spend(inner.length);
    let [depth, values] = [0, 1];
    for (const size of inner.map((one) => this.#sizeOf(one))) {
      depth = Math.max(depth, size.depth + 1);
      values += size.values;
    }
    this.#sizes.set(tree, { depth, values });
    return { depth, values };
  }

  /** Keeps the functions at the top level, and returns the other lines. */
  #withoutFunctions(lines: readonly Line[]): Line[] {
    const rest: Line[] = [];
    for (let index = 0; index < lines.length; ) {
      const line = lines[index];
      const end = blockEnd(lines, index);
      const [first, name] = line?.tokens ?? [];
      if (line && line.indent === 0 && first?.text === 'def' && name) {
        this.#functions.set(name.text, { parameters: parametersOf(line.tokens), lines: bodyOf(lines, index, end) });
        index = end;
      } else if (line && (first?.text === 'class' || first?.text === 'async')) {
        index = end;
      } else {
        rest.push(...(line ? [line] : []));
        index++;
      }
    }
    return rest;
  }

  #called(name: string, args: readonly (readonly [string | null, Tree])[], depth: number): Variables {
    this.#spend(this.#globals.size);
    const variables: Variables = new Map(this.#globals);
    const body = this.#functions.get(name);
    if (!body || depth > MAX_CALLS) {
      return variables;
    }
    for (const [index, { name: parameter, otherwise }] of body.parameters.entries()) {
      const given = args.find(([keyword]) => keyword === parameter)?.[1] ?? positional(args, index);
      const value = otherwise ? this.#value(otherwise, this.#globals, depth + 1) : null;
      variables.set(parameter, given ?? value ?? this.#unknown(0, `the argument ${parameter}`));
    }
    this.#run(body.lines, variables, depth + 1);
    return variables;
  }

  #run(lines: readonly Line[], variables: Variables, depth: number): void {
    for (let index = 0; index < lines.length; ) {
      const line = lines[index];
      const end = blockEnd(lines, index);
      if (!line) {
        return;
      }
      this.#spend(line.tokens.length);
      const [first] = line.tokens;
      if (first && first.kind === 'name' && BLOCKS.has(first.text) && line.tokens.some(({ text }) => text === ':')) {
        if (++this.#blocks > MAX_BLOCKS) {
          throw new TooMuchWork(this.file);
        }
        this.#block(line, bodyOf(lines, index, end), variables, depth);
        this.#blocks--;
        index = end;
      } else {
        this.#statement(line.tokens, variables, depth);
        index++;
      }
    }
  }

  /** A block that runs for certain is read; what one sets that may not run is unknown. */
  #block({ tokens }: Line, body: readonly Line[], variables: Variables, depth: number): void {
    const head = tokens.map(({ text }) => text).join(' ');
    if (/^(with|try) |^(try|finally) :|^if __name__ ==/.test(head)) {
      this.#run(body, variables, depth);
      return;
    }
    if (/^(def|class) /.test(head)) {
      variables.set(tokens[1]?.text ?? '', this.#unknown(tokens[0]?.offset ?? 0, 'a function'));
      return;
    }
    if (tokens[0]?.text === 'for') {
      this.#forget(
        tokens.slice(
          0,
          tokens.findIndex(({ text }) => text === 'in'),
        ),
        variables,
      );
    }
    this.#spend(variables.size);
    const inside = new Map(variables);
    this.#run(body, inside, depth);
    for (const [name, value] of inside) {
      const before = variables.get(name);
      if (before !== value && name !== RETURN) {
        variables.set(name, this.#either(before, value));
      }
    }
    const returned = inside.get(RETURN);
    if (returned && returned !== variables.get(RETURN)) {
      variables.set(MAYBE_RETURN, returned);
    }
  }

  /** What two trees agree on; the rest is unknown. */
  #either(before: Tree | undefined, after: Tree): Tree {
    this.#spend(1);
    if (before === after) {
      return after;
    }
    if (before?.kind === 'map' && after.kind === 'map') {
      const names = new Set([...before.entries.keys(), ...after.entries.keys()]);
      const entries = [...names].map((name): [string, Tree] => {
        const [one, other] = [before.entries.get(name), after.entries.get(name)];
        return [name, other ? this.#either(one, other) : this.#either(undefined, one ?? after)];
      });
      return { ...after, entries: new Map(entries) };
    }
    const isSame =
      before?.kind === 'scalar' &&
      after.kind === 'scalar' &&
      before.value === after.value &&
      !before.unknown &&
      !after.unknown;
    return isSame ? after : this.#opened(after, 'a condition of the Python code');
  }

  /** A value of which each part may be another. */
  #opened(tree: Tree, unknown: string): Tree {
    this.#spend(1);
    return tree.kind === 'map'
      ? { ...tree, entries: new Map([...tree.entries].map(([name, value]) => [name, this.#opened(value, unknown)])) }
      : { kind: 'scalar', value: null, place: tree.place, unknown };
  }

  #statement(tokens: readonly Token[], variables: Variables, depth: number): void {
    const [first] = tokens;
    if (first?.text === 'return') {
      if (!variables.has(RETURN)) {
        const value = this.#value(expressionOf(tokens.slice(1)), variables, depth);
        const early = variables.get(MAYBE_RETURN);
        variables.set(RETURN, this.#held(early ? this.#either(early, value) : value));
      }
      return;
    }
    const at = operatorAt(tokens, '=');
    if (at > 0) {
      this.#assign(tokens, at, variables, depth);
      return;
    }
    const expression = expressionOf(tokens);
    if (expression.kind === 'call') {
      this.#effects(expression, variables, depth);
    } else if (tokens.some(({ text }) => /^([-+*/%&|^]|\/\/|\*\*)=$/.test(text))) {
      this.#forget(tokens, variables);
    }
  }

  #assign(tokens: readonly Token[], at: number, variables: Variables, depth: number): void {
    const colon = tokens.findIndex(({ text }, index) => text === ':' && index < at);
    const left = tokens.slice(0, colon > 0 ? colon : at);
    const expression = expressionOf(tokens.slice(at + 1));
    if (expression.kind === 'call') {
      this.#effects(expression, variables, depth);
    }
    const target = targetOf(left);
    if (target) {
      this.#set(target, this.#value(expression, variables, depth), variables);
    } else {
      this.#forget(left, variables);
    }
  }

  /** Makes the variables unknown that a statement may set. */
  #forget(tokens: readonly Token[], variables: Variables): void {
    for (const { kind, text, offset } of tokens) {
      if (kind === 'name' && variables.has(text)) {
        variables.set(text, this.#unknown(offset, 'a value that Python computes'));
      }
    }
  }

  #set(target: readonly string[] | null, value: Tree, variables: Variables): void {
    const [root, ...rest] = target ?? [];
    if (root !== undefined) {
      variables.set(root, this.#held(rest.length === 0 ? value : setAt(variables.get(root), rest, value)));
    }
  }

  /** A call may change what it is given: a function of this file is followed, any other makes it unknown. */
  #effects({ callee, args }: Extract<Expression, { kind: 'call' }>, variables: Variables, depth: number): void {
    const [name = ''] = callee;
    const own = callee.length === 1 ? this.#functions.get(name) : undefined;
    const after =
      own && depth < MAX_CALLS ? this.#called(name, this.#arguments(args, variables, depth), depth + 1) : null;
    for (const [index, { name: keyword, value }] of args.entries()) {
      const root = value.kind === 'path' ? value.path[0] : undefined;
      const before = root === undefined ? undefined : variables.get(root);
      if (value.kind !== 'path' || root === undefined || before?.kind !== 'map') {
        continue;
      }
      const parameter = own?.parameters.find((one, position) =>
        keyword === null ? position === index : one.name === keyword,
      );
      const changed =
        (parameter && after?.get(parameter.name)) ??
        (isMaker(callee) || READERS.test(callee.at(-1) ?? '')
          ? null
          : this.#opened(before, `${callee.join('.')}, which may change it`));
      if (changed) {
        this.#set(value.path, changed, variables);
      }
    }
  }

  #arguments(
    args: readonly Argument[],
    variables: ReadonlyMap<string, Tree>,
    depth: number,
  ): (readonly [string | null, Tree])[] {
    return args.map(({ name, value }) => [name, this.#value(value, variables, depth)] as const);
  }

  #value(expression: Expression, variables: ReadonlyMap<string, Tree>, depth: number): Tree {
    this.#spend(1);
    const { offset } = expression;
    const place = { file: this.file, offset };
    switch (expression.kind) {
      case 'value':
        return { kind: 'scalar', value: expression.value, place };
      case 'list':
        return { kind: 'list', place, items: expression.items.map((item) => this.#value(item, variables, depth)) };
      case 'dict':
        return this.#dict(expression, variables, depth);
      case 'path':
        return this.#path(expression.path, offset, variables);
      case 'call':
        return this.#call(expression, variables, depth);
      case 'chain':
        return this.#ofModel(expression.call, variables, depth);
      case 'binary':
        return this.#arithmetic(expression, variables, depth);
      default:
        return this.#unknown(offset, 'a value that Python computes');
    }
  }

  #dict(
    { entries, offset }: Extract<Expression, { kind: 'dict' }>,
    variables: ReadonlyMap<string, Tree>,
    depth: number,
  ): Tree {
    const map = new Map<string, Tree>();
    for (const { key, value } of entries) {
      const tree = this.#value(value, variables, depth);
      const parts = key?.kind === 'list' ? key.items : key ? [key] : [];
      if (parts.length > 0 && parts.every((part) => part.kind === 'value')) {
        // a tuple as a key is its items
        map.set(parts.map((part) => String(part.value)).join(','), tree);
      } else if (key === null && tree.kind === 'map') {
        for (const [name, one] of tree.entries) {
          map.set(name, one);
        }
      }
    }
    return { kind: 'map', entries: map, place: { file: this.file, offset } };
  }

  #path(path: readonly string[], offset: number, variables: ReadonlyMap<string, Tree>): Tree {
    let tree = variables.get(path[0] ?? '');
    for (const part of path.slice(1)) {
      tree = tree?.kind === 'map' ? tree.entries.get(part) : undefined;
    }
    if (tree) {
      return tree;
    }
    // names of torch's types are values
    return path[0] === 'torch'
      ? { kind: 'scalar', value: path.join('.'), place: { file: this.file, offset } }
      : this.#unknown(offset, path.join('.'));
  }

  #call(expression: Extract<Expression, { kind: 'call' }>, variables: ReadonlyMap<string, Tree>, depth: number): Tree {
    const { callee, args, offset } = expression;
    const name = callee.join('.');
    const [first, second] = args;
    if (/^(os\.environ\.get|os\.getenv|getenv)$/.test(name)) {
      return second ? this.#value(second.value, variables, depth) : this.#unknown(offset, 'an environment variable');
    }
    if (/^(int|str|bool)$/.test(name) && first && args.length === 1) {
      const value = this.#value(first.value, variables, depth);
      const number = value.kind === 'scalar' && /^-?\d+$/.test(String(value.value)) ? Number(value.value) : null;
      return name === 'int' && value.kind === 'scalar' && number !== null ? { ...value, value: number } : value;
    }
    if (callee.length === 1 && this.#functions.has(name) && depth < MAX_CALLS) {
      const made = this.#called(name, this.#arguments(args, variables, depth), depth + 1).get(RETURN);
      return made ?? this.#unknown(offset, `what ${name} returns`);
    }
    if (isMaker(callee)) {
      return this.#made(expression, variables, depth);
    }
    return this.#unknown(offset, `what ${name} returns`);
  }

  /** What is made of a model that Hugging Face names: its name is known, and nothing else. */
  #ofModel({ callee, args, offset }: Call, variables: ReadonlyMap<string, Tree>, depth: number): Tree {
    const [first] = args;
    if (callee.at(-1) !== FROM_HUGGING_FACE || !first) {
      return this.#unknown(offset, 'a value that Python computes');
    }
    const entries = new Map([[FROM_HUGGING_FACE, this.#value(first.value, variables, depth)]]);
    return { kind: 'map', entries, place: { file: this.file, offset } };
  }

  /** An object made from keyword arguments. */
  #made(
    { callee, args, offset }: Extract<Expression, { kind: 'call' }>,
    variables: ReadonlyMap<string, Tree>,
    depth: number,
  ): TreeMap {
    const place = { file: this.file, offset };
    const entries = new Map<string, Tree>([[CALLEE, { kind: 'scalar', value: callee.join('.'), place }]]);
    for (const { name, value } of args) {
      const tree = this.#value(value, variables, depth);
      for (const [key, one] of name === '**' && tree.kind === 'map' ? tree.entries : []) {
        entries.set(key, one);
      }
      if (name !== null && name !== '**') {
        entries.set(name, tree);
      }
    }
    return { kind: 'map', entries, place };
  }

  #arithmetic(
    expression: Extract<Expression, { kind: 'binary' }>,
    variables: ReadonlyMap<string, Tree>,
    depth: number,
  ): Tree {
    const [left, right] = [expression.left, expression.right].map((one) => this.#value(one, variables, depth));
    const [a, b] = [numberOf(left), numberOf(right)];
    const value = a === null || b === null ? null : computed(expression.operator, a, b);
    return value === null || !Number.isSafeInteger(value)
      ? this.#unknown(expression.offset, 'a value that Python computes')
      : { kind: 'scalar', value, place: { file: this.file, offset: expression.offset } };
  }

  #unknown(offset: number, unknown: string): TreeScalar {
    return { kind: 'scalar', value: null, place: { file: this.file, offset }, unknown };
  }
}

/** The variables under which a function's result is kept: what it returns, and what it may return earlier. */
export const RETURN = 'return';
const MAYBE_RETURN = 'return?';

const BLOCKS: ReadonlySet<string> = new Set(
  'if elif else for while with try except finally def class async'.split(' '),
);

/** Whether a call makes an object, by the name of a class. */
function isMaker(callee: readonly string[]): boolean {
  return /^[A-Z]/.test(callee.at(-1) ?? '') || callee.at(-1) === 'dict';
}

/** Whether a value was made by a call of a class or function with a name, such as `ModuleGridSpec(...)`. */
export function isCallOf(tree: Tree, name: string): tree is TreeMap {
  return textAtPath(tree, CALLEE)?.split('.').at(-1) === name;
}

/** Functions that take a configuration as it is: they print it, or run the training with it. */
const READERS = /^(print|len|repr|str|isinstance|info|debug|warning|(pretrain|finetune|train)(_\w+)?)$/;

function numberOf(tree: Tree | undefined): number | null {
  return tree?.kind === 'scalar' && typeof tree.value === 'number' ? tree.value : null;
}

function computed(operator: string, a: number, b: number): number | null {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    default:
      return b === 0 ? null : Math.floor(a / b);
  }
}

function positional(args: readonly (readonly [string | null, Tree])[], index: number): Tree | undefined {
  const arg = args[index];
  return arg && arg[0] === null ? arg[1] : undefined;
}

/** The index behind the lines of a block. */
function blockEnd(lines: readonly Line[], index: number): number {
  const indent = lines[index]?.indent ?? 0;
  let end = index + 1;
  while (end < lines.length && (lines[end]?.indent ?? 0) > indent) {
    end++;
  }
  return end;
}

/** The lines of a block; what follows the colon on the same line is its only one. */
function bodyOf(lines: readonly Line[], index: number, end: number): readonly Line[] {
  const tokens = lines[index]?.tokens ?? [];
  const colon = operatorAt(tokens, ':');
  const rest = colon < 0 ? [] : tokens.slice(colon + 1);
  return rest.length > 0 ? [{ indent: (lines[index]?.indent ?? 0) + 1, tokens: rest }] : lines.slice(index + 1, end);
}

/** The first operator of a kind outside of brackets; -1 where there is none. */
function operatorAt(tokens: readonly Token[], operator: string): number {
  let open = 0;
  return tokens.findIndex((token) => {
    open += nesting(token);
    return token.kind === 'operator' && token.text === operator && open === 0;
  });
}

/** The path that an assignment sets, such as `cfg.model.x`; null for items and several targets. */
function targetOf(tokens: readonly Token[]): readonly string[] | null {
  const path: string[] = [];
  for (const [index, { kind, text }] of tokens.entries()) {
    if (index % 2 === 0 && kind === 'name') {
      path.push(text);
    } else if (index % 2 === 0 || text !== '.') {
      return null;
    }
  }
  return path.length > MAX_NAMES ? null : path;
}

/** The parameters of a function, in order, with their defaults. */
function parametersOf(tokens: readonly Token[]): Parameter[] {
  const open = tokens.findIndex(({ text }) => text === '(');
  const parameters: Parameter[] = [];
  let depth = 0;
  let part: Token[] = [];
  for (const token of tokens.slice(open + 1)) {
    depth += nesting(token);
    if (depth < 0 || (depth === 0 && token.kind === 'operator' && token.text === ',')) {
      parameters.push(...parameterOf(part));
      part = [];
    } else {
      part.push(token);
    }
    if (depth < 0) {
      break;
    }
  }
  return parameters;
}

function parameterOf(tokens: readonly Token[]): Parameter[] {
  const [first] = tokens;
  const at = operatorAt(tokens, '=');
  return first?.kind === 'name'
    ? [{ name: first.text, otherwise: at > 0 ? expressionOf(tokens.slice(at + 1)) : null }]
    : [];
}
