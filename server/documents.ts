import { TextDocuments } from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { type Checked, check } from '../layout';
import type { Configurations } from './configurations';

/** The language of layouts, as editors are told to name it. */
const LANGUAGE = 'parallelism-layout';

/** A check with an identifier: a client that has its diagnostics already is told so, and they are not sent again. */
export interface Result {
  readonly version: number;
  readonly checked: Checked;
  readonly id: string;
}

/** The open documents, each checked at most once a version: every feature reads the same result. */
export class Documents {
  readonly open = new TextDocuments(TextDocument);
  readonly #results = new Map<string, Result>();
  #checks = 0;
  #isLaunchFile: (document: TextDocument) => boolean = () => false;

  /** @param configurations how the rules weigh for each document */
  constructor(readonly configurations: Configurations) {
    this.open.onDidClose(({ document: { uri } }) => {
      this.#results.delete(uri);
    });
  }

  /** Says which documents are launch files, which the client was asked to send too. */
  setLaunchFiles(isLaunchFile: (document: TextDocument) => boolean): void {
    this.#isLaunchFile = isLaunchFile;
  }

  /** Whether a document is a layout. */
  isLayout(document: TextDocument): boolean {
    return document.languageId === LANGUAGE || !this.#isLaunchFile(document);
  }

  /** The check of a document's present text, or null where the document is not open. */
  checked(uri: string): Checked | null {
    return this.result(uri)?.checked ?? null;
  }

  /** The same with its version and its identifier. */
  result(uri: string): Result | null {
    const document = this.open.get(uri);
    if (!document || !this.isLayout(document)) {
      return null;
    }
    const levels = this.configurations.levels(uri);
    const known = this.#results.get(uri);
    if (known?.version === document.version && known.checked.levels === levels) {
      return known;
    }
    this.#checks++;
    const checked = check(document.getText(), levels);
    const result = { version: document.version, checked, id: `open ${this.#checks}` };
    this.#results.set(uri, result);
    return result;
  }
}
