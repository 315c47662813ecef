import * as vscode from 'vscode';
import { applyEdits, isKeyPath, type Resized, understand } from '../../layout';
import { alternativeName, keyEdits, SECTIONS, type Tradeoffs } from '../../layout/cost';
import { changeTitle } from '../../picture/tradeoffs';
import type { ChangeHow, ChangeKind } from '../../webview/panel/messages';
import { addModel } from '../addModel';
import { KeptTexts } from '../keptTexts';
import { openLaunchPatch } from '../launch/commands';
import { replaceLayout } from '../launch/edits';
import { launchOfLayout } from '../launch/scriptLayouts';
import { showInformation } from '../notifications';
import { nameOf } from '../paths';

/** What was worked out of one version of a text. */
interface OfVersion {
  readonly document: vscode.TextDocument;
  readonly version: number;
}

/** The trade-offs of one version of a text. */
export interface WeighedText extends OfVersion {
  readonly tradeoffs: Tradeoffs;
}

/** What the panel lists: trade-offs, and layouts on what is left after ranks have failed. */
export interface Listed {
  readonly weighed: WeighedText | null;
  readonly resized: (OfVersion & { readonly layouts: readonly Resized[] }) | null;
}

/** A text that a person may put in place of that of a version. */
interface Proposed extends OfVersion {
  readonly title: string;
  readonly text: string;
}

/** Shows and makes changes that the panel offers. */
export class ProposedChanges implements vscode.Disposable {
  /** The last proposal of each document: one diff a document, however many changes a person walks through. */
  readonly #texts = new KeptTexts('parallelism-layout-change', '');

  dispose(): void {
    this.#texts.dispose();
  }

  /** Shows a change beside the present text, or makes it in one step of undo. A text that has changed meanwhile is left alone. */
  async try(proposed: Proposed, how: ChangeHow): Promise<void> {
    const { document, version, text } = proposed;
    if (document.version !== version) {
      void showInformation(vscode.l10n.t('The layout has changed meanwhile. Choose again.'));
    } else if (how === 'preview') {
      await this.#preview(document, proposed);
    } else if (how === 'apply') {
      await replaceLayout(document, text);
    } else {
      await openLaunchPatch(document, text);
    }
  }

  async #preview({ uri }: vscode.TextDocument, { title, text }: Proposed): Promise<void> {
    const address = this.#texts.keep(uri, uri.path, text);
    await vscode.commands.executeCommand('vscode.diff', uri, address, `${nameOf(uri)}: ${title}`, {
      viewColumn: columnOf(uri),
      preview: true,
      preserveFocus: true,
    });
  }
}

/** The column of an editor that shows the file; the first where none does, as the panel is in the second. */
export function columnOf(uri: vscode.Uri): vscode.ViewColumn {
  const shown = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri.toString());
  return shown?.viewColumn ?? vscode.ViewColumn.One;
}

/** The change of a kind and place in what the panel lists; null where there is none. */
export function proposedChange({ weighed, resized }: Listed, kind: ChangeKind, index: number): Proposed | null {
  if (kind === 'resized') {
    const planned = resized?.layouts[index]?.planned;
    if (!resized || !planned) {
      return null;
    }
    const title = vscode.l10n.t('{0} on {1} GPUs', alternativeName(planned), planned.gpus);
    return { ...resized, title, text: planned.text };
  }
  const { neighbours, alternatives } = weighed?.tradeoffs ?? {};
  const neighbour = kind === 'neighbour' ? neighbours?.[index] : undefined;
  const planned = kind === 'front' && alternatives?.ok ? alternatives.front[index] : undefined;
  if (weighed && neighbour) {
    const text = applyEdits(weighed.document.getText(), neighbour.edits);
    return { ...weighed, title: changeTitle(neighbour), text };
  }
  return weighed && planned ? { ...weighed, title: alternativeName(planned), text: planned.text } : null;
}

/** Writes a key without a value where the file lacks it, and opens the list of its values; for `model`, asks which. */
export async function addKey(document: vscode.TextDocument, path: string): Promise<void> {
  if (path === 'model' && !launchOfLayout(document.uri)) {
    return addModel(document);
  }
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
  const editor = await vscode.window.showTextDocument(document, { viewColumn: columnOf(document.uri) });
  const place = document.positionAt(at);
  editor.selection = new vscode.Selection(place, place);
  editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  await vscode.commands.executeCommand('editor.action.triggerSuggest');
}

/** Stands for the value that is to be chosen; no layout holds it. */
const MARK = '\u{e000}';
