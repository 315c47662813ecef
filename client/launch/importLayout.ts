import * as vscode from 'vscode';
import type { ObservedRun } from '../../jobs';
import { CancellableTasks } from '../cancellableTasks';
import { command } from '../command';
import { emptyLayout, LANGUAGE } from '../layoutDocument';
import { reach } from '../milestones';
import { ask, messageOf, showError, showInformation } from '../notifications';
import { nameOf } from '../paths';
import type { ObserveScript, Platform } from '../platform/platform';
import { isTrusted } from '../trust';
import { addressBeside, openUnsavedAt } from '../unsavedLayout';
import { replaceLayout } from './edits';
import { chooseJob, chooseLaunchFiles, engine, type Launch, listOf, readLaunchFile, relativePath } from './read';

/** A layout that was opened, with the text that was written into it. */
interface Opened {
  readonly document: vscode.TextDocument;
  readonly text: string;
}

/** Registers the commands that make layouts of launch files, from their texts or by running them with recording stubs. */
export function registerImport({ observeScript }: Platform): vscode.Disposable {
  const tasks = new CancellableTasks();
  const imports = new LaunchImport(tasks, observeScript);
  return vscode.Disposable.from(
    tasks,
    command('importLaunchFile', (...arguments_) => imports.importFiles(...arguments_)),
    command('runLaunchScript', (argument) => imports.runScript(argument)),
  );
}

/** How long a script may run, in milliseconds. */
const LIMIT_MS = 10_000;

class LaunchImport {
  constructor(
    readonly tasks: CancellableTasks,
    readonly observe: ObserveScript | undefined,
  ) {}

  /**
   * Opens a layout of each launch file, nowhere saved yet. Where none is given, the active editor's counts, or else a person is
   * asked.
   * @param wanted the job of the file, where it has several; left out, a person is asked
   * @param into the address, as text, of an empty layout that is filled instead
   */
  async importFiles(argument?: unknown, selected?: unknown, wanted?: unknown, into?: unknown): Promise<void> {
    const given = (Array.isArray(selected) ? selected : [argument]).filter((one) => one instanceof vscode.Uri);
    const job = typeof wanted === 'string' && wanted !== '' ? wanted : undefined;
    for (const uri of given.length > 0 ? given : await activeOrChosen()) {
      const reading = await readLaunchFile(uri, { job });
      if (typeof reading === 'string') {
        void this.#offerRun(uri, showError, reading);
        continue;
      }
      const launch = job === undefined ? await chooseJob({ uri, reading }) : { uri, reading };
      if (launch) {
        const empty = await emptyLayout(into);
        void this.#offerForUnknown(
          launch,
          await openLayout(launch, empty && { document: empty, text: empty.getText() }),
        );
      }
    }
  }

  /**
   * Runs a shell script with recording stubs, after a person agrees, and opens a layout of what it starts.
   * @param argument the script; left out, that of the active editor, or one that a person chooses
   */
  async runScript(argument: unknown): Promise<void> {
    if (!this.observe) {
      void showError(
        vscode.l10n.t('Launch scripts do not run in a browser: open their folder in an editor on a machine.'),
      );
      return;
    }
    if (!isTrusted(vscode.l10n.t('Launch scripts run in a trusted workspace only.'))) {
      return;
    }
    const { SHELL_SCRIPT } = await engine();
    const active = vscode.window.activeTextEditor?.document.uri;
    const [chosen] =
      argument instanceof vscode.Uri
        ? [argument]
        : active && SHELL_SCRIPT.test(active.path)
          ? [active]
          : await chooseLaunchFiles();
    if (chosen && (chosen.scheme !== 'file' || !SHELL_SCRIPT.test(chosen.path))) {
      void showError(vscode.l10n.t('{0} is not a shell script on this machine; only those run.', nameOf(chosen)));
    } else if (chosen) {
      await this.#run(chosen, this.observe);
    }
  }

  /** @param opened the layout of the script's text, which the new one replaces unless a person has changed it */
  async #run(uri: vscode.Uri, observe: ObserveScript, opened?: Opened): Promise<void> {
    if (!(await isRunWanted(uri))) {
      return;
    }
    try {
      await vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString())?.save();
      const title = vscode.l10n.t('Running {0} with recording stubs', nameOf(uri));
      const run = await this.tasks.run(title, (signal) => observe(uri.fsPath, LIMIT_MS, signal));
      if (run) {
        await openObserved(uri, run, opened);
      }
    } catch (error) {
      void showError(vscode.l10n.t('{0} cannot be run: {1}', nameOf(uri), messageOf(error)));
    }
  }

  /** Offers to run a script whose text leaves values unknown. */
  async #offerForUnknown({ uri, reading }: Launch, opened: Opened): Promise<void> {
    const unknown = reading.values.flatMap(({ key, source }) => (source === 'unknown' ? [key] : []));
    if (unknown.length > 0 && (await this.#canRun(uri))) {
      const text = vscode.l10n.t('The text of {0} leaves values unknown: {1}.', nameOf(uri), listOf(unknown));
      await this.#offerRun(uri, showInformation, text, opened);
    }
  }

  async #offerRun(uri: vscode.Uri, show: typeof showError, text: string, opened?: Opened): Promise<void> {
    const run = vscode.l10n.t('Run with Recording Stubs...');
    const buttons = (await this.#canRun(uri)) ? [run] : [];
    if ((await show(text, ...buttons)) === run && this.observe) {
      await this.#run(uri, this.observe, opened);
    }
  }

  async #canRun({ scheme, path }: vscode.Uri): Promise<boolean> {
    const { SHELL_SCRIPT } = await engine();
    return this.observe !== undefined && vscode.workspace.isTrusted && scheme === 'file' && SHELL_SCRIPT.test(path);
  }
}

