import * as vscode from 'vscode';
import { workbenchText } from '../../layout';
import type { ImportOptions, LaunchReading } from '../../layout/launch';
import { showError } from '../notifications';
import { nameOf } from '../paths';
import { currentText } from '../readText';

/** The engine that reads launch files; it is loaded when it is first needed. */
export const engine = () => import('../../layout/launch');

/** How many names a message lists. */
const MAX_LISTED = 5;

/** A launch file with what was read of it. */
export interface Launch {
  readonly uri: vscode.Uri;
  readonly reading: LaunchReading;
  /** The job of the file that was read, where a person chose one of several. */
  readonly job?: string | undefined;
}

/** Asks for launch files; none where the question is cancelled. */
export async function chooseLaunchFiles(near?: vscode.Uri): Promise<readonly vscode.Uri[]> {
  const files = await vscode.window.showOpenDialog({
    title: vscode.l10n.t('Choose launch scripts, recipes, configurations or logs'),
    openLabel: vscode.l10n.t('Read'),
    canSelectMany: true,
    ...(near && near.scheme !== 'untitled' && { defaultUri: vscode.Uri.joinPath(near, '..') }),
  });
  return files ?? [];
}

/** Reads launch files as the editor has them; says of each that cannot be read why. */
export async function readLaunchFiles(uris: readonly vscode.Uri[]): Promise<readonly Launch[]> {
  const read: Launch[] = [];
  for (const uri of uris) {
    const reading = await readLaunchFile(uri);
    if (typeof reading === 'string') {
      void showError(reading);
    } else {
      read.push({ uri, reading });
    }
  }
  return read;
}

/** Reads a launch file and the files that it names in its workspace folder; or a sentence that says why it cannot. */
export async function readLaunchFile(uri: vscode.Uri, options: ImportOptions = {}): Promise<LaunchReading | string> {
  const { LAUNCH_LIMITS, readLaunch } = await engine();
  const root = vscode.workspace.getWorkspaceFolder(uri)?.uri ?? vscode.Uri.joinPath(uri, '..');
  const isInside = (path: string) => path.startsWith(root.path.endsWith('/') ? root.path : `${root.path}/`);
  // a person chose the file itself, wherever it is
  const read = async (path: string, most: number) =>
    path === uri.path ? currentText(uri, most) : isInside(path) ? currentText(uri.with({ path }), most, root) : null;
  const reading = await readLaunch(uri.path, read, LAUNCH_LIMITS, options);
  if (!reading) {
    return vscode.l10n.t('{0} cannot be read: it is missing, larger than 16 MiB, or no text.', nameOf(uri));
  }
  return reading.family === null ? vscode.l10n.t('{0} starts no training job that can be read.', nameOf(uri)) : reading;
}

/**
 * The jobs of a launch file that starts several, each read by itself.
 * @param most how many
 * @param options how the file was read
 */
export async function jobsIn({ uri, reading }: Launch, most: number, options: ImportOptions = {}): Promise<Launch[]> {
  const read = reading.jobs.slice(0, most).map(async (job) => {
    const one = await readLaunchFile(uri, { ...options, job });
    return typeof one === 'string' ? [] : [{ uri, reading: one, job }];
  });
  return (await Promise.all(read)).flat();
}

/** How many jobs of a file are offered. */
const MAX_JOBS = 20;

/**
 * Asks which of the jobs of a launch file is meant, where it starts several; null where the question is cancelled.
 * @param options how the file was read
 */
export async function chooseJob(launch: Launch, options: ImportOptions = {}): Promise<Launch | null> {
  const { uri, reading } = launch;
  if (reading.jobs.length === 0) {
    return launch;
  }
  const items = (await jobsIn(launch, MAX_JOBS, options)).map((one) => ({
    label: workbenchText(vscode.l10n.t('Job {0}', one.job ?? '')),
    description: degreesOf(one.reading),
    launch: one,
  }));
  const all = { label: vscode.l10n.t('Import without choosing'), description: degreesOf(reading), launch };
  const chosen = await vscode.window.showQuickPick([...items, all], {
    placeHolder: vscode.l10n.t('{0} describes {1} jobs. Which one?', nameOf(uri), reading.jobs.length),
  });
  return chosen?.launch ?? null;
}

/** The world and the degrees above 1, as far as they are known: `16 ranks · tp 4 · pp 2`. */
export function degreesOf({ values }: LaunchReading): string {
  const numbers = new Map(values.flatMap(({ key, value }) => (typeof value === 'number' ? [[key, value]] : [])));
  const ranks = numbers.get('world_size');
  const degrees = (['tp', 'pp', 'cp', 'ep'] as const).flatMap((name) => {
    const degree = numbers.get(`parallelism.${name}`) ?? 1;
    return degree > 1 ? [`${name} ${degree}`] : [];
  });
  return [...(ranks === undefined ? [] : [vscode.l10n.t('{0} ranks', ranks)]), ...degrees].join(' · ');
}

/** A file's path as a layout names it: relative to the layout's folder. */
export function relativePath(layout: vscode.Uri, file: string): string {
  const from = layout.path.split('/').slice(0, -1);
  const to = file.split('/');
  const common = from.findIndex((part, i) => part !== to[i]);
  const shared = common < 0 ? from.length : common;
  // a path that shares no folder but the root says more as a whole
  return shared <= 1 ? file : [...from.slice(shared).map(() => '..'), ...to.slice(shared)].join('/');
}

/** Names as a message lists them: the first ones, and how many more there are. */
export function listOf(names: readonly string[]): string {
  const more = names.length - MAX_LISTED;
  const shown = names.slice(0, MAX_LISTED).join(', ');
  return more > 0 ? vscode.l10n.t('{0} and {1} more', shown, more) : shown;
}
