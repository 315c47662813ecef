import * as vscode from 'vscode';
import { workbenchText } from '../layout';

/**
 * Notifications and progress with text that may quote a layout: VS Code would make a clickable command of
 * `[text](command:...)`. Nothing else in the client may call `vscode.window` for these.
 */

/** What went wrong, for a person. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Shows a notification with buttons; the button that was chosen. */
export function showInformation<T extends string>(message: string, ...buttons: T[]): Thenable<T | undefined> {
  return vscode.window.showInformationMessage(workbenchText(message), ...buttons);
}

/** Shows a warning with buttons; the button that was chosen. */
export function showWarning<T extends string>(message: string, ...buttons: T[]): Thenable<T | undefined> {
  return vscode.window.showWarningMessage(workbenchText(message), ...buttons);
}

/** Shows an error with buttons; the button that was chosen. */
export function showError<T extends string>(message: string, ...buttons: T[]): Thenable<T | undefined> {
  return vscode.window.showErrorMessage(workbenchText(message), ...buttons);
}

/** Asks a question that must be answered first; the button that was chosen. */
export function ask<T extends string>(
  message: string,
  detail: string | undefined,
  ...buttons: T[]
): Thenable<T | undefined> {
  const options = { modal: true, ...(detail !== undefined && { detail: workbenchText(detail) }) };
  return vscode.window.showWarningMessage(workbenchText(message), options, ...buttons);
}

/** Shows progress while a task runs. */
export function withProgress<R>(
  options: vscode.ProgressOptions,
  task: (
    progress: vscode.Progress<{ message?: string; increment?: number }>,
    token: vscode.CancellationToken,
  ) => Thenable<R>,
): Thenable<R> {
  const { title } = options;
  return vscode.window.withProgress(
    { ...options, ...(title !== undefined && { title: workbenchText(title) }) },
    (progress, token) =>
      task(
        {
          report: ({ message, ...step }) =>
            progress.report({ ...step, ...(message !== undefined && { message: workbenchText(message) }) }),
        },
        token,
      ),
  );
}
