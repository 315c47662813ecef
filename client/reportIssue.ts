import * as vscode from 'vscode';
import { showError } from './notifications';

/** Opens the editor's own issue reporter with the versions that an answer needs; where it has none, the page for issues. */
export async function reportIssue({ id, packageJSON }: vscode.Extension<unknown>): Promise<void> {
  const versions = [
    `- Parallelism Layout ${packageJSON.version}`,
    `- ${vscode.env.appName} ${vscode.version} (${vscode.env.appHost}${vscode.env.remoteName ? `, ${vscode.env.remoteName}` : ''})`,
    ...(typeof process === 'undefined'
      ? []
      : [`- ${process.platform} ${process.arch}, Node.js ${process.versions.node}`]),
  ].join('\n');
  const body = `${vscode.l10n.t('What did you do, what did you expect, and what happened? Please paste the layout if you can.')}\n\n\n\n${versions}\n`;
  try {
    await vscode.commands.executeCommand('vscode.openIssueReporter', { extensionId: id, issueBody: body });
  } catch {
    const page = vscode.Uri.parse(`${packageJSON.bugs?.url}/new`).with({ query: `body=${encodeURIComponent(body)}` });
    if (!(await vscode.env.openExternal(page))) {
      void showError(vscode.l10n.t('Report issues at {0}.', String(packageJSON.bugs?.url)));
    }
  }
}
