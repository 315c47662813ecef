import type { Checked, Span } from '../layout';
import { scalarsOf } from './locate';

/** The comments of a file, each from its `#` to the end of its line. A `#` inside a text is none. */
export function commentsOf({ text, lines, read }: Checked): Span[] {
  const texts = [...scalarsOf(read.tree.root)].filter(({ source }) => source.includes('#'));
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
