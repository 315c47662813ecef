import * as vscode from 'vscode';
import { applyEdits, isKeyPath, understand } from '../../layout';
import { alternativeName, keyEdits, SECTIONS, type Tradeoffs } from '../../layout/cost';
import { changeTitle } from '../../picture/tradeoffs';
import type { ChangeKind } from '../../webview/panel/messages';
import { replaceLayout } from '../launch/edits';
import { launchOfLayout } from '../launch/scriptLayouts';
import { showInformation } from '../notifications';
import { nameOf } from '../paths';

/** Texts as they would be after a change, beside which the present text is shown. */
const SCHEME = 'parallelism-layout-change';

/** The trade-offs of one version of a text. */
export interface WeighedText {
  readonly document: vscode.TextDocument;
  readonly version: number;
  readonly tradeoffs: Tradeoffs;
}

/** Shows and makes changes that the trade-offs of a layout offer. */
export class ProposedChanges implements vscode.TextDocumentContentProvider {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  /** The last proposal of each document: one diff a document, however many changes a person walks through. */
  readonly #texts = new Map<string, string>();

  register(): vscode.Disposable {
    return vscode.Disposable.from(this.#changed, vscode.workspace.registerTextDocumentContentProvider(SCHEME, this));
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? '';
  }

  /** Shows a change beside the present text, or makes it in one step of undo. A text that has changed meanwhile is left alone. */
  async try(weighed: WeighedText, kind: ChangeKind, index: number, how: 'preview' | 'apply'): Promise<void> {
    const { document, version } = weighed;
    if (document.version !== version) {
      void showInformation(vscode.l10n.t('The layout has changed meanwhile. Choose again.'));
      return;
    }
    const proposed = proposedText(weighed, kind, index);
    if (proposed && how === 'preview') {
      await this.#preview(document, proposed);
    } else if (proposed) {
      await replaceLayout(document, proposed.text);
    }
  }

  async #preview({ uri }: vscode.TextDocument, { title, text }: Proposed): Promise<void> {
    const address = vscode.Uri.from({ scheme: SCHEME, path: uri.path, query: uri.toString() });
    this.#texts.set(address.toString(), text);
    this.#changed.fire(address);
    const shown = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri.toString());
    await vscode.commands.executeCommand('vscode.diff', uri, address, `${nameOf(uri)}: ${title}`, {
      viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One,
      preview: true,
      preserveFocus: true,
    });
  }
}

interface Proposed {
  readonly title: string;
  readonly text: string;
}

function proposedText({ document, tradeoffs }: WeighedText, kind: ChangeKind, index: number): Proposed | null {
  if (kind === 'neighbour') {
    const neighbour = tradeoffs.neighbours[index];
    return neighbour ? { title: changeTitle(neighbour), text: applyEdits(document.getText(), neighbour.edits) } : null;
  }
  const { alternatives } = tradeoffs;
  const planned = alternatives.ok ? alternatives.front[index] : undefined;
  return planned ? { title: alternativeName(planned), text: planned.text } : null;
}

/** Writes a key without a value where the file lacks it, and opens the list of its values. */
export async function addKey(document: vscode.TextDocument, path: string): Promise<void> {
  const [name, key = ''] = path.split('.');
  const section = SECTIONS.find((one) => one === name);
  const { facts } = understand(document.getText());
  const edits = facts && section && isKeyPath(path) ? keyEdits(facts, [{ section, key, value: MARK }]) : null;
  if (!edits) {
    void showInformation(vscode.l10n.t('Write {0} into the file.', path));
    return;
  }
  const after = applyEdits(document.getText(), edits);
  const at = after.indexOf(MARK);
  await replaceLayout(document, after.slice(0, at) + after.slice(at + MARK.length));
  if (launchOfLayout(document.uri)) {
    return;
  }
  const shown = vscode.window.visibleTextEditors.find((editor) => editor.document === document);
  const editor = await vscode.window.showTextDocument(document, {
    viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One,
  });
  const place = document.positionAt(at);
  editor.selection = new vscode.Selection(place, place);
  editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  await vscode.commands.executeCommand('editor.action.triggerSuggest');
}

/** Stands for the value that is to be chosen; no layout holds it. */
const MARK = '\u{e000}';
