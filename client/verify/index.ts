import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { type Verification, verificationReport } from '../../jobs';
import { workbenchText } from '../../layout';
import { RunOutcome, type RunReport } from '../../picture/runOutcome';
import { CancellableTasks } from '../cancellableTasks';
import { command } from '../command';
import { droppedAddresses, EDIT_KIND, FILE_DROPS } from '../dropped';
import type { GridPanels } from '../grid/panel';
import { KeptTexts } from '../keptTexts';
import { LANGUAGE, layoutDocument } from '../layoutDocument';
import { showError, showInformation, showWarning } from '../notifications';
import { localPath, nameOf } from '../paths';
import type { JobHost } from '../platform/platform';
import { showMarkdown } from '../showMarkdown';
import { isTrusted } from '../trust';
import { understoodDocument } from '../understoodDocument';
import { runVerify, VerifyError } from './commandLine';
import { Differences } from './differences';

/** Registers the command that verifies a layout against the dumps and logs of a run. */
export function registerVerify({ context, panels }: JobHost): vscode.Disposable {
  const verification = new RunVerification(vscode.Uri.joinPath(context.extensionUri, 'dist', 'cli.js').fsPath, panels);
  return vscode.Disposable.from(
    verification,
    trusted(
      'verifyRun',
      vscode.l10n.t('Verify Against Run starts a process, so it works in a trusted workspace only.'),
      (document, argument) => verification.verify(document, pathsOf(argument)),
    ),
    trusted(
      'verifyPastedLog',
      vscode.l10n.t('Verify Pasted Log starts a process, so it works in a trusted workspace only.'),
      (document) => verifyPasted(document, verification),
    ),
    vscode.languages.registerDocumentDropEditProvider(
      { language: LANGUAGE },
      { provideDocumentDropEdits: (document, _, data) => verifyDropped(document, data) },
      FILE_DROPS,
    ),
  );
}

/** Registers a command on a layout that works where processes may be started. @param reason what is said elsewhere */
function trusted(
  name: string,
  reason: string,
  run: (document: vscode.TextDocument, argument: unknown) => Promise<Verification | undefined>,
): vscode.Disposable {
  return command(name, async (argument) => {
    const document = isTrusted(reason) ? await layoutDocument(argument) : undefined;
    return document && run(document, argument);
  });
}

/** A folder that is dropped on a layout, or dumps, are those of its run; the text stays as it is. */
async function verifyDropped(
  { uri }: vscode.TextDocument,
  data: vscode.DataTransfer,
): Promise<vscode.DocumentDropEdit | undefined> {
  const paths = (await droppedAddresses(data)).flatMap((address) => localPath(address) ?? []);
  const [first] = paths;
  if (first === undefined || !(await isOfRun(first))) {
    return undefined;
  }
  void vscode.commands.executeCommand('parallelismLayout.verifyRun', { uri: uri.toString(), paths });
  return new vscode.DocumentDropEdit('', vscode.l10n.t('Verify the layout against this run'), EDIT_KIND);
}

/** The largest log that is pasted, in characters: the clipboard of most systems holds less. */
const MAX_PASTED = 64 * 1024 * 1024;

