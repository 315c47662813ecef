import * as vscode from 'vscode';
import { droppedAddresses, EDIT_KIND, FILE_DROPS } from '../dropped';
import { LANGUAGE } from '../layoutDocument';
import { textNaming } from './commands';
import { changeTo } from './edits';
import { engine, type Launch, readLaunchFile, relativePath } from './read';

/** How many dropped files are read. */
const MAX_DROPPED = 16;

/** The longest text that is read as flags. Characters. */
const MAX_PASTED = 100_000;

/** Takes launch files that are dropped on a layout, and flags that are pasted into one. */
export function registerTransfers(): vscode.Disposable {
  const selector: vscode.DocumentSelector = { language: LANGUAGE };
  return vscode.Disposable.from(
    vscode.languages.registerDocumentDropEditProvider(
      selector,
      { provideDocumentDropEdits: (document, _, data, token) => dropEdits(document, data, token) },
      FILE_DROPS,
    ),
    vscode.languages.registerDocumentPasteEditProvider(
      selector,
      { provideDocumentPasteEdits: (document, ranges, data) => pasteEdits(document, ranges, data) },
      { providedPasteEditKinds: [EDIT_KIND], pasteMimeTypes: ['text/plain'] },
    ),
  );
}

/**
 * A layout that is empty becomes that of the launch file; another one names it, and is compared with it from then on. A layout
 * that names it already stays as it is, unless a person chooses to replace its text.
 */
export async function dropEdits(
  document: vscode.TextDocument,
  data: vscode.DataTransfer,
  token: vscode.CancellationToken,
): Promise<vscode.DocumentDropEdit[]> {
  const launches = await droppedLaunches(await droppedAddresses(data), token);
  const [first] = launches;
  if (!first) {
    return [];
  }
  const { layoutYaml } = await engine();
  const naming = await textNaming(document, launches);
  const imported = layoutYaml(first.reading, (file) => relativePath(document.uri, file));
  return document.getText().trim() === ''
    ? [dropEdit(document, imported, vscode.l10n.t('Insert Layout of Launch File'))]
    : [
        dropEdit(document, naming ?? document.getText(), vscode.l10n.t('Compare with Launch File')),
        dropEdit(document, imported, vscode.l10n.t('Replace with Layout of Launch File')),
      ];
}

async function droppedLaunches(
  addresses: readonly string[],
  token: vscode.CancellationToken,
): Promise<readonly Launch[]> {
  const launches: Launch[] = [];
  for (const address of addresses.slice(0, MAX_DROPPED)) {
    const uri = vscode.Uri.parse(address);
    const reading = token.isCancellationRequested ? '' : await readLaunchFile(uri);
    if (typeof reading !== 'string') {
      launches.push({ uri, reading });
    }
  }
  return launches;
}

function dropEdit(document: vscode.TextDocument, text: string, title: string): vscode.DocumentDropEdit {
  const edit = new vscode.DocumentDropEdit('', title, EDIT_KIND);
  edit.additionalEdit = changeTo(document, text);
  return edit;
}

/** Flags become the keys of the layout; other text, and text in a comment, is pasted as it is. */
export async function pasteEdits(
  document: vscode.TextDocument,
  [range]: readonly vscode.Range[],
  data: vscode.DataTransfer,
): Promise<vscode.DocumentPasteEdit[]> {
  const pasted = (await data.get('text/plain')?.asString()) ?? '';
  const before = range ? document.lineAt(range.start).text.slice(0, range.start.character) : '';
  if (!pasted.includes('--') || pasted.length > MAX_PASTED || before.includes('#')) {
    return [];
  }
  const { writeFlags } = await engine();
  const written = writeFlags(document.getText(), pasted);
  if (!written) {
    return [];
  }
  const edit = new vscode.DocumentPasteEdit('', vscode.l10n.t('Paste Flags as Layout Keys'), EDIT_KIND);
  edit.additionalEdit = changeTo(document, written.text);
  return [edit];
}
