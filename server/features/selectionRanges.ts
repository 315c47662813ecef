import type { Position, SelectionRange } from 'vscode-languageserver';
import { type Checked, childrenOf, entriesIn, type Node, type Span } from '../../layout';
import { entrySpan } from '../locate';
import { feature } from './feature';

export const selectionRangeFeature = feature({ selectionRangeProvider: true }, ({ connection, checked }) => {
  connection.onSelectionRanges(({ textDocument, positions }) => selectionRanges(checked(textDocument.uri), positions));
});

/** What "expand selection" selects around each position: the value, its entry, its map, and so on to the whole file. */
export function selectionRanges({ read, lines, text }: Checked, positions: readonly Position[]): SelectionRange[] {
  return positions.map((position) => {
    const spans = [{ start: 0, end: text.length }, ...spansAround(read.tree.root, lines.offsetAt(position))];
    const start: SelectionRange = { range: lines.rangeOf(spans[0] ?? { start: 0, end: 0 }) };
    return spans.slice(1).reduce<SelectionRange>((parent, span) => ({ range: lines.rangeOf(span), parent }), start);
  });
}

/** The spans that hold an offset, the widest first. */
function* spansAround(node: Node | null, offset: number): Iterable<Span> {
  if (!node || !holds(node.span, offset)) {
    return;
  }
  yield node.span;
  const entry = entriesIn(node).find((one) => holds(entrySpan(one), offset));
  if (entry) {
    yield entrySpan(entry);
    if (holds(entry.keySpan, offset)) {
      yield entry.keySpan;
      return;
    }
  }
  yield* spansAround(childrenOf(node).find(({ span }) => holds(span, offset)) ?? null, offset);
}

function holds({ start, end }: Span, offset: number): boolean {
  return start <= offset && offset <= end;
}
