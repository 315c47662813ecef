import * as vscode from 'vscode';
import type { Difference, ExportTarget, LaunchReading } from '../layout/launch';
import { LANGUAGE } from './layoutDocument';
import { showError, showInformation } from './notifications';
import { nameOf } from './paths';

/** The engine that reads launch files; it is loaded when it is first needed. */
const engine = () => import('../layout/launch');

/** The largest launch file that is read, and the largest file that one names. Bytes. */
const MAX_LAUNCH_BYTES = 16 * 1024 * 1024;
const MAX_NAMED_BYTES = 1024 * 1024;

/** Layouts from launch files, launch files from layouts, and where both differ. */
export class LaunchFiles implements vscode.Disposable {
  readonly #differences = vscode.languages.createDiagnosticCollection('parallelism-layout-launch');

  dispose(): void {
    this.#differences.dispose();
  }

  /** Opens the layout of a launch file, nowhere saved yet; asks which file where none is given. */
  async importFile(argument: unknown): Promise<void> {
    const uri = argument instanceof vscode.Uri ? argument : await chooseLaunchFile();
    const reading = uri && (await readLaunch(uri));
    if (!reading) {
      return;
    }
    const { layoutYaml } = await engine();
    const content = layoutYaml(reading, shownPath);
    const document = await vscode.workspace.openTextDocument({ language: LANGUAGE, content });
    await vscode.window.showTextDocument(document);
  }

  /** Opens a layout in the form that a framework or launcher reads; asks which. */
  async exportLayout(document: vscode.TextDocument): Promise<void> {
    const { EXPORT_TARGETS, exportLayout } = await engine();
    const items = EXPORT_TARGETS.map((target) => ({ label: target, description: describe(target) }));
    const chosen = await vscode.window.showQuickPick(items, { placeHolder: vscode.l10n.t('Export the layout as') });
    if (!chosen) {
      return;
    }
    try {
      const { text, left } = exportLayout(document.getText(), chosen.label);
      const exported = await vscode.workspace.openTextDocument({ language: languageOf(chosen.label), content: text });
      await vscode.window.showTextDocument(exported, vscode.ViewColumn.Beside);
      if (left.length > 0) {
        void showInformation(vscode.l10n.t('This form has no place for: {0}.', left.join(', ')));
      }
    } catch (error) {
      void showError(error instanceof Error ? error.message : String(error));
    }
  }

  /** Holds a layout against its launch files, or against one that is asked for; differences become problems of both. */
  async compare(document: vscode.TextDocument): Promise<void> {
    const { driftBetween, layoutFileValues } = await engine();
    const named = layoutFileValues('', document.getText())?.get('launch.files')?.value;
    const folder = vscode.Uri.joinPath(document.uri, '..');
    const uris = Array.isArray(named) ? named.map((file) => vscode.Uri.joinPath(folder, String(file))) : [];
    const chosen = uris.length > 0 ? uris : [await chooseLaunchFile()];
    const found: Difference[] = [];
    let compared = 0;
    for (const uri of chosen) {
      const reading = uri && (await readLaunch(uri));
      if (reading) {
        compared++;
        found.push(...driftBetween(document.uri.path, document.getText(), reading).differences);
      }
    }
    if (compared > 0) {
      this.#show(document, found);
    }
  }

  #show(document: vscode.TextDocument, differences: readonly Difference[]): void {
    this.#differences.clear();
    const problems = differences.map(({ message, layout, launch }) => {
      const range = rangeAt(document, layout.offset ?? 0);
      const problem = new vscode.Diagnostic(range, message, vscode.DiagnosticSeverity.Warning);
      problem.source = 'parallelism-layout';
      problem.code = 'launch-drift';
      if (typeof launch.source !== 'string') {
        const place = new vscode.Position(launch.source.line - 1, 0);
        const uri = document.uri.with({ path: launch.source.file });
        const text = vscode.l10n.t('The launch file sets it here.');
        problem.relatedInformation = [new vscode.DiagnosticRelatedInformation(new vscode.Location(uri, place), text)];
      }
      return problem;
    });
    this.#differences.set(document.uri, problems);
    void showInformation(
      problems.length === 0
        ? vscode.l10n.t('The layout and the launch file agree.')
        : vscode.l10n.t('Differences between the layout and the launch file: {0}.', problems.length),
    );
  }
}

