import type { Span } from '../diagnostic';
import type { LineIndex } from './lines';
import type { Node } from './node';
import { scalarsOf } from './walk';

/** The comments of a file, each from its `#` to the end of its line. A `#` inside a text is none. */
export function commentsOf(text: string, lines: LineIndex, root: Node | null): Span[] {
  const texts = [...scalarsOf(root)].filter(({ source }) => source.includes('#'));
  const comments: Span[] = [];
  let next = 0;
  for (const { index } of text.matchAll(/(?<=^|\s)#/gm)) {
    while (texts[next] && (texts[next]?.span.end ?? 0) <= index) {
      next++;
    }
    const inText = texts[next] !== undefined && (texts[next]?.span.start ?? 0) <= index;
    const inComment = (comments.at(-1)?.end ?? 0) > index;
    if (!inText && !inComment) {
      comments.push({ start: index, end: lines.lineSpan(lines.positionAt(index).line).end });
    }
  }
  return comments;
}
