import * as vscode from 'vscode';
import { TracebackFolder } from '../../jobs';

/** How many lines of a run are kept; the first go first. */
const MAX_LINES = 5000;

/** What one job and its ranks write, in a terminal that opens on request; tracebacks are shortened there. */
export class JobLog implements vscode.Disposable {
  readonly #written = new vscode.EventEmitter<string>();
  readonly #lines: string[];
  #terminal: vscode.Terminal | undefined;
  #folder = new TracebackFolder();

  /** @param name of the terminal */
  constructor(
    readonly name: string,
    lines: readonly string[] = [],
  ) {
    this.#lines = [...lines];
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  line(text: string): void {
    // what ranks write may hold control sequences; only colours could be wanted, and they are not
    const plain = text.replaceAll(/[^\P{Cc}\t]/gu, '');
    this.#lines.push(plain);
    if (this.#lines.length > MAX_LINES) {
      this.#lines.shift();
    }
    this.#show(plain);
  }

  #show(line: string): void {
    const shown = this.#folder.fold(line);
    if (shown !== null) {
      this.#written.fire(`${coloured(shown)}\r\n`);
    }
  }

  show(): void {
    this.#terminal ??= vscode.window.createTerminal({
      name: this.name,
      iconPath: new vscode.ThemeIcon('beaker'),
      isTransient: true,
      pty: {
        onDidWrite: this.#written.event,
        open: () => {
          this.#folder = new TracebackFolder();
          for (const line of this.#lines) {
            this.#show(line);
          }
        },
        close: () => {
          this.#terminal = undefined;
        },
      },
    });
    this.#terminal.show();
  }

  dispose(): void {
    this.#terminal?.dispose();
    this.#written.dispose();
  }
}

/** The verdicts of the job in the terminal's own colours; they never carry meaning alone. */
function coloured(line: string): string {
  const colour = /^(?:FAULT|FAILED)\b/.test(line) ? 31 : /^passed after\b/.test(line) ? 32 : 0;
  return colour === 0 ? line : `\u001b[${colour}m${line}\u001b[0m`;
}
