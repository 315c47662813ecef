import * as vscode from 'vscode';

/** Read-only documents of one scheme, each with the text that it was given last. */
export class KeptTexts implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly #registration: vscode.Disposable;
  readonly onDidChange = this.#changed.event;

  /** @param missing what a document says that has no text, such as one of an earlier session */
  constructor(
    readonly scheme: string,
    readonly missing: string,
  ) {
    this.#registration = vscode.workspace.registerTextDocumentContentProvider(scheme, this);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? this.missing;
  }

  /** Gives the document about a file its text, also where it is shown; returns its address. */
  keep(about: vscode.Uri, path: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: this.scheme, path, query: about.toString() });
    this.#texts.set(uri.toString(), text);
    this.#changed.fire(uri);
    return uri;
  }

  dispose(): void {
    this.#registration.dispose();
    this.#changed.dispose();
  }
}
