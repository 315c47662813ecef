import { nesting, type Token } from './tokens';

/** A call of a function by its path. */
export interface Call {
  readonly kind: 'call';
  readonly callee: readonly string[];
  readonly args: readonly Argument[];
  readonly offset: number;
}

/** A Python expression, as far as values are read from it. */
export type Expression =
  | { readonly kind: 'value'; readonly value: string | number | boolean | null; readonly offset: number }
  | { readonly kind: 'list'; readonly items: readonly Expression[]; readonly offset: number }
  | { readonly kind: 'dict'; readonly entries: readonly Entry[]; readonly offset: number }
  | { readonly kind: 'path'; readonly path: readonly string[]; readonly offset: number }
  | Call
  /** What methods and attributes make of the result of a call. */
  | { readonly kind: 'chain'; readonly call: Call; readonly offset: number }
  | {
      readonly kind: 'binary';
      readonly operator: string;
      readonly left: Expression;
      readonly right: Expression;
      readonly offset: number;
    }
  | { readonly kind: 'other'; readonly offset: number };

/** One entry of a dict; without a key it is `**other`. */
export interface Entry {
  readonly key: Expression | null;
  readonly value: Expression;
}

/** One argument of a call; `**` spreads a map of keywords. */
export interface Argument {
  readonly name: string | null;
  readonly value: Expression;
}

/** How deep expressions are read; deeper ones are not known. */
const MAX_DEPTH = 40;

/** How many operators an expression has, and how many names a path; those of longer ones are not known. */
const MAX_OPERATORS = 200;
export const MAX_NAMES = 64;

const CONSTANTS: Readonly<Record<string, boolean | null>> = { True: true, False: false, None: null };

/** Reads one expression from its tokens; what the reader does not know is `other`. */
export function expressionOf(tokens: readonly Token[]): Expression {
  const parser = new Parser(tokens);
  const expression = parser.sum(0);
  return parser.isDone && !parser.isTooLong ? expression : { kind: 'other', offset: tokens[0]?.offset ?? 0 };
}

/** What stands at an offset and is not read. */
function other({ offset }: { readonly offset: number }): Expression {
  return { kind: 'other', offset };
}

/** What stands behind a call and a dot. */
function chained(value: Expression): Expression {
  const call = value.kind === 'call' ? value : value.kind === 'chain' ? value.call : null;
  return call ? { kind: 'chain', call, offset: value.offset } : other(value);
}

class Parser {
  #index = 0;
  #operators = 0;

  constructor(readonly tokens: readonly Token[]) {}

  get isDone(): boolean {
    return this.#index >= this.tokens.length;
  }

  /** Whether there are more operators than are read. */
  get isTooLong(): boolean {
    return this.#operators > MAX_OPERATORS;
  }

  get #next(): Token | undefined {
    return this.tokens[this.#index];
  }

