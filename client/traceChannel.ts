import * as vscode from 'vscode';

const SETTING = 'parallelismLayout.trace.server';

/**
 * The output channel of the messages between the editor and the server. The language client traces where its channel's log level
 * says so, so the level follows the setting. The channel is created when it is first written to.
 */
export class TraceChannel implements vscode.LogOutputChannel {
  readonly name = vscode.l10n.t('Parallelism Layout Trace');
  readonly #levelChanged = new vscode.EventEmitter<vscode.LogLevel>();
  readonly onDidChangeLogLevel = this.#levelChanged.event;
  readonly #listener = vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration(SETTING)) {
      this.#levelChanged.fire(this.logLevel);
    }
  });
  #channel: vscode.OutputChannel | undefined;

  get logLevel(): vscode.LogLevel {
    const wanted = vscode.workspace.getConfiguration().get<string>(SETTING, 'off');
    return wanted === 'off' ? vscode.LogLevel.Off : vscode.LogLevel.Trace;
  }

  trace(message: string): void {
    this.appendLine(message);
  }

  debug(message: string): void {
    this.appendLine(message);
  }

  info(message: string): void {
    this.appendLine(message);
  }

  warn(message: string): void {
    this.appendLine(message);
  }

  error(error: string | Error): void {
    this.appendLine(String(error));
  }

  append(value: string): void {
    this.#open().append(value);
  }

  appendLine(value: string): void {
    this.#open().appendLine(value);
  }

  replace(value: string): void {
    this.#open().replace(value);
  }

  clear(): void {
    this.#channel?.clear();
  }

  show(): void {
    this.#open().show(true);
  }

  hide(): void {
    this.#channel?.hide();
  }

  dispose(): void {
    this.#listener.dispose();
    this.#levelChanged.dispose();
    this.#channel?.dispose();
  }

  #open(): vscode.OutputChannel {
    this.#channel ??= vscode.window.createOutputChannel(this.name);
    return this.#channel;
  }
}
