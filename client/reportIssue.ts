import * as vscode from 'vscode';

const REPORTER = 'vscode.openIssueReporter';

/** Opens the editor's own issue reporter with the versions that an answer needs; where it takes no text, the page for issues. */
export async function reportIssue({ id, packageJSON }: vscode.Extension<unknown>): Promise<void> {
  const versions = [
    `- Parallelism Layout ${packageJSON.version}`,
    `- ${vscode.env.appName} ${vscode.version} (${vscode.env.appHost}${vscode.env.remoteName ? `, ${vscode.env.remoteName}` : ''})`,
    ...(typeof process === 'undefined'
      ? []
      : [`- ${process.platform} ${process.arch}, Node.js ${process.versions.node}`]),
  ].join('\n');
  const body = `${vscode.l10n.t('What did you do, what did you expect, and what happened? Please paste the layout if you can.')}\n\n\n\n${versions}\n`;
  // in a browser, the reporter opens the page for issues with a text of its own
  const hasReporter =
    vscode.env.uiKind === vscode.UIKind.Desktop && (await vscode.commands.getCommands()).includes(REPORTER);
  await (hasReporter
    ? vscode.commands.executeCommand(REPORTER, { extensionId: id, issueBody: body })
    : // a string: the editor would encode the query of a Uri once more
      vscode.commands.executeCommand('vscode.open', `${packageJSON.bugs.url}/new?body=${encodeURIComponent(body)}`));
}
