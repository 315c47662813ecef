import * as vscode from 'vscode';
import { workbenchText } from '../layout';
import { replaceLayout } from './launch/edits';
import { engine } from './launch/read';
import { emptyLayout } from './layoutDocument';
import { reach } from './milestones';
import { showError } from './notifications';
import { openUnsaved } from './unsavedLayout';

/** The longest text that is read as flags. Characters. */
const MAX_FLAGS = 100_000;

/** How much of the clipboard is shown, in characters. */
const MAX_SHOWN = 100;

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

/** With what a new layout begins: an example, flags that a person has copied, or a launch file. */
type Beginning = 'template' | 'flags' | 'launch';

/**
 * Asks what kind of layout is wanted and opens one to change, nowhere saved yet. Flags that a person has copied come first.
 * @param into the address, as text, of an empty layout that is filled instead
 * @param from with what it begins; left out, a person is asked
 */
export async function newLayout(extension: vscode.Uri, into: unknown, from: unknown): Promise<void> {
  const chosen = from === 'flags' || from === 'launch' ? from : await choose(from === 'template', await copiedFlags());
  if (chosen === 'launch') {
    await vscode.commands.executeCommand('parallelismLayout.importLaunchFile', undefined, undefined, undefined, into);
  } else if (chosen === 'flags') {
    const flags = await layoutOfFlags(await vscode.env.clipboard.readText());
    if (flags === undefined) {
      void showError(vscode.l10n.t('The clipboard holds no flags of Megatron-LM. Copy the launch command first.'));
    } else {
      await open('job', flags, into);
    }
  } else if (chosen) {
    await open(nameOf(chosen.file), await example(extension, chosen.file), into);
  }
}

/** How long the list waits for the clipboard: a browser may ask a person first. Milliseconds. */
const CLIPBOARD_LIMIT = 300;

/** The text of the clipboard, if it holds flags. */
async function copiedFlags(): Promise<string | undefined> {
  const late = new Promise<string>((resolve) => setTimeout(() => resolve(''), CLIPBOARD_LIMIT));
  const copied = await Promise.race([vscode.env.clipboard.readText(), late]);
  return copied.includes('--') && (await layoutOfFlags(copied)) !== undefined ? copied : undefined;
}

/** Asks for a beginning. @param copied the flags on the clipboard, where it holds some */
async function choose(
  onlyTemplates: boolean,
  copied: string | undefined,
): Promise<Template | Exclude<Beginning, 'template'> | undefined> {
  const flags = {
    label: vscode.l10n.t('Flags on the Clipboard'),
    detail: workbenchText(
      copied?.trim().replaceAll(/\s+/g, ' ').slice(0, MAX_SHOWN) ??
        vscode.l10n.t('A launch command, or flags of Megatron-LM, that you have copied'),
    ),
    chosen: 'flags' as const,
  };
  const launch = {
    label: vscode.l10n.t('Launch File...'),
    detail: vscode.l10n.t('The script, recipe or configuration that starts your job'),
    chosen: 'launch' as const,
  };
  const kinds = templates().map((template) => ({ ...template, chosen: template }));
  const items = onlyTemplates ? kinds : copied ? [flags, launch, ...kinds] : [...kinds, launch, flags];
  const placeHolder = vscode.l10n.t('What kind of job is the layout for?');
  return (await vscode.window.showQuickPick(items, { placeHolder, matchOnDetail: true }))?.chosen;
}

/** Opens a layout, or fills the empty one that is named. */
async function open(name: string, text: string, into: unknown): Promise<void> {
  const empty = await emptyLayout(into);
  await (empty ? replaceLayout(empty, text) : openUnsaved(name, text));
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
