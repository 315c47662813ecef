import * as vscode from 'vscode';
import { workbenchText } from '../../layout';
import type { Difference, ExportTarget } from '../../layout/launch';
import { messageOf, showError, showInformation } from '../notifications';
import { nameOf } from '../paths';
import { NOT_CHECKED, type ServerDiagnostics } from '../serverDiagnostics';
import { understoodDocument } from '../understoodDocument';
import { freeAddress, homeOfNew, openUnsavedAt } from '../unsavedLayout';
import { replaceLayout } from './edits';
import { chooseLaunchFiles, engine, type Launch, listOf, readLaunchFiles, relativePath } from './read';

/** Opens a layout in the form that a framework or launcher reads; asks which. */
export async function exportLayout(document: vscode.TextDocument, said: ServerDiagnostics): Promise<void> {
  const { EXPORT_TARGETS, exportLayout: exported, isRecordedTarget } = await engine();
  const items = EXPORT_TARGETS.flatMap((target) => {
    const plain = { label: target as string, target, ...formOf(target), record: false };
    const description = vscode.l10n.t('records the run for Verify Against Run');
    return isRecordedTarget(target)
      ? [plain, { ...plain, label: vscode.l10n.t('{0}, recorded', target), description, record: true }]
      : [plain];
  });
  const chosen = await vscode.window.showQuickPick(items, {
    placeHolder: vscode.l10n.t('Export the layout as'),
    matchOnDescription: true,
  });
  if (!chosen || !(await mayExport(document, said))) {
    return;
  }
  try {
    const { text: content, left, notes } = exported(document.getText(), chosen.target, { record: chosen.record });
    const address = await freeAddress(folderOf(document), exportName(document, chosen.label), chosen.ending);
    await openUnsavedAt(address, content, vscode.ViewColumn.Beside);
    const leftOut = left.length > 0 ? [vscode.l10n.t('{0} cannot express {1}.', chosen.target, listOf(left))] : [];
    if (leftOut.length + notes.length > 0) {
      void showInformation([...leftOut, ...notes].join(' '));
    }
  } catch (error) {
    void showError(messageOf(error));
  }
}

/** Whether a layout has no errors, or a person wants it exported as it is. */
async function mayExport(document: vscode.TextDocument, said: ServerDiagnostics): Promise<boolean> {
  const { exportErrors } = await engine();
  const anyway = vscode.l10n.t('Export Anyway');
  const diagnostics = await said.ofText(document);
  if (!diagnostics) {
    return (await showError(NOT_CHECKED(), anyway)) === anyway;
  }
  const [first, ...more] = exportErrors(diagnostics);
  if (!first) {
    return true;
  }
  const line = document.positionAt(first.span.start).line + 1;
  const name = nameOf(document.uri);
  const found = vscode.l10n.t('{0} is not exported, as line {1} has an error: {2}', name, line, first.message);
  const others = more.length > 0 ? ` ${vscode.l10n.t('Other errors: {0}.', more.length)}` : '';
  return (await showError(found + others, anyway)) === anyway;
}

/** Opens what another layout changes in the launch files that this one names: a patch, with what is left to a person above it. */
export async function openLaunchPatch(document: vscode.TextDocument, text: string): Promise<void> {
  const launches = await readLaunchFiles(await namedFiles(document));
  const { handLine, launchChange, unifiedDiff } = await engine();
  const readings = launches.map(({ reading }) => reading);
  const { patches, byHand } = launchChange(document.uri.path, understoodDocument(document), text, readings);
  if (!patches) {
    void showInformation(
      vscode.l10n.t('{0} names no launch file that can be read (launch.files).', nameOf(document.uri)),
    );
    return;
  }
  const left = byHand.map((change) => `# to change by hand: ${handLine(change)}\n`);
  const diffs = patches.flatMap(({ files }) =>
    [...files].map(([path, { before, after: now }]) =>
      unifiedDiff(vscode.workspace.asRelativePath(document.uri.with({ path }), false), before, now),
    ),
  );
  const address = await freeAddress(folderOf(document), nameOf(document.uri).replace(/\.layout\.ya?ml$/, ''), '.patch');
  await openUnsavedAt(address, [...left, ...diffs].join(''), vscode.ViewColumn.One);
}

/** What a person can choose, and what is done then. */
interface Choice extends vscode.QuickPickItem {
  readonly run?: () => Promise<void>;
}

/**
 * Lists where a layout and its launch files differ, and opens the place that is chosen. A layout that names no launch file
 * is compared with files that are asked for, and can keep their names.
 * @param argument the address of a launch file, as text; left out: all that the layout names
 */
export async function compareLaunchFiles(document: vscode.TextDocument, argument: unknown): Promise<void> {
  const named = await namedFiles(document);
  const wanted = typeof argument === 'string' ? [vscode.Uri.parse(argument, true)] : named;
  const launches = await readLaunchFiles(wanted.length > 0 ? wanted : await chooseLaunchFiles(document.uri));
  if (launches.length === 0) {
    return;
  }
  const { driftBetween } = await engine();
  const drifts = launches.map((launch) => ({
    launch,
    ...driftBetween(document.uri.path, document.getText(), launch.reading),
  }));
  const names = listOf(launches.map(({ uri }) => nameOf(uri)));
  const remember = wanted.length > 0 ? [] : [vscode.l10n.t('Keep comparing with {0}', names)];
  const keep = () => nameLaunchFiles(document, launches);
  if (drifts.some(({ differences }) => differences.length > 0)) {
    const separator = { label: '', kind: vscode.QuickPickItemKind.Separator };
    const items: readonly Choice[] = [
      ...drifts.flatMap(({ launch, differences }) => differenceItems(document, launch, differences)),
      ...remember.flatMap((label) => [separator, { label: workbenchText(label), run: keep }]),
    ];
    const chosen = await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t('Differences between {0} and {1}', nameOf(document.uri), names),
      placeHolder: vscode.l10n.t('Choose a difference to open both files there'),
      matchOnDetail: true,
    });
    await chosen?.run?.();
    return;
  }
  const unknown = drifts.flatMap((drift) => drift.unknown.map(({ key }) => key));
  const matches = vscode.l10n.t('{0} matches {1}.', nameOf(document.uri), names);
  const open =
    unknown.length === 0 ? '' : ` ${vscode.l10n.t('The launch files leave these open: {0}.', listOf(unknown))}`;
  if ((await showInformation(matches + open, ...remember)) !== undefined) {
    await keep();
  }
}

