import * as vscode from 'vscode';

/** Files that are nowhere but here: what a virtual workspace is made of. */
export class MemoryFiles implements vscode.FileSystemProvider {
  readonly #files = new Map<string, Uint8Array>();
  readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.#changed.event;

  write(uri: vscode.Uri, text: string): void {
    this.#files.set(uri.path, new TextEncoder().encode(text));
  }

  read(uri: vscode.Uri): string {
    return new TextDecoder().decode(this.readFile(uri));
  }

  readFile(uri: vscode.Uri): Uint8Array {
    const content = this.#files.get(uri.path);
    if (!content) {
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    return content;
  }

  writeFile(uri: vscode.Uri, content: Uint8Array): void {
    this.#files.set(uri.path, content);
    this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    return { type: vscode.FileType.File, ctime: 0, mtime: 0, size: this.readFile(uri).length };
  }

  readDirectory(uri: vscode.Uri): [string, vscode.FileType][] {
    const inside = [...this.#files.keys()].filter((path) => path.startsWith(`${uri.path}/`));
    return inside.map((path) => [path.slice(uri.path.length + 1), vscode.FileType.File]);
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => {});
  }

  createDirectory(): void {}

  delete(uri: vscode.Uri): void {
    this.#files.delete(uri.path);
  }

  rename(from: vscode.Uri, to: vscode.Uri): void {
    this.writeFile(to, this.readFile(from));
    this.delete(from);
  }
}
