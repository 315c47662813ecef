import * as vscode from 'vscode';
import type { Summary } from '../server/messages';
import type { Server } from './languageClient';

/** The status of the language server and of the layout in the active editor. */
export function createStatus(server: Server): vscode.Disposable {
  const item = vscode.languages.createLanguageStatusItem('parallelismLayout.status', {
    language: 'parallelism-layout',
  });
  item.name = 'Parallelism Layout';
  const update = () => show(item, server);
  update();
  return vscode.Disposable.from(item, server.onDidChange(update), vscode.window.onDidChangeActiveTextEditor(update));
}

function show(item: vscode.LanguageStatusItem, server: Server): void {
  item.busy = server.state === 'starting';
  if (server.state === 'stopped') {
    item.text = vscode.l10n.t('$(error) Layouts are not checked');
    item.severity = vscode.LanguageStatusSeverity.Error;
    item.command = { command: 'parallelismLayout.restartServer', title: vscode.l10n.t('Restart') };
    return;
  }
  item.command = { command: 'parallelismLayout.showGrid', title: vscode.l10n.t('Show Rank Grid') };
  const document = vscode.window.activeTextEditor?.document;
  const summary = document && server.summary(document);
  if (!summary) {
    item.text = 'Parallelism Layout';
    item.severity = vscode.LanguageStatusSeverity.Information;
    return;
  }
  item.text = `$(layout) ${ranksText(summary.ranks)}`;
  item.detail = diagnosticsText(summary);
  item.severity =
    summary.errors > 0
      ? vscode.LanguageStatusSeverity.Error
      : summary.warnings > 0
        ? vscode.LanguageStatusSeverity.Warning
        : vscode.LanguageStatusSeverity.Information;
}

function ranksText(ranks: number | null): string {
  return ranks === null
    ? vscode.l10n.t('ranks unknown')
    : counted(ranks, vscode.l10n.t('1 rank'), (many) => vscode.l10n.t('{0} ranks', many));
}

function diagnosticsText({ errors, warnings }: Summary): string {
  const parts = [
    ...(errors > 0 ? [counted(errors, vscode.l10n.t('1 error'), (many) => vscode.l10n.t('{0} errors', many))] : []),
    ...(warnings > 0
      ? [counted(warnings, vscode.l10n.t('1 warning'), (many) => vscode.l10n.t('{0} warnings', many))]
      : []),
  ];
  return parts.length === 0 ? vscode.l10n.t('no problems') : parts.join(', ');
}

function counted(count: number, one: string, many: (count: string) => string): string {
  return count === 1 ? one : many(count.toLocaleString(vscode.env.language));
}
