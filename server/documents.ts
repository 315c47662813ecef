import { type Connection, TextDocumentSyncKind, TextDocuments } from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { type Checked, check } from '../layout';

/**
 * The open documents, each checked at most once a version: every feature reads the same result.
 */
export class Documents {
  static readonly syncKind = TextDocumentSyncKind.Incremental;
  readonly open = new TextDocuments(TextDocument);
  readonly #results = new Map<string, { readonly version: number; readonly checked: Checked }>();

  constructor() {
    this.open.onDidClose(({ document }) => this.#results.delete(document.uri));
  }

  listen(connection: Connection): void {
    this.open.listen(connection);
  }

  /** The check of a document's present text, or null where the document is not open. */
  checked(uri: string): Checked | null {
    const document = this.open.get(uri);
    if (!document) {
      return null;
    }
    const known = this.#results.get(uri);
    if (known?.version === document.version) {
      return known.checked;
    }
    const checked = check(document.getText());
    this.#results.set(uri, { version: document.version, checked });
    return checked;
  }

  version(uri: string): number | null {
    return this.open.get(uri)?.version ?? null;
  }
}
