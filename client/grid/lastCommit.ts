import * as vscode from 'vscode';

/** The part of the built-in git extension's interface (version 1) that is used here. */
interface GitApi {
  getRepository(uri: vscode.Uri): Repository | null;
  openRepository?(root: vscode.Uri): Promise<Repository | null>;
}

interface Repository {
  show(ref: string, path: string): Promise<string>;
}

interface GitExtension {
  readonly enabled: boolean;
  getAPI(version: 1): GitApi;
}

/**
 * The text of a file in the last commit, by the editor's own git extension.
 * @throws Error where there is no such extension, no repository, or no commit of the file
 */
export async function textInLastCommit(uri: vscode.Uri): Promise<string> {
  const extension = vscode.extensions.getExtension<GitExtension>('vscode.git');
  const git = extension && (await extension.activate());
  if (!git?.enabled) {
    throw new Error(vscode.l10n.t('The git extension of this editor is not there, or is turned off.'));
  }
  const api = git.getAPI(1);
  const repository = api.getRepository(uri) ?? (await api.openRepository?.(vscode.Uri.joinPath(uri, '..')));
  if (!repository) {
    throw new Error(vscode.l10n.t('This file is in no git repository.'));
  }
  try {
    return await repository.show('HEAD', uri.fsPath);
  } catch {
    throw new Error(vscode.l10n.t('The last commit does not have this file.'));
  }
}
