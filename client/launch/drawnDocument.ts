import * as vscode from 'vscode';
import { addressOf, LANGUAGE, layoutDocument } from '../layoutDocument';
import { showError } from '../notifications';
import { isDrawable, jobsOf } from './lenses';
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
 * The layout that a panel draws which follows the editor: the document itself, or that of the job at the cursor of a launch script, which is
 * the last one that starts above it. Undefined for anything else: nothing is asked.
 */
export async function followedDocument({
  document,
  selection,
}: vscode.TextEditor): Promise<vscode.TextDocument | undefined> {
  if (!EDITED.includes(document.uri.scheme)) {
    return undefined;
  }
  if (document.languageId === LANGUAGE) {
    return document;
  }
  const jobs = (await lastJobs(document)).filter(({ reading }) => isDrawable(reading));
  const end = document.offsetAt(document.lineAt(Math.min(selection.active.line, document.lineCount - 1)).range.end);
  const above = jobs.findLast(
    ({ reading: { command } }) => command?.file === document.uri.path && command.offset <= end,
  );
  const followed = above ?? jobs[0];
  return followed && vscode.workspace.openTextDocument(addressOfLaunch(document.uri, followed.job));
}

/** The jobs of each script, of its last version: a cursor that moves reads nothing anew. */
const known = new WeakMap<
  vscode.TextDocument,
  { readonly version: number; readonly jobs: ReturnType<typeof jobsOf> }
>();

function lastJobs(document: vscode.TextDocument): ReturnType<typeof jobsOf> {
  const { version } = document;
  const last = known.get(document);
  const jobs = last?.version === version ? last.jobs : jobsOf(document);
  known.set(document, { version, jobs });
  return jobs;
}