/** Verifies a layout against the log that is in the clipboard, by way of a private file that is removed afterwards. */
async function verifyPasted(
  document: vscode.TextDocument,
  verification: RunVerification,
): Promise<Verification | undefined> {
  const log = await vscode.env.clipboard.readText();
  if (log.trim() === '' || log.length > MAX_PASTED) {
    void showWarning(
      log.length > MAX_PASTED
        ? vscode.l10n.t(
            'The clipboard holds more than {0} MiB. Save the log, and choose Verify Against Run.',
            MAX_PASTED / 2 ** 20,
          )
        : vscode.l10n.t('The clipboard holds no text. Copy the log of the run first.'),
    );
    return undefined;
  }
  const folder = await mkdtemp(join(tmpdir(), 'parallelism-layout-log-'));
  try {
    const file = join(folder, 'pasted.log');
    await writeFile(file, log, { mode: 0o600 });
    return await verification.verify(document, [file]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The names that torch and the recorder give to files of ranks, and those of logs; a launch file may have a rank in its name. */
const OF_A_RUN =
  /(?:nccl_trace|(?:rank[_-]?|trace_?|dump_?|manual_|ras_)\d)(?!.*\.(?:sh|py|ya?ml|toml)$)|\.(?:log|out|err)$|log.{0,64}\.txt$/i;

/** Whether a path is a folder, or that of a file of a run. */
async function isOfRun(path: string): Promise<boolean> {
  if (OF_A_RUN.test(basename(path))) {
    return true;
  }
  const { type } = await vscode.workspace.fs.stat(vscode.Uri.file(path));
  return (type & vscode.FileType.Directory) !== 0;
}

/** Verifies layouts against runs, and shows what is found. */
class RunVerification implements vscode.Disposable {
  readonly #differences = new Differences();
  /** The last report of each layout. */
  readonly #reports = new KeptTexts(
    'parallelism-layout-run',
    vscode.l10n.t('This report is gone. Verify the layout again.'),
  );
  readonly #tasks = new CancellableTasks();

  constructor(
    readonly cli: string,
    readonly panels: GridPanels,
  ) {}

  dispose(): void {
    this.#tasks.dispose();
    this.#differences.dispose();
    this.#reports.dispose();
  }

  /**
   * Verifies a layout, and gives what is found; undefined where nothing is chosen, or a person cancels.
   * @param named files and folders of the run; a person is asked where there are none
   */
  async verify(document: vscode.TextDocument, named: readonly string[] | undefined): Promise<Verification | undefined> {
    const paths = named ?? (await choosePaths(document.uri));
    if (!paths || paths.length === 0) {
      return undefined;
    }
    const { version } = document;
    const found = await this.#run(document, paths);
    if (found) {
      // the lines are those of the text that was verified
      this.#differences.show(document, document.version === version ? found.groups.different : []);
      this.panels.showResult(document.uri, { type: 'run', report: runReport(found) });
      this.panels.show(document, { results: 'run' });
      const { uri } = document;
      const report = this.#reports.keep(uri, `/${nameOf(uri)}.md`, verificationReport(found, nameOf(uri)));
      void this.#notify(document, found, report);
    }
    return found;
  }

  async #run(document: vscode.TextDocument, paths: readonly string[]): Promise<Verification | undefined> {
    const title = vscode.l10n.t('Verifying {0} against a run', nameOf(document.uri));
    try {
      return await this.#tasks.run(title, (signal) => {
        const folder = document.uri.scheme === 'file' ? dirname(document.uri.fsPath) : homedir();
        return runVerify(this.cli, document.getText(), folder, paths, signal);
      });
    } catch (error) {
      if (!(error instanceof VerifyError)) {
        throw error;
      }
      void showError(vscode.l10n.t('{0} could not be verified: {1}', nameOf(document.uri), error.message));
      return undefined;
    }
  }

  /** Says what was found in one sentence, and offers the report. */
  async #notify(document: vscode.TextDocument, found: Verification, report: vscode.Uri): Promise<void> {
    const show = vscode.l10n.t('Show Report');
    const { resolved } = understoodDocument(document);
    const sentence = resolved ? new RunOutcome(runReport(found)).headline(resolved).title : found.verdict;
    const text = vscode.l10n.t('Run of {0}: {1}', nameOf(document.uri), sentence);
    const say = found.verdict === 'healthy' ? showInformation : found.verdict === 'unknown' ? showWarning : showError;
    if ((await say(text, show)) === show) {
      await showMarkdown(report);
    }
  }
}

/** What the grid draws of a verification. */
function runReport({ groups, measured, layout: _, mismatch: __, ...drawn }: Verification): RunReport {
  const { equal, different } = groups;
  return { ...drawn, groups: { equal, different }, measured: measured && { parts: measured.parts } };
}

/** The files and folders that a key binding or a test names: `{"file": ..., "paths": [...]}`. */
function pathsOf(argument: unknown): readonly string[] | undefined {
  if (typeof argument !== 'object' || argument === null || !('paths' in argument) || !Array.isArray(argument.paths)) {
    return undefined;
  }
  return argument.paths.filter((path): path is string => typeof path === 'string');
}

/** How many folders beside a layout are looked into, and offered. */
const MAX_LOOKED_INTO = 40;
const MAX_OFFERED = 8;

/** The folders beside a layout that seem to hold what a run left, with how many such files each has. */
async function runFolders(layout: vscode.Uri): Promise<readonly { readonly name: string; readonly count: number }[]> {
  const list = async (uri: vscode.Uri) => {
    try {
      return await vscode.workspace.fs.readDirectory(uri);
    } catch {
      // nothing is offered of a folder that cannot be read
      return [];
    }
  };
  const parent = vscode.Uri.joinPath(layout, '..');
  const folders = (await list(parent))
    .filter(([, type]) => type === vscode.FileType.Directory)
    .slice(0, MAX_LOOKED_INTO);
  const found = folders.map(async ([name]) => {
    const files = await list(vscode.Uri.joinPath(parent, name));
    return { name, count: files.filter(([file]) => OF_A_RUN.test(file)).length };
  });
  return (await Promise.all(found)).filter(({ count }) => count > 0).slice(0, MAX_OFFERED);
}

/** Asks for a folder or for files: most systems' dialogs take one or the other. Folders beside the layout that seem to be of a run come first. */
async function choosePaths(layout: vscode.Uri): Promise<readonly string[] | undefined> {
  const near = (await runFolders(layout)).map(({ name, count }) => ({
    label: workbenchText(name),
    description: vscode.l10n.t('{0} dumps or logs', count),
    isFolder: true,
    path: vscode.Uri.joinPath(layout, '..', name).fsPath,
  }));
  const folder = { label: vscode.l10n.t('Folder of dumps and logs...'), isFolder: true, path: null };
  const files = { label: vscode.l10n.t('Files...'), isFolder: false, path: null };
  const placeHolder = vscode.l10n.t('Where are the Flight Recorder dumps, NCCL RAS answers and logs of the run?');
  const kind = await vscode.window.showQuickPick([...near, folder, files], { placeHolder });
  if (kind && kind.path !== null) {
    return [kind.path];
  }
  const chosen =
    kind &&
    (await vscode.window.showOpenDialog({
      canSelectFolders: kind.isFolder,
      canSelectFiles: !kind.isFolder,
      canSelectMany: true,
      defaultUri: vscode.Uri.joinPath(layout, '..'),
      openLabel: vscode.l10n.t('Verify'),
    }));
  return chosen?.map(({ fsPath }) => fsPath);
}