function differenceItems(document: vscode.TextDocument, launch: Launch, differences: readonly Difference[]): Choice[] {
  if (differences.length === 0) {
    return [];
  }
  const items = differences.map((difference) => ({
    label: workbenchText(difference.key),
    detail: workbenchText(difference.message),
    run: () => showDifference(document, launch, difference),
  }));
  return [{ label: workbenchText(nameOf(launch.uri)), kind: vscode.QuickPickItemKind.Separator }, ...items];
}

/** Opens the launch file beside the layout, both at a difference. */
async function showDifference(
  document: vscode.TextDocument,
  { uri, reading }: Launch,
  { layout, launch }: Difference,
): Promise<void> {
  const own = await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  select(own, layout.offset ?? 0);
  const isPlaced = typeof launch.source !== 'string';
  const file = isPlaced ? uri.with({ path: launch.source.file }) : uri;
  const other = await vscode.window.showTextDocument(file, {
    viewColumn: vscode.ViewColumn.Beside,
    preserveFocus: true,
  });
  if (isPlaced && reading.files.has(launch.source.file)) {
    select(other, launch.offset ?? 0);
  }
}

function select(editor: vscode.TextEditor, offset: number): void {
  const at = editor.document.positionAt(offset);
  const range = editor.document.getWordRangeAtPosition(at) ?? new vscode.Range(at, at);
  editor.selection = new vscode.Selection(range.start, range.end);
  editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** Writes the names of launch files into a layout, which is compared with them from then on. */
async function nameLaunchFiles(document: vscode.TextDocument, launches: readonly Launch[]): Promise<void> {
  const text = await textNaming(document, launches);
  if (text !== null) {
    await replaceLayout(document, text);
  }
}

/** The text of a layout that names launch files too; null where it names them already or cannot. */
export async function textNaming(document: vscode.TextDocument, launches: readonly Launch[]): Promise<string | null> {
  const [first] = launches;
  const { launchFilesEdit } = await engine();
  const names = launches.map(({ uri }) => relativePath(document.uri, uri.path));
  const text = document.getText();
  const edit = first ? launchFilesEdit(text, names, first.reading) : null;
  return edit && text.slice(0, edit.span.start) + edit.newText + text.slice(edit.span.end);
}

/** The launch files that a layout names, by their addresses. */
async function namedFiles(document: vscode.TextDocument): Promise<readonly vscode.Uri[]> {
  const { layoutFileValues } = await engine();
  const names = layoutFileValues('', document.getText())?.get('launch.files')?.value;
  const base = vscode.workspace.getWorkspaceFolder(document.uri)?.uri;
  // a layout that is nowhere saved yet stands in the file system that it will be saved to
  const own = document.uri.scheme === 'untitled' ? base?.with({ path: document.uri.path }) : document.uri;
  return own && Array.isArray(names) ? names.map((name) => vscode.Uri.joinPath(own, '..', String(name))) : [];
}

/** The name of an exported layout without its ending: `train.torchrun-recorded` of `train.layout.yaml`. */
function exportName({ uri }: vscode.TextDocument, label: string): string {
  return `${nameOf(uri).replace(/\.layout\.ya?ml$/, '')}.${label.replace(/\W+/g, '-')}`;
}

function folderOf({ uri, isUntitled }: vscode.TextDocument): vscode.Uri | undefined {
  return isUntitled ? homeOfNew() : vscode.Uri.joinPath(uri, '..');
}

/** What a form is, and the ending of its files. */
function formOf(target: ExportTarget): { readonly description: string; readonly ending: string } {
  const forms: Readonly<Record<ExportTarget, readonly [description: string, ending: string]>> = {
    'megatron-args': [vscode.l10n.t('flags of Megatron-LM'), '.sh'],
    'model-config': [vscode.l10n.t('model_config.yaml of a functional test of Megatron-LM'), '.yaml'],
    bridge: [vscode.l10n.t('overrides of a Megatron Bridge recipe'), '.yaml'],
    torchrun: [vscode.l10n.t('a torchrun command'), '.sh'],
    sbatch: [vscode.l10n.t('a Slurm batch script'), '.sh'],
    'mimo-args': [vscode.l10n.t("flags of Megatron-LM's MIMO example"), '.sh'],
    'module-grid-spec': [vscode.l10n.t('module grids in Python'), '.py'],
    'ntp-config': [vscode.l10n.t('a nonuniform tensor parallelism configuration in Python'), '.py'],
    verl: [vscode.l10n.t('a verl command with its overrides'), '.sh'],
    'nemo-rl': [vscode.l10n.t('a NeMo-RL recipe'), '.yaml'],
    torchtitan: [vscode.l10n.t('a torchtitan command'), '.sh'],
  };
  const [description, ending] = forms[target];
  return { description, ending };
}
