import * as vscode from 'vscode';
import { addressOf, LANGUAGE, layoutDocument } from '../layoutDocument';
import { showError } from '../notifications';
import { mayStartJob } from './lenses';
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

/** Where a layout that is edited may lie; texts of other schemes are shown beside one. */
const EDITED = ['file', 'untitled', 'vscode-remote', 'vscode-vfs', 'vscode-test-web'];

/**
 * The layout that a panel draws which follows the editor: the document itself, or that of the one job which a launch script starts.
 * Undefined for anything else: nothing is asked.
 */
export async function followedDocument(document: vscode.TextDocument): Promise<vscode.TextDocument | undefined> {
  if (!EDITED.includes(document.uri.scheme)) {
    return undefined;
  }
  if (document.languageId === LANGUAGE) {
    return document;
  }
  const reading = mayStartJob(document) ? await readLaunchFile(document.uri) : '';
  const isOne = typeof reading !== 'string' && reading.trains && reading.jobs.length === 0;
  const isDrawn = isOne && reading.values.some(({ key, value }) => key === 'world_size' && typeof value === 'number');
  return isDrawn ? vscode.workspace.openTextDocument(addressOfLaunch(document.uri)) : undefined;
}
