import type { Connection, Diagnostic } from 'vscode-languageserver';

/** Diagnostics of files to which several features contribute: what is sent of a file replaces all that was sent before. */
export class SharedDiagnostics {
  readonly #found = new Map<string, ReadonlyMap<string, readonly Diagnostic[]>>();

  constructor(readonly connection: Connection) {}

  /** Sets the diagnostics of a feature on all files: those that are left out have none. */
  setAll(feature: string, found: ReadonlyMap<string, readonly Diagnostic[]> = new Map()): void {
    const known = [...this.#found].flatMap(([uri, features]) => (features.has(feature) ? [uri] : []));
    for (const uri of new Set([...known, ...found.keys()])) {
      this.set(feature, uri, found.get(uri) ?? []);
    }
  }

  /** Sets the diagnostics of a feature on a file, and sends those of all features if they have changed. */
  set(feature: string, uri: string, diagnostics: readonly Diagnostic[]): void {
    const before = this.#found.get(uri);
    const all = new Map(before).set(feature, diagnostics);
    const found = [...all.values()].flat();
    if (JSON.stringify(found) !== JSON.stringify([...(before?.values() ?? [])].flat())) {
      void this.connection.sendDiagnostics({ uri, diagnostics: found });
    }
    if (found.length > 0) {
      this.#found.set(uri, all);
    } else {
      this.#found.delete(uri);
    }
  }
}
