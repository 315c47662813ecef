/** One element of a shell pattern. */
export type PatternElement =
  | { readonly kind: 'star' }
  | { readonly kind: 'one'; readonly matches: (character: string) => boolean };

/** The longest pattern, and the longest text it is tried on, in UTF-16 units: matching takes the product of both. */
const MAX_PATTERN = 256;
const MAX_MATCHED = 2_048;

/** The elements of a shell pattern; null where it is longer than patterns are. */
export function parsePattern(pattern: string): PatternElement[] | null {
  if (pattern.length > MAX_PATTERN) {
    return null;
  }
  const elements: PatternElement[] = [];
  for (let index = 0; index < pattern.length; index++) {
    const character = pattern.charAt(index);
    const close = character === '[' ? pattern.indexOf(']', index + 2) : -1;
    if (character === '*') {
      elements.push({ kind: 'star' });
    } else if (character === '?') {
      elements.push({ kind: 'one', matches: () => true });
    } else if (close > 0) {
      elements.push({ kind: 'one', matches: setOf(pattern.slice(index + 1, close)) });
      index = close;
    } else {
      const plain = character === '\\' && index + 1 < pattern.length ? pattern.charAt(++index) : character;
      elements.push({ kind: 'one', matches: (other) => other === plain });
    }
  }
  return elements;
}

const CLASSES: Readonly<Record<string, string>> = {
  '[:digit:]': '0-9',
  '[:alpha:]': 'A-Za-z',
  '[:alnum:]': 'A-Za-z0-9',
  '[:space:]': ' \t\n',
};

function setOf(body: string): (character: string) => boolean {
  const negated = /^[!^]/.test(body);
  const members = (negated ? body.slice(1) : body).replace(
    /\[:\w+:\]?/g,
    (name) => CLASSES[`${name.replace(/\]$/, '')}]`] ?? '',
  );
  return (character) => {
    let found = false;
    for (let index = 0; index < members.length; index++) {
      if (members.charAt(index + 1) === '-' && index + 2 < members.length) {
        found ||= character >= members.charAt(index) && character <= members.charAt(index + 2);
        index += 2;
      } else {
        found ||= character === members.charAt(index);
      }
    }
    return found !== negated;
  };
}

/** The ends of all matches that begin at an offset, in ascending order. */
function endsFrom(text: string, start: number, elements: readonly PatternElement[]): number[] {
  let active = closure(new Set([0]), elements);
  const ends = active.has(elements.length) ? [start] : [];
  for (let at = start; at < text.length && active.size > 0; at++) {
    const next = new Set<number>();
    for (const state of active) {
      const element = elements[state];
      if (element?.kind === 'star') {
        next.add(state);
      } else if (element?.matches(text.charAt(at))) {
        next.add(state + 1);
      }
    }
    active = closure(next, elements);
    if (active.has(elements.length)) {
      ends.push(at + 1);
    }
  }
  return ends;
}

function closure(states: Set<number>, elements: readonly PatternElement[]): Set<number> {
  for (const state of states) {
    if (elements[state]?.kind === 'star') {
      states.add(state + 1);
    }
  }
  return states;
}

/** What a step of matching takes, in characters that are copied. */
const STEP = 10;

/** The work of matching a text with a pattern, as `Shell.spend` counts it. */
export function matchingWork(text: string, pattern: string): number {
  return STEP * Math.min(text.length, MAX_MATCHED) * pattern.length;
}

/** Whether a shell pattern matches a whole text; null where it is too long to say. */
export function matchesGlob(text: string, pattern: string): boolean | null {
  const elements = text.length > MAX_MATCHED ? null : parsePattern(pattern);
  return elements && endsFrom(text, 0, elements).at(-1) === text.length;
}

/**
 * A text without the part that a pattern matches at one end, as `${x#p}`, `${x##p}`, `${x%p}` and `${x%%p}` leave it; null
 * where it is too long to say.
 */
export function removeMatch(text: string, pattern: string, operator: '#' | '##' | '%' | '%%'): string | null {
  const elements = text.length > MAX_MATCHED ? null : parsePattern(pattern);
  if (!elements) {
    return null;
  }
  if (operator.startsWith('#')) {
    const ends = endsFrom(text, 0, elements);
    const end = operator === '#' ? ends[0] : ends.at(-1);
    return text.slice(end ?? 0);
  }
  // the end of a text is the start of the text backwards
  const lengths = endsFrom([...reversed(text)].join(''), 0, elements.toReversed());
  const length = operator === '%' ? lengths[0] : lengths.at(-1);
  return text.slice(0, text.length - (length ?? 0));
}

/** The UTF-16 units of a text from the last to the first. */
function* reversed(text: string): Iterable<string> {
  for (let index = text.length - 1; index >= 0; index--) {
    yield text.charAt(index);
  }
}
