import type { Diagnostic, Span } from '../diagnostic';
import type { DiagnosticData } from './diagnosticOutput';

/** A zero-based line and a zero-based character in UTF-16 units, as the Language Server Protocol counts. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

/** A half-open range of positions. */
export interface Range {
  readonly start: Position;
  readonly end: Position;
}

/** Turns offsets of one text into positions and back. Lines end with LF, CRLF or a lone CR. */
export class LineIndex {
  readonly #starts: readonly number[];

  constructor(readonly text: string) {
    this.#starts = lineStarts(text);
  }

  /** The number of lines; an empty text has one. */
  get count(): number {
    return this.#starts.length;
  }

  /** The position of an offset; offsets beyond the text are clamped to its end. */
  positionAt(offset: number): Position {
    const at = Math.max(0, Math.min(offset, this.text.length));
    const line = firstBeyond(this.#starts, at) - 1;
    return { line, character: at - this.#start(line) };
  }

  /** The offset of a position; characters beyond a line's end are clamped to its end. */
  offsetAt(position: Position): number {
    if (position.line >= this.count) {
      return this.text.length;
    }
    const line = this.lineSpan(Math.max(0, position.line));
    return Math.min(line.start + Math.max(0, position.character), line.end);
  }

  /** The span of a line without its line break. */
  lineSpan(line: number): Span {
    const start = this.#start(line);
    let end = line + 1 < this.count ? this.#start(line + 1) : this.text.length;
    while (end > start && (this.text.charCodeAt(end - 1) === 10 || this.text.charCodeAt(end - 1) === 13)) {
      end--;
    }
    return { start, end };
  }

  /** The range of a span. */
  rangeOf(span: Span): Range {
    return { start: this.positionAt(span.start), end: this.positionAt(span.end) };
  }

  #start(line: number): number {
    return this.#starts[line] ?? this.text.length;
  }
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 10 || (unit === 13 && text.charCodeAt(i + 1) !== 10)) {
      starts.push(i + 1);
    }
  }
  return starts;
}

/** The index of the first of sorted numbers that is greater than another; their count where none is. */
function firstBeyond(sorted: readonly number[], limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) > limit) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/** Turns a diagnostic's offsets into positions of `lines`. */
export function diagnosticData(diagnostic: Diagnostic, lines: LineIndex): DiagnosticData {
  return {
    code: diagnostic.code,
    severity: diagnostic.severity,
    message: diagnostic.message,
    range: lines.rangeOf(diagnostic.span),
    related: diagnostic.related.map(({ message, span }) => ({ message, range: lines.rangeOf(span) })),
    predicts: diagnostic.predicts,
    speaker: diagnostic.speaker,
    fixes: diagnostic.fixes.map(({ title, edits }) => ({
      title,
      edits: edits.map(({ span, newText }) => ({ range: lines.rangeOf(span), newText })),
    })),
  };
}
