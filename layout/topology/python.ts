/*
 * Python's arithmetic, on which Megatron-LM's checks rest, and its texts of values, which its messages contain.
 */

/** An error that Megatron-LM (or Python below it) raises, as `str(exception)` shows it. */
export interface Raised {
  /** The exception's class, such as `AssertionError`. */
  readonly type: string;
  readonly message: string;
  /** Whether Megatron-LM checks for the fault; false where Python merely fails there, such as a division by zero. */
  readonly checked: boolean;
}

/** The result of a ported function: its value, or the error that the original raises. */
export type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Raised };

class RaisedError extends Error {
  constructor(readonly raised: Raised) {
    super(raised.message);
  }
}

/** Ends a ported function as Megatron-LM's `assert` and `raise` do; only inside `attempt`. */
export function raise(type: string, message: string): never {
  throw new RaisedError({ type, message, checked: true });
}

/** Raises an AssertionError where the condition does not hold; only inside `attempt`. */
export function assertThat(condition: boolean, message: string): void {
  if (!condition) {
    raise('AssertionError', message);
  }
}

/** Ends a ported function where Python itself fails; only inside `attempt`. */
export function fail(type: string, message: string): never {
  throw new RaisedError({ type, message, checked: false });
}

/** Runs a ported function and returns its value, or what it raised. */
export function attempt<T>(work: () => T): Attempt<T> {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    if (error instanceof RaisedError) {
      return { ok: false, error: error.raised };
    }
    throw error;
  }
}

/** `a // b` of Python, which rounds down. */
export function floorDiv(a: number, b: number): number {
  return b === 0 ? fail('ZeroDivisionError', 'integer division or modulo by zero') : Math.floor(a / b);
}

/** `a % b` of Python, which has the sign of `b`. */
export function modulo(a: number, b: number): number {
  return b === 0 ? fail('ZeroDivisionError', 'integer modulo by zero') : a - b * Math.floor(a / b);
}

/** `repr` of None, a boolean, a number, a string, or a list of these. */
export function repr(value: unknown): string {
  if (value === null || value === undefined) {
    return 'None';
  }
  if (typeof value === 'boolean') {
    return value ? 'True' : 'False';
  }
  if (Array.isArray(value)) {
    return `[${value.map(repr).join(', ')}]`;
  }
  return typeof value === 'string' ? reprOfText(value) : String(value);
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function reprOfText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = Array.from(text, (char) => {
    if (char === quote) {
      return `\\${quote}`;
    }
    return ESCAPES[char] ?? (isPrintable(char) ? char : escapeOf(char.codePointAt(0) ?? 0));
  });
  return quote + escaped.join('') + quote;
}

/** Python escapes control, format, surrogate, private and unassigned characters, and spaces other than U+0020. */
function isPrintable(char: string): boolean {
  return char === ' ' || !/[\p{C}\p{Z}]/u.test(char);
}

function escapeOf(code: number): string {
  const hex = (width: number) => code.toString(16).padStart(width, '0');
  if (code <= 0xff) {
    return `\\x${hex(2)}`;
  }
  return code <= 0xffff ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}

/** `repr(type(value))` of a value as YAML reads it. */
export function typeRepr(value: unknown): string {
  return `<class '${typeName(value)}'>`;
}

function typeName(value: unknown): string {
  if (value === null || value === undefined) {
    return 'NoneType';
  }
  if (Array.isArray(value)) {
    return 'list';
  }
  switch (typeof value) {
    case 'string':
      return 'str';
    case 'boolean':
      return 'bool';
    case 'number':
      return Number.isInteger(value) ? 'int' : 'float';
    default:
      return 'dict';
  }
}
