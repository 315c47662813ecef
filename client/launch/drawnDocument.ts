import * as vscode from 'vscode';
import { addressOf, LANGUAGE, layoutDocument } from '../layoutDocument';
import { showError } from '../notifications';
import { chooseJob, readLaunchFile } from './read';
import { addressOfLaunch } from './scriptLayouts';

/** The layout that a picture is wanted of: as `layoutDocument` finds it, or that of the launch file which is named or active. */
export async function drawnDocument(argument: unknown): Promise<vscode.TextDocument | undefined> {
  const named = addressOf(argument);
  const document = named ? await vscode.workspace.openTextDocument(named) : vscode.window.activeTextEditor?.document;
  if (!document || document.languageId === LANGUAGE) {
    return layoutDocument(argument);
  }
  const reading = await readLaunchFile(document.uri);
  if (typeof reading !== 'string') {
    const launch = await chooseJob({ uri: document.uri, reading });
    return launch ? vscode.workspace.openTextDocument(addressOfLaunch(launch.uri, launch.job)) : undefined;
  }
  if (named) {
    void showError(reading);
    return undefined;
  }
  return layoutDocument(argument);
}
