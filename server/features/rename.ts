import {
  type DocumentHighlight,
  DocumentHighlightKind,
  type Location,
  LSPErrorCodes,
  type Range,
  ResponseError,
  type TextDocumentPositionParams,
  type WorkspaceEdit,
} from 'vscode-languageserver';
import { type Checked, LANGUAGE_MODULE, type ModuleFacts } from '../../layout';
import { feature } from './feature';

export const renameFeature = feature(
  {
    documentHighlightProvider: true,
    referencesProvider: true,
    renameProvider: { prepareProvider: true },
  },
  ({ connection, checked }) => {
    const at = ({ textDocument: { uri }, position }: TextDocumentPositionParams) => {
      const found = checked(uri);
      return { uri, found, offset: found.lines.offsetAt(position) };
    };
    connection.onDocumentHighlight((params) => {
      const { found, offset } = at(params);
      return moduleHighlights(found, offset);
    });
    connection.onReferences((params) => {
      const { uri, found, offset } = at(params);
      return moduleReferences(uri, found, offset);
    });
    connection.onPrepareRename((params) => {
      const { found, offset } = at(params);
      return renameRange(found, offset);
    });
    connection.onRenameRequest((params) => {
      const { uri, found, offset } = at(params);
      return renameModule(uri, found, offset, params.newName);
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

/** The places that speak of a module: the format names a module in one place only. */
export function moduleReferences(uri: string, checked: Checked, offset: number): Location[] {
  const range = renameRange(checked, offset);
  return range ? [{ uri, range }] : [];
}

/** The places of a module's name to highlight. */
export function moduleHighlights(checked: Checked, offset: number): DocumentHighlight[] {
  const range = renameRange(checked, offset);
  return range ? [{ range, kind: DocumentHighlightKind.Write }] : [];
}
