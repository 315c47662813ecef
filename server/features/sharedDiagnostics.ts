import type { Connection, Diagnostic } from 'vscode-languageserver';

/** Diagnostics of files to which several features contribute: what is sent of a file replaces all that was sent before. */
export class SharedDiagnostics {
  readonly #found = new Map<string, ReadonlyMap<string, readonly Diagnostic[]>>();
  readonly #sent = new Map<string, string>();

  constructor(readonly connection: Connection) {}

  /** Sets the diagnostics of a feature on a file, and sends those of all features if they have changed. */
  set(feature: string, uri: string, diagnostics: readonly Diagnostic[]): void {
    const all = new Map(this.#found.get(uri)).set(feature, diagnostics);
    const found = [...all.values()].flat();
    const text = JSON.stringify(found);
    if (text !== (this.#sent.get(uri) ?? '[]')) {
      void this.connection.sendDiagnostics({ uri, diagnostics: found });
    }
    if (found.length > 0) {
      this.#found.set(uri, all);
      this.#sent.set(uri, text);
    } else {
      this.#found.delete(uri);
      this.#sent.delete(uri);
    }
  }
}
