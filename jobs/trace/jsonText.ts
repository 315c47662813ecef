import { Dict, type Salvaged, type Value } from './value';

/** As deep as a dump, a RAS answer or a line of the recorder nests, with room. */
const MAX_DEPTH = 32;

/** The most values of a text: a dump has one in about twenty bytes. */
const MAX_VALUES = 4 * 1024 * 1024;

class DepthError extends Error {}

/**
 * Reads JSON; of a text that breaks off, the part before the break, in which containers keep the members that were read whole.
 * Never throws; time and memory are linear in the length of the text.
 */
export function readJson(text: string): Salvaged {
  if (text.length > MAX_VALUES && hasTooManyValues(text)) {
    return { value: undefined, problem: `holds more than ${MAX_VALUES} values` };
  }
  const whole = parsed(text, null);
  if (whole) {
    return whole;
  }
  const { at, completeEnd, closers } = scanPrefix(text);
  const problem = closers.length > MAX_DEPTH ? 'nests too deep' : 'breaks off';
  const part = closers.length > MAX_DEPTH ? '' : text.slice(0, completeEnd) + closers.reverse().join('');
  const broken = `${problem} at character ${at}`;
  return parsed(part, broken) ?? { value: undefined, problem: broken };
}

/** Whether a text has more values than are read: each stands behind a comma or an opening bracket that is in no string. */
function hasTooManyValues(text: string): boolean {
  let values = 0;
  for (let at = 0; at < text.length && values <= MAX_VALUES; at++) {
    const character = text[at];
    if (character === '"') {
      const end = closingQuote(text, at + 1);
      at = end < 0 ? text.length : end;
    } else if (character === ',' || character === '[' || character === '{') {
      values++;
    }
  }
  return values > MAX_VALUES;
}

/** Null for a text that is not JSON. */
function parsed(text: string, problem: string | null): Salvaged | null {
  try {
    return { value: plainValue(JSON.parse(text), 0), problem };
  } catch (error) {
    if (error instanceof DepthError) {
      return { value: undefined, problem: 'nests too deep' };
    }
    if (error instanceof SyntaxError) {
      return null;
    }
    throw error;
  }
}

function plainValue(json: unknown, depth: number): Value {
  if (typeof json !== 'object' || json === null) {
    return json as Value;
  }
  if (depth === MAX_DEPTH) {
    throw new DepthError();
  }
  return Array.isArray(json)
    ? json.map((item) => plainValue(item, depth + 1))
    : new Dict(Object.entries(json).flatMap(([key, item]) => [key, plainValue(item, depth + 1)]));
}

const SPACE = /[ \t\r\n]*/y;
const SCALAR = /true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** What can follow a place of a JSON text; `first` is a member or the end of a container that has just begun. */
type Next = 'value' | 'first' | 'key' | 'colon' | 'comma';

/**
 * Scans to the first character that does not fit.
 * @returns that place, the end of the last complete value or opening bracket before it, and the brackets that are still open
 */
function scanPrefix(text: string): { at: number; completeEnd: number; closers: string[] } {
  const closers: string[] = [];
  let at = 0;
  let completeEnd = 0;
  for (let next: Next = 'value'; closers.length <= MAX_DEPTH; ) {
    at = endOf(SPACE, text, at);
    const character = text[at];
    const closer = closers.at(-1);
    const isKey: boolean = next === 'key' || (next === 'first' && closer === '}');
    if ((next === 'first' || next === 'comma') && closer !== undefined && character === closer) {
      closers.pop();
      completeEnd = ++at;
      next = 'comma';
    } else if (next === 'comma' || next === 'colon') {
      if (character !== (next === 'comma' ? ',' : ':') || closer === undefined) {
        break;
      }
      at++;
      next = next === 'comma' && closer === '}' ? 'key' : 'value';
    } else if (!isKey && (character === '{' || character === '[')) {
      closers.push(character === '{' ? '}' : ']');
      completeEnd = ++at;
      next = 'first';
    } else {
      const end: number = character === '"' ? closingQuote(text, at + 1) + 1 : isKey ? at : endOf(SCALAR, text, at);
      if (end <= at) {
        break;
      }
      at = end;
      completeEnd = isKey ? completeEnd : at;
      next = isKey ? 'colon' : 'comma';
    }
  }
  return { at, completeEnd, closers };
}

/** The end of a match at a place; the place itself where nothing matches. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** The place of the quote that ends a string; -1 where there is none. */
function closingQuote(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (end - backslashes > from && text[end - backslashes - 1] === '\\') {
      backslashes++;
    }
    if (backslashes % 2 === 0) {
      return end;
    }
  }
  return -1;
}
