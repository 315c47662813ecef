import * as vscode from 'vscode';

const SETTING = 'parallelismLayout.trace.server';

/**
 * The output channel of the messages between the editor and the server. The language client traces where its channel's log level
 * says so, so the level follows the setting. The channel is created when it is first written to.
 */
export function traceChannel(): vscode.LogOutputChannel {
  const name = vscode.l10n.t('Parallelism Layout Trace');
  const levelChanged = new vscode.EventEmitter<vscode.LogLevel>();
  let channel: vscode.OutputChannel | undefined;
  const open = () => {
    channel ??= vscode.window.createOutputChannel(name);
    return channel;
  };
  const write = (text: string | Error) => open().appendLine(String(text));
  const levelOf = () =>
    vscode.workspace.getConfiguration().get<string>(SETTING, 'off') === 'off'
      ? vscode.LogLevel.Off
      : vscode.LogLevel.Trace;
  const listener = vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration(SETTING)) {
      levelChanged.fire(levelOf());
    }
  });
  return {
    name,
    get logLevel() {
      return levelOf();
    },
    onDidChangeLogLevel: levelChanged.event,
    trace: write,
    debug: write,
    info: write,
    warn: write,
    error: write,
    appendLine: write,
    append: (text) => open().append(text),
    replace: (text) => open().replace(text),
    clear: () => channel?.clear(),
    show: () => open().show(true),
    hide: () => channel?.hide(),
    dispose: () => vscode.Disposable.from(listener, levelChanged, ...(channel ? [channel] : [])).dispose(),
  };
}
