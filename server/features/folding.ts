import { type FoldingRange, FoldingRangeKind } from 'vscode-languageserver';
import { type Checked, childrenOf, commentsOf, entriesIn, type LineIndex, type Node } from '../../layout';
import { feature } from './feature';

export const foldingFeature = feature({ foldingRangeProvider: true }, ({ connection, checked }) => {
  connection.onFoldingRanges(({ textDocument }) => foldingRanges(checked(textDocument.uri)));
});

/** What can be folded: maps and lists under their keys, and comments of several lines. */
export function foldingRanges(checked: Checked): FoldingRange[] {
  const { root } = checked.read.tree;
  return [...(root ? nodeFolds(root, checked.lines) : []), ...commentFolds(checked)];
}

function* nodeFolds(node: Node, lines: LineIndex): Iterable<FoldingRange> {
  for (const { keySpan, value } of entriesIn(node)) {
    const startLine = lines.positionAt(keySpan.start).line;
    const endLine = lines.positionAt(value.span.end).line;
    if (endLine > startLine) {
      yield { startLine, endLine };
    }
  }
  for (const child of childrenOf(node)) {
    yield* nodeFolds(child, lines);
  }
}

function commentFolds(checked: Checked): FoldingRange[] {
  const { lines, text } = checked;
  const folds: FoldingRange[] = [];
  let start = -2;
  let last = -2;
  const close = () => {
    if (last > start) {
      folds.push({ startLine: start, endLine: last, kind: FoldingRangeKind.Comment });
    }
  };
  for (const comment of commentsOf(checked.text, checked.lines, checked.read.tree.root)) {
    const { line } = lines.positionAt(comment.start);
    const isAlone = text.slice(lines.lineSpan(line).start, comment.start).trim() === '';
    if (!isAlone) {
      continue;
    }
    if (line !== last + 1) {
      close();
      start = line;
    }
    last = line;
  }
  close();
  return folds;
}
