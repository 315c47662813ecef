import {
  DocumentHighlightKind,
  LSPErrorCodes,
  type Range,
  ResponseError,
  type TextDocumentPositionParams,
  type WorkspaceEdit,
} from 'vscode-languageserver';
import { type Checked, LANGUAGE_MODULE, type ModuleFacts } from '../../layout';
import { feature } from './feature';

export const renameFeature = feature(
  { documentHighlightProvider: true, referencesProvider: true, renameProvider: { prepareProvider: true } },
  ({ connection, checked }) => {
    const rangeAt = ({ textDocument, position }: TextDocumentPositionParams) => {
      const found = checked(textDocument.uri);
      return renameRange(found, found.lines.offsetAt(position));
    };
    connection.onPrepareRename(rangeAt);
    connection.onDocumentHighlight((params) => {
      const range = rangeAt(params);
      return range && [{ range, kind: DocumentHighlightKind.Write }];
    });
    // the format names a module in one place only
    connection.onReferences((params) => {
      const range = rangeAt(params);
      return range && [{ uri: params.textDocument.uri, range }];
    });
    connection.onRenameRequest(({ textDocument: { uri }, position, newName }) => {
      const found = checked(uri);
      return renameModule(uri, found, found.lines.offsetAt(position), newName);
    });
  },
);

/** The module whose name an offset touches. */
function moduleNamed({ facts }: Checked, offset: number): (ModuleFacts & { name: string }) | undefined {
  return facts?.modules.find(
    (module): module is ModuleFacts & { name: string } =>
      module.name !== null && module.nameSpan.start <= offset && offset <= module.nameSpan.end,
  );
}

/** The range of the module name that a rename at an offset would change; null where there is none. */
export function renameRange(checked: Checked, offset: number): Range | null {
  const module = moduleNamed(checked, offset);
  return module ? checked.lines.rangeOf(module.nameSpan) : null;
}

/**
 * Renames a module.
 * @throws ResponseError with the reason where the new name cannot be, for the editor to show
 */
export function renameModule(uri: string, checked: Checked, offset: number, newName: string): WorkspaceEdit | null {
  const module = moduleNamed(checked, offset);
  if (!module) {
    return null;
  }
  const refuse = (message: string) => new ResponseError(LSPErrorCodes.RequestFailed, message);
  if (!/^[A-Za-z_][\w.-]*$/.test(newName)) {
    throw refuse(`'${newName}' cannot name a module: use letters, digits, '_', '.' and '-'.`);
  }
  if (checked.facts?.modules.some((other) => other !== module && other.name === newName)) {
    throw refuse(`There is a module '${newName}' already.`);
  }
  if (module.name === LANGUAGE_MODULE && newName !== LANGUAGE_MODULE) {
    throw refuse(`Exactly one module must be named '${LANGUAGE_MODULE}': give another one this name first.`);
  }
  return { changes: { [uri]: [{ range: checked.lines.rangeOf(module.nameSpan), newText: newName }] } };
}
