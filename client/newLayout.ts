import * as vscode from 'vscode';
import { reach } from './milestones';
import { openUnsaved } from './unsavedLayout';

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
  const chosen = await vscode.window.showQuickPick(templates(), { placeHolder, matchOnDetail: true });
  if (chosen) {
    await openUnsaved(nameOf(chosen.file), await example(extension, chosen.file));
    reach('createdLayout');
  }
}

/** Opens the multimodal example with a wrong number, to see how one is found and fixed. */
export async function openSample(extension: vscode.Uri): Promise<void> {
  const file = 'mimo-8gpu.layout.yaml';
  const text = await example(extension, file);
  const editor = await openUnsaved(nameOf(file), text.replace('    pp: 2\n', '    pp: 3\n'));
  const at = editor.document.positionAt(editor.document.getText().indexOf('pp: 3') + 'pp: 3'.length);
  editor.selection = new vscode.Selection(at, at);
  editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenter);
  tickWhenMended(editor.document);
}

/** Ticks the step of the walkthrough once a document has had errors and has none any more. */
function tickWhenMended({ uri }: vscode.TextDocument): void {
  const hasErrors = () =>
    vscode.languages.getDiagnostics(uri).some(({ severity }) => severity === vscode.DiagnosticSeverity.Error);
  let hadErrors = false;
  const watching = vscode.Disposable.from(
    vscode.languages.onDidChangeDiagnostics(({ uris }) => {
      if (uris.some((one) => one.toString() === uri.toString())) {
        if (hadErrors && !hasErrors()) {
          reach('mendedMistake');
          watching.dispose();
        }
        hadErrors = hasErrors();
      }
    }),
    vscode.workspace.onDidCloseTextDocument((closed) => closed.uri.toString() === uri.toString() && watching.dispose()),
  );
}

async function example(extension: vscode.Uri, file: string): Promise<string> {
  const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(extension, 'examples', file));
  return new TextDecoder().decode(bytes);
}

const nameOf = (file: string): string => file.replace(/\.layout\.yaml$/, '');
