import * as vscode from 'vscode';

/** The command of the editor's own Markdown extension, which a person may have switched off. */
const PREVIEW = 'markdown.showPreview';

/** Opens Markdown rendered, or as text where the editor does not render it. */
export async function showMarkdown(uri: vscode.Uri): Promise<void> {
  if ((await vscode.commands.getCommands(true)).includes(PREVIEW)) {
    await vscode.commands.executeCommand(PREVIEW, uri);
  } else {
    await vscode.window.showTextDocument(uri, { preview: true });
  }
}
