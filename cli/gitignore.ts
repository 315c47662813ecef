import { type PatternElement, parsePattern } from '../layout/launch';

/** Comparisons of characters that one search may take for all its patterns together, far beyond any repository. */
const MAX_STEPS = 20_000_000;

/** The work that the patterns of one search have taken. */
export class PatternWork {
  #steps = 0;

  /** Whether patterns still apply; beyond the limit none does, and every file is searched. */
  get isLeft(): boolean {
    return this.#steps < MAX_STEPS;
  }

  spend(steps: number): void {
    this.#steps += steps;
  }
}

/** What one part of a path must be; `**` stands for any number of parts. */
type Part = '**' | readonly PatternElement[];

/** One line of a `.gitignore`. */
interface Pattern {
  readonly parts: readonly Part[];
  readonly isNegated: boolean;
  readonly isForFolders: boolean;
}

/**
 * The patterns of a `.gitignore` (git's gitignore documentation). A path is matched in time that is the product of its length and
 * the pattern's, whatever the pattern is.
 */
export class GitIgnore {
  readonly #patterns: readonly Pattern[];

  constructor(
    text: string,
    readonly work: PatternWork,
  ) {
    this.#patterns = text.split('\n').flatMap(patternOf).toReversed();
  }

  /**
   * Whether the last pattern that matches a path excludes it; null where none does.
   * @param path relative to the folder of the file, with `/` between its parts
   */
  verdict(path: string, isFolder: boolean): boolean | null {
    const parts = path.split('/');
    const found = this.#patterns.find(
      (pattern) => this.work.isLeft && (isFolder || !pattern.isForFolders) && matches(parts, pattern.parts, this.work),
    );
    return found ? !found.isNegated : null;
  }
}

function patternOf(line: string): Pattern[] {
  const trimmed = withoutTrailingBlanks(line.replace(/\r$/, ''));
  if (trimmed === '' || trimmed.startsWith('#')) {
    return [];
  }
  const isNegated = trimmed.startsWith('!');
  const written = isNegated ? trimmed.slice(1) : trimmed;
  const isForFolders = written.endsWith('/');
  const whole = isForFolders ? written.slice(0, -1) : written;
  const parts = whole.replace(/^\//, '').split('/');
  // a pattern without a slash but at its end matches at any depth
  const start = whole.includes('/') ? [] : ['**'];
  const read = [...start, ...parts].map((part): Part | null => (part === '**' ? part : elementsOf(part)));
  return whole === '' || read.includes(null)
    ? []
    : [{ parts: read.flatMap((part) => (part ? [part] : [])), isNegated, isForFolders }];
}

/** Null for what matches nothing: a set without its end, and what is longer than names are. */
function elementsOf(part: string): readonly PatternElement[] | null {
  return /\[[^\]]*$/.test(part.replaceAll('\\[', '')) ? null : parsePattern(part);
}

/** A line without the blanks at its end, but with one that a backslash keeps. */
function withoutTrailingBlanks(line: string): string {
  const bare = line.trimEnd();
  return bare.endsWith('\\') && bare.length < line.length && !bare.endsWith('\\\\') ? `${bare} ` : bare;
}

/** Whether the parts of a pattern match those of a path: all places in the pattern that each part may reach are followed at once. */
function matches(path: readonly string[], pattern: readonly Part[], work: PatternWork): boolean {
  let reached = afterAnyParts(new Set([0]), pattern);
  for (const part of path) {
    const next = new Set<number>();
    for (const at of reached) {
      const wanted = pattern[at];
      if (wanted === '**') {
        next.add(at);
      }
      if (wanted !== undefined && (wanted === '**' ? at === pattern.length - 1 : matchesName(part, wanted, work))) {
        next.add(at + 1);
      }
    }
    reached = afterAnyParts(next, pattern);
  }
  return reached.has(pattern.length);
}

/** Adds the places behind each `**`, which may stand for no part; at the end of a pattern it stands for one or more. */
function afterAnyParts(reached: Set<number>, pattern: readonly Part[]): Set<number> {
  for (const at of reached) {
    if (pattern[at] === '**' && at < pattern.length - 1) {
      reached.add(at + 1);
    }
  }
  return reached;
}

/** Whether a pattern with `*`, `?`, `[...]` and escapes matches a name. Only the last star is tried again, which is enough. */
function matchesName(name: string, pattern: readonly PatternElement[], work: PatternWork): boolean {
  let [at, from, steps] = [0, 0, 0];
  let [afterStar, tried] = [-1, 0];
  while (from < name.length && at >= 0) {
    steps++;
    const element = pattern[at];
    if (element?.kind === 'star') {
      [afterStar, tried] = [++at, from];
    } else if (element?.matches(name.charAt(from))) {
      at++;
      from++;
    } else {
      [at, from] = [afterStar, ++tried];
    }
  }
  work.spend(steps);
  return at >= 0 && pattern.slice(at).every(({ kind }) => kind === 'star');
}
