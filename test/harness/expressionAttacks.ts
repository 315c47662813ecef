/**
 * Texts on which a regular expression is slow if it can be: for each part that repeats, what leads there, many repetitions of
 * each thing that it takes, and an end that does not match.
 */

/** A piece of an expression: what it may match, as examples, and the pieces of which it consists. */
interface Piece {
  readonly alternatives: readonly (readonly Piece[])[];
  /** Examples of a single character or of a back reference; null for a group. */
  readonly examples: readonly string[] | null;
  readonly repeats: boolean;
}

/** More examples of one part tell no more. */
const MAX_EXAMPLES = 4;

const CLASSES: Readonly<Record<string, readonly string[]>> = {
  d: ['1'],
  w: ['a', '_', '1'],
  s: [' ', '\t', '\n'],
  D: ['a', '-'],
  W: ['-', ' '],
  S: ['a', '-'],
  b: [''],
  B: [''],
  n: ['\n'],
  r: ['\r'],
  t: ['\t'],
  '0': ['\0'],
};

/** Characters of which a class or a dot may hold some, tried one after the other. */
const TRIED = 'a1_- .,:;=/"\'#()[]{}$@*+\\\n\tA\u0001\u{1f642}';

/** Attacks of at most `length` characters on an expression. */
export function attacksOn(pattern: string, flags: string, length: number): readonly string[] {
  const pieces = new ExpressionReader(pattern, flags).read();
  const attacks = new Set<string>();
  pump(pieces, '', length, attacks);
  return [...attacks];
}

function pump(pieces: readonly (readonly Piece[])[], before: string, length: number, attacks: Set<string>): void {
  for (const sequence of pieces) {
    let lead = before;
    for (const [at, piece] of sequence.entries()) {
      if (piece.repeats) {
        // what the next pieces take as well makes them compete
        const units = [...examplesOf(piece), ...sequence.slice(at + 1, at + 3).flatMap(examplesOf)];
        for (const unit of new Set(units)) {
          add(attacks, lead, unit, length);
        }
      }
      pump(piece.alternatives, lead, length, attacks);
      lead += examplesOf(piece)[0] ?? '';
    }
  }
}

function add(attacks: Set<string>, lead: string, unit: string, length: number): void {
  if (unit === '' || lead.length > length / 2) {
    return;
  }
  attacks.add(`${lead}${unit.repeat((length - lead.length) / unit.length)}\u0001`);
  attacks.add(`${(lead + unit).repeat(length / (lead + unit).length)}\n!`);
}

function examplesOf(piece: Piece): readonly string[] {
  return (
    piece.examples ??
    piece.alternatives
      .map((sequence) => sequence.map((one) => examplesOf(one)[0] ?? '').join(''))
      .slice(0, MAX_EXAMPLES)
  );
}

/** Reads an expression, as far as attacks need it. */
class ExpressionReader {
  #at = 0;

  constructor(
    private readonly pattern: string,
    private readonly flags: string,
  ) {}

  read(): readonly (readonly Piece[])[] {
    const alternatives: Piece[][] = [[]];
    while (this.#at < this.pattern.length && this.pattern[this.#at] !== ')') {
      if (this.pattern[this.#at] === '|') {
        this.#at++;
        alternatives.push([]);
        continue;
      }
      const piece = this.#piece();
      alternatives.at(-1)?.push({ ...piece, repeats: this.#repeats() });
    }
    return alternatives;
  }

  #piece(): Omit<Piece, 'repeats'> {
    const character = this.pattern[this.#at] ?? '';
    if (character === '(') {
      return this.#group();
    }
    const end = character === '[' ? this.#endOfClass() : character === '\\' ? this.#endOfEscape() : this.#at + 1;
    const source = this.pattern.slice(this.#at, end);
    this.#at = end;
    return { alternatives: [], examples: this.#examples(source) };
  }

  #group(): Omit<Piece, 'repeats'> {
    const opening = /^\((\?(<?[=!]|:|<\w+>|[a-z-]+:))?/.exec(this.pattern.slice(this.#at))?.[0] ?? '(';
    this.#at += opening.length;
    const alternatives = this.read();
    this.#at++;
    // what looks ahead or behind takes nothing, but is attacked as well
    return { alternatives, examples: /^\(\?<?[=!]/.test(opening) ? [''] : null };
  }

  #examples(source: string): readonly string[] {
    const known = source.startsWith('\\') ? CLASSES[source.slice(1)] : undefined;
    if (known || source === '^' || source === '$') {
      return known ?? [''];
    }
    if (/^\\([1-9]|k<)/.test(source)) {
      return ["'"];
    }
    const single = new RegExp(`^(?:${source})$`, this.flags.replaceAll(/[gyd]/g, ''));
    const literal = source.replace(/^\\/, '');
    const all = [...literal, ...TRIED].filter((one) => single.test(one));
    return [...new Set(all)].slice(0, MAX_EXAMPLES);
  }

  #repeats(): boolean {
    const [quantifier, , most] = /^(?:[*+?]|\{\d+(,(\d*))?\})\??/.exec(this.pattern.slice(this.#at)) ?? [''];
    this.#at += quantifier.length;
    return /^[*+]/.test(quantifier) || (quantifier.includes(',') && (most === '' || Number(most) > 50));
  }

  #endOfClass(): number {
    let at = this.#at + 1;
    while (this.pattern[at] !== ']') {
      at += this.pattern[at] === '\\' ? 2 : 1;
    }
    return at + 1;
  }

  #endOfEscape(): number {
    const found = /^\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u.{4}|x..|k<\w+>|.)/s.exec(this.pattern.slice(this.#at))?.[0];
    return this.#at + (found?.length ?? 1);
  }
}