  #is(text: string): boolean {
    return this.#next?.kind === 'operator' && this.#next.text === text;
  }

  #take(text: string): boolean {
    const taken = this.#is(text);
    this.#index += taken ? 1 : 0;
    return taken;
  }

  sum(depth: number): Expression {
    let left = this.#product(depth);
    while (!this.isTooLong && (this.#is('+') || this.#is('-'))) {
      left = this.#binary(left, () => this.#product(depth));
    }
    return left;
  }

  #product(depth: number): Expression {
    let left = this.#unary(depth);
    while (!this.isTooLong && (this.#is('*') || this.#is('//'))) {
      left = this.#binary(left, () => this.#unary(depth));
    }
    return left;
  }

  #binary(left: Expression, read: () => Expression): Expression {
    const operator = this.#next?.text ?? '';
    this.#index++;
    this.#operators++;
    return { kind: 'binary', operator, left, right: read(), offset: left.offset };
  }

  #unary(depth: number): Expression {
    const offset = this.#next?.offset ?? 0;
    if (this.#take('-')) {
      const left = { kind: 'value', value: 0, offset } as const;
      return { kind: 'binary', operator: '-', left, right: this.#postfix(depth), offset };
    }
    return this.#postfix(depth);
  }

  #postfix(depth: number): Expression {
    let value = this.#atom(depth);
    while (this.#is('.') || this.#is('(') || this.#is('[')) {
      if (this.#take('.')) {
        const name = this.#next?.kind === 'name' ? this.#next.text : null;
        this.#index++;
        value =
          value.kind === 'path' && name !== null && value.path.length < MAX_NAMES
            ? { ...value, path: [...value.path, name] }
            : chained(value);
      } else if (this.#take('(')) {
        const args = this.#arguments(depth + 1);
        value =
          value.kind === 'path'
            ? { kind: 'call', callee: value.path, args, offset: value.offset }
            : value.kind === 'chain'
              ? value
              : other(value);
      } else {
        this.#index++;
        this.#skipTo(']');
        value = other(value);
      }
    }
    return value;
  }

  #atom(depth: number): Expression {
    const token = this.#next;
    const offset = token?.offset ?? 0;
    this.#index++;
    if (!token || depth > MAX_DEPTH) {
      this.#index = this.tokens.length;
      return { kind: 'other', offset };
    }
    if (token.kind === 'text') {
      return this.#texts(token);
    }
    if (token.kind === 'number') {
      const plain = token.text.replaceAll('_', '');
      return /^\d+$|^\d+\.\d*$|^\d+(\.\d*)?e-?\d+$/i.test(plain)
        ? { kind: 'value', value: Number(plain), offset }
        : other(token);
    }
    if (token.kind === 'name') {
      const constant = Object.hasOwn(CONSTANTS, token.text) ? CONSTANTS[token.text] : undefined;
      return constant === undefined
        ? { kind: 'path', path: [token.text], offset }
        : { kind: 'value', value: constant, offset };
    }
    return this.#bracket(token, depth);
  }

  /** Strings beside one another are one. */
  #texts(first: Token): Expression {
    let value = first.text;
    while (this.#next?.kind === 'text') {
      value += this.#next.text;
      this.#index++;
    }
    return { kind: 'value', value, offset: first.offset };
  }

  #bracket({ text, offset }: Token, depth: number): Expression {
    if (text === '[') {
      return { kind: 'list', items: this.#items(']', depth + 1), offset };
    }
    if (text === '(') {
      const items = this.#items(')', depth + 1);
      const [only] = items;
      const isTuple = this.tokens[this.#index - 2]?.text === ',';
      return items.length === 1 && only && !isTuple ? only : { kind: 'list', items, offset };
    }
    return text === '{' ? { kind: 'dict', entries: this.#entries(depth + 1), offset } : { kind: 'other', offset };
  }

  #items(close: string, depth: number): Expression[] {
    const items: Expression[] = [];
    while (!this.isDone && !this.#take(close)) {
      items.push(this.#value(depth, close));
      this.#take(',');
    }
    return items;
  }

  #entries(depth: number): Entry[] {
    const entries: Entry[] = [];
    while (!this.isDone && !this.#take('}')) {
      if (this.#take('**')) {
        entries.push({ key: null, value: this.#value(depth, '}') });
      } else {
        const key = this.#value(depth, '}', ':');
        entries.push(this.#take(':') ? { key, value: this.#value(depth, '}') } : { key: null, value: other(key) });
      }
      this.#take(',');
    }
    return entries;
  }

  #arguments(depth: number): Argument[] {
    const args: Argument[] = [];
    while (!this.isDone && !this.#take(')')) {
      const name = this.#next?.kind === 'name' && this.tokens[this.#index + 1]?.text === '=' ? this.#next.text : null;
      const isSpread = this.#take('**');
      this.#take('*');
      this.#index += name === null ? 0 : 2;
      args.push({ name: isSpread ? '**' : name, value: this.#value(depth, ')') });
      this.#take(',');
    }
    return args;
  }

  /** One value up to `,`, a closing bracket or `stop`; what follows a value, such as `if x else y`, makes it unknown. */
  #value(depth: number, close: string, stop = ','): Expression {
    const start = this.#index;
    const value = this.sum(depth);
    if (this.isDone || this.#is(',') || this.#is(close) || this.#is(stop)) {
      return value;
    }
    this.#index = Math.max(this.#index, start + 1);
    this.#skipTo(',', close, stop);
    this.#index--;
    return other(value);
  }

  /** Skips past the first of some operators outside of brackets. */
  #skipTo(...ends: readonly string[]): void {
    let open = 0;
    while (!this.isDone) {
      const token = this.#next;
      this.#index++;
      if (token?.kind !== 'operator') {
        continue;
      }
      if (open === 0 && ends.includes(token.text)) {
        return;
      }
      open += nesting(token);
    }
    this.#index++;
  }
}