/** The range of the word at an offset. */
function rangeAt(document: vscode.TextDocument, offset: number): vscode.Range {
  const position = document.positionAt(offset);
  return document.getWordRangeAtPosition(position) ?? document.lineAt(position).range;
}

async function chooseLaunchFile(): Promise<vscode.Uri | undefined> {
  const [chosen] =
    (await vscode.window.showOpenDialog({
      title: vscode.l10n.t('Choose a launch script, recipe, configuration or log'),
      canSelectMany: false,
    })) ?? [];
  return chosen;
}

/** Reads a launch file and the files that it names in its workspace folder; says why where it cannot be read. */
async function readLaunch(uri: vscode.Uri): Promise<LaunchReading | undefined> {
  const text = await readText(uri, MAX_LAUNCH_BYTES);
  if (text === null) {
    void showError(vscode.l10n.t('{0} cannot be read as text.', nameOf(uri)));
    return undefined;
  }
  const { readLaunchFileAsync } = await engine();
  const root = vscode.workspace.getWorkspaceFolder(uri)?.uri.path ?? vscode.Uri.joinPath(uri, '..').path;
  const reading = await readLaunchFileAsync(uri.path, text, async (path) =>
    path.startsWith(`${root}/`) ? readText(uri.with({ path }), MAX_NAMED_BYTES) : null,
  );
  if (reading.family === null) {
    void showError(vscode.l10n.t('{0} is no launch file that is known.', nameOf(uri)));
    return undefined;
  }
  return reading;
}

/** The text of a regular file; null where there is none, or it is too large or no text. */
async function readText(uri: vscode.Uri, most: number): Promise<string | null> {
  try {
    const { type, size } = await vscode.workspace.fs.stat(uri);
    if ((type & vscode.FileType.File) === 0 || size > most) {
      return null;
    }
    const bytes = await vscode.workspace.fs.readFile(uri);
    return bytes.includes(0) ? null : new TextDecoder().decode(bytes);
  } catch {
    return null;
  }
}

/** A path as comments name it: relative to its workspace folder. */
function shownPath(path: string): string {
  return vscode.workspace.asRelativePath(path);
}

function languageOf(target: ExportTarget): string {
  if (target === 'module-grid-spec' || target === 'ntp-config') {
    return 'python';
  }
  return target === 'model-config' || target === 'bridge' || target === 'nemo-rl' ? 'yaml' : 'shellscript';
}

function describe(target: ExportTarget): string {
  const texts: Readonly<Record<ExportTarget, string>> = {
    'megatron-args': vscode.l10n.t('flags of Megatron-LM'),
    'model-config': vscode.l10n.t('model_config.yaml of a functional test of Megatron-LM'),
    bridge: vscode.l10n.t('overrides of a Megatron Bridge recipe'),
    torchrun: vscode.l10n.t('a torchrun command'),
    sbatch: vscode.l10n.t('a Slurm batch script'),
    'mimo-args': vscode.l10n.t("flags of Megatron-LM's MIMO example"),
    'module-grid-spec': vscode.l10n.t('module grids in Python'),
    'ntp-config': vscode.l10n.t('a nonuniform tensor parallelism configuration in Python'),
    verl: vscode.l10n.t('a verl command with its overrides'),
    'nemo-rl': vscode.l10n.t('a NeMo-RL recipe'),
    torchtitan: vscode.l10n.t('a torchtitan command'),
  };
  return texts[target];
}
