import type { DocumentLink } from 'vscode-languageserver';
import { type Checked, commentsOf, ruleOf, rulePageUrl } from '../../layout';
import { feature } from './feature';

export const documentLinkFeature = feature({ documentLinkProvider: {} }, ({ connection, checked }) => {
  connection.onDocumentLinks(({ textDocument }) => documentLinks(checked(textDocument.uri)));
});

/** Codes of rules that comments name, such as `# tp-crosses-nvlink is wanted here`, as links to their pages. */
export function documentLinks(checked: Checked): DocumentLink[] {
  return commentsOf(checked.text, checked.lines, checked.read.tree.root).flatMap(({ start, end }) =>
    [...checked.text.slice(start, end).matchAll(/(?<![a-z])[a-z]+(?:-[a-z]+)+/g)]
      .filter(([code]) => ruleOf(code) !== undefined)
      .map(({ 0: code, index }) => ({
        range: checked.lines.rangeOf({ start: start + index, end: start + index + code.length }),
        target: rulePageUrl(code),
        tooltip: ruleOf(code)?.title ?? code,
      })),
  );
}
