import * as vscode from 'vscode';
import { showError } from './notifications';

/**
 * Whether processes may be started: in a trusted workspace only, whatever a menu or a key binding asks for.
 * @param reason what is said where they may not
 */
export function isTrusted(reason: string): boolean {
  if (!vscode.workspace.isTrusted) {
    const manage = vscode.l10n.t('Manage Workspace Trust');
    void showError(reason, manage).then(
      (choice) => choice === manage && vscode.commands.executeCommand('workbench.trust.manage'),
    );
  }
  return vscode.workspace.isTrusted;
}
