import { type DocumentSymbol, SymbolKind } from 'vscode-languageserver';
import { type Checked, type Entry, entriesIn, type LineIndex, visible } from '../../layout';
import { entrySpan } from '../locate';
import { feature } from './feature';

export const documentSymbolFeature = feature({ documentSymbolProvider: true }, ({ connection, checked }) => {
  connection.onDocumentSymbol(({ textDocument }) => documentSymbols(checked(textDocument.uri)));
});

/** The most of a value that an outline shows. */
const MAX_DETAIL = 60;

/** The outline of a file: its keys with their values, module by module. */
export function documentSymbols({ read, lines }: Checked): DocumentSymbol[] {
  const { root } = read.tree;
  return root ? entriesIn(root).map((entry) => symbolOf(entry, lines, [])) : [];
}

function symbolOf(entry: Entry, lines: LineIndex, path: readonly string[]): DocumentSymbol {
  const { key, keySpan, value } = entry;
  const isModule = path.length === 1 && path[0] === 'modules';
  return {
    // an outline refuses symbols without a name
    name: key.trim() === '' ? '""' : visible(key),
    kind: isModule ? SymbolKind.Module : value.kind === 'map' ? SymbolKind.Namespace : kindOf(entry),
    ...(value.kind === 'scalar' && { detail: visible(value.source.slice(0, MAX_DETAIL)) }),
    range: lines.rangeOf(entrySpan(entry)),
    selectionRange: lines.rangeOf(keySpan),
    children: entriesIn(value).map((child) => symbolOf(child, lines, [...path, key])),
  };
}

function kindOf({ value }: Entry): SymbolKind {
  if (value.kind === 'list') {
    return SymbolKind.Array;
  }
  const type = value.kind === 'scalar' ? typeof value.value : 'string';
  return type === 'number' || type === 'bigint'
    ? SymbolKind.Number
    : type === 'boolean'
      ? SymbolKind.Boolean
      : SymbolKind.String;
}
