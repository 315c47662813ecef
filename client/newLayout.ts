import * as vscode from 'vscode';
import { engine } from './launch/read';
import { reach } from './milestones';
import { showError } from './notifications';
import { openUnsaved } from './unsavedLayout';

/** The longest text that is read as flags. Characters. */
const MAX_FLAGS = 100_000;

/** A layout to start from: one of the examples. */
interface Template {
  readonly file: string;
  readonly label: string;
  readonly detail: string;
}

function templates(): Template[] {
  return [
    {
      file: 'dense-64gpu.layout.yaml',
      label: vscode.l10n.t('Dense model'),
      detail: vscode.l10n.t('One grid over all ranks: tensor, pipeline and data parallelism on 8 nodes of 8 GPUs'),
    },
    {
      file: 'mimo-8gpu.layout.yaml',
      label: vscode.l10n.t('Multimodal model'),
      detail: vscode.l10n.t('An image encoder beside a language model, each with a grid of its own, on 8 GPUs'),
    },
    {
      file: 'moe-64gpu.layout.yaml',
      label: vscode.l10n.t('Mixture of experts'),
      detail: vscode.l10n.t('Expert parallelism with its own tensor parallelism, on 8 nodes of 8 GPUs'),
    },
    {
      file: 'ntp-64gpu.layout.yaml',
      label: vscode.l10n.t('Job with failed GPUs'),
      detail: vscode.l10n.t('Nonuniform tensor parallelism: one replica continues with fewer ranks'),
    },
  ];
}

/** Asks what kind of layout is wanted and opens one to change, nowhere saved yet. */
export async function newLayout(extension: vscode.Uri): Promise<void> {
  const placeHolder = vscode.l10n.t('What kind of job is the layout for?');
  const flags = {
    label: vscode.l10n.t('Flags on the Clipboard'),
    detail: vscode.l10n.t('A launch command, or flags of Megatron-LM, that you have copied'),
  };
  const chosen = await vscode.window.showQuickPick([...templates(), flags], { placeHolder, matchOnDetail: true });
  if (!chosen) {
    return;
  }
  const [name, text] =
    'file' in chosen
      ? [nameOf(chosen.file), await example(extension, chosen.file)]
      : ['job', await layoutOfFlags(await vscode.env.clipboard.readText())];
  if (text === undefined) {
    void showError(vscode.l10n.t('The clipboard holds no flags of Megatron-LM. Copy the launch command first.'));
    return;
  }
  await openUnsaved(name, text);
  reach('createdLayout');
}

/** The layout that flags describe; undefined where a text has none that is known. */
async function layoutOfFlags(text: string): Promise<string | undefined> {
  const { writeFlags } = await engine();
  return writeFlags('', text.slice(0, MAX_FLAGS))?.text;
}

/** Opens the multimodal example with a wrong number, to see how one is found and fixed. */
export async function openSample(extension: vscode.Uri): Promise<void> {
  const file = 'mimo-8gpu.layout.yaml';
  const text = await example(extension, file);
  const editor = await openUnsaved(nameOf(file), text.replace('    pp: 2\n', '    pp: 3\n'));
  const at = editor.document.positionAt(editor.document.getText().indexOf('pp: 3') + 'pp: 3'.length);
  editor.selection = new vscode.Selection(at, at);
  editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenter);
}

async function example(extension: vscode.Uri, file: string): Promise<string> {
  const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(extension, 'examples', file));
  return new TextDecoder().decode(bytes);
}

const nameOf = (file: string): string => file.replace(/\.layout\.yaml$/, '');