/** The launch file in the active editor, or those that a person chooses where it holds none. */
async function activeOrChosen(): Promise<readonly vscode.Uri[]> {
  const active = vscode.window.activeTextEditor?.document;
  const mayStart = active && active.languageId !== LANGUAGE && !active.isUntitled;
  return mayStart && typeof (await readLaunchFile(active.uri)) !== 'string' ? [active.uri] : chooseLaunchFiles();
}

/** Says what a run does, and asks whether to start it. */
async function isRunWanted(uri: vscode.Uri): Promise<boolean> {
  const run = vscode.l10n.t('Run Script');
  const detail = vscode.l10n.t(
    'bash executes {0} as you, in its folder, for at most {1} seconds. It sees the programs of the system and its repository, and can neither write files nor reach a network. Stubs replace launchers and programs that change files, and record how the script calls them.',
    uri.fsPath,
    LIMIT_MS / 1000,
  );
  return (await ask(vscode.l10n.t('Run {0} with recording stubs?', nameOf(uri)), detail, run)) === run;
}

async function openObserved(uri: vscode.Uri, { commands, notes }: ObservedRun, opened?: Opened): Promise<void> {
  const options = { observed: commands };
  const reading = await readLaunchFile(uri, options);
  if (typeof reading === 'string') {
    void showError([reading, ...notes.slice(1)].join(' '));
    return;
  }
  const launch = await chooseJob({ uri, reading }, options);
  if (launch) {
    await openLayout({ uri, reading: { ...launch.reading, notes: [...launch.reading.notes, ...notes] } }, opened);
  }
}

/** Opens the layout of a launch file beside it, nowhere saved yet. */
async function openLayout({ uri, reading }: Launch, opened?: Opened): Promise<Opened> {
  const { layoutYaml } = await engine();
  const isReusable = opened?.document.isClosed === false && opened.document.getText() === opened.text;
  const address = isReusable ? opened.document.uri : await addressBeside(uri);
  const text = layoutYaml(reading, (file) => relativePath(address, file));
  if (isReusable) {
    await replaceLayout(opened.document, text);
    return { document: opened.document, text };
  }
  const { document } = await openUnsavedAt(address, text);
  reach('createdLayout');
  return { document, text };
}
