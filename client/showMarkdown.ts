import * as vscode from 'vscode';

/** Opens Markdown rendered, or as text where a person has switched off the editor's own Markdown extension. */
export async function showMarkdown(uri: vscode.Uri): Promise<void> {
  try {
    // this starts the Markdown extension; a list of commands lacks those of extensions that have not started
    await vscode.commands.executeCommand('markdown.showPreview', uri);
  } catch {
    await vscode.window.showTextDocument(uri, { preview: true });
  }
}
