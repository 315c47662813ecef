import * as vscode from 'vscode';
import { applyEdits, type Diagnostic, failureEdits, failurePlan, type LayoutFacts, type Recovery } from '../../layout';
import type { Alternatives, Tradeoffs } from '../../layout/cost';
import { isRunReport } from '../../picture/runOutcome';
import { type CompareWith, type FromPanel, parseFromPanel, type ToPanel } from '../../webview/panel/messages';
import { followedDocument } from '../launch/drawnDocument';
import { replaceLayout } from '../launch/edits';
import { launchOfLayout } from '../launch/scriptLayouts';
import { messageOf, showError, showInformation, showWarning } from '../notifications';
import { chooseFileBeside, localPath, nameOf } from '../paths';
import { readText } from '../readText';
import type { ServerDiagnostics } from '../serverDiagnostics';
import { understoodDocument } from '../understoodDocument';
import { addKey, columnOf, type Listed, ProposedChanges, proposedChange } from './changes';
import { baseFor, type CompareBase, NO_BASE } from './compareBase';
import { layoutMessage, moduleAt } from './messages';

const VIEW_TYPE = 'parallelismLayout.grid';

/** The largest report of a run that is read, in bytes. */
const MAX_REPORT_BYTES = 64 * 1024 * 1024;

/** How long a picture waits for what the language server says of its layout. Milliseconds. */
const SAID_LIMIT = 300;

/** How long a text rests before it is weighed against others. Milliseconds. */
const WEIGH_DELAY = 120;

/** What a person may ask to see: the results of the smoke job, or what `verify` found of a run. */
type Results = 'smoke' | 'run';
type ResultMessage = Extract<ToPanel, { type: Results }>;

const SHOW = { smoke: { type: 'showSmoke' }, run: { type: 'showRun' } } as const;

/** What survives a reload of the window. */
interface PanelState {
  readonly uri: string;
  readonly locked?: boolean;
}

/** The rank grid panels: one that follows the active layout, and those that are locked to theirs. */
export class GridPanels implements vscode.WebviewPanelSerializer {
  readonly #panels = new Set<GridPanel>();
  readonly changes = new ProposedChanges();
  /** The last results of every document, so that a grid that is opened later shows them too. */
  readonly #results = new Map<string, ReadonlyMap<Results, ResultMessage>>();
  readonly #opened = new vscode.EventEmitter<vscode.TextDocument>();

  /** Fires when the grid of a document opens, also with its window. */
  readonly onDidOpen = this.#opened.event;

  constructor(
    readonly extensionUri: vscode.Uri,
    readonly said: ServerDiagnostics,
  ) {}

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, this),
      this.changes,
      vscode.window.onDidChangeActiveTextEditor((editor) => void (editor && this.#follow(editor))),
      vscode.workspace.onDidSaveTextDocument((document) => this.#of(document)?.saved()),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.#of(document)?.textChanged()),
      // what the editor has closed has another document when it opens it again
      vscode.workspace.onDidOpenTextDocument((document) => this.#of(document)?.reopened(document)),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
        this.#of(textEditor.document)?.cursorMoved(textEditor);
        void this.#follow(textEditor);
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#results.delete(uri.toString())),
      this.#opened,
      this.said.onDidChange(() => this.#panels.forEach((panel) => void panel.saidAgain())),
      { dispose: () => this.#panels.forEach((panel) => void panel.dispose()) },
    );
  }

  /** The documents whose grids are open. */
  get documents(): readonly vscode.TextDocument[] {
    return [...this.#panels].map(({ document }) => document);
  }

  /**
   * Opens the grid of a document beside it, or brings it to the front: the panel that follows the editor, unless another has it.
   * @param results what a person asked to see
   */
  show(document: vscode.TextDocument, { results }: { readonly results?: Results } = {}): void {
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const known = this.#of(document) ?? this.#followed(document);
    const panel = known ?? this.#adopt(vscode.window.createWebviewPanel(VIEW_TYPE, '', column), document);
    if (results) {
      panel.askForResults(results);
    }
    known?.panel.reveal(undefined, true);
  }

  /** Shows the outcome of a smoke job, or what `verify` found of a run, on the grid of its layout, now or when that is opened. */
  showResult(document: vscode.Uri, message: ResultMessage): void {
    const key = document.toString();
    this.#results.set(key, new Map(this.#results.get(key)).set(message.type, message));
    this.#at(document)?.post(message);
  }

  /** What is known of the smoke job and the run of a document. */
  resultsOf(document: vscode.Uri): ReadonlyMap<Results, ResultMessage> {
    return this.#results.get(document.toString()) ?? new Map();
  }

  async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: PanelState | undefined): Promise<void> {
    try {
      const uri = vscode.Uri.parse(state?.uri ?? '', true);
      this.#adopt(panel, await vscode.workspace.openTextDocument(uri)).isLocked = state?.locked === true;
    } catch {
      // the document no longer exists
      panel.dispose();
    }
  }

  #of(document: vscode.TextDocument): GridPanel | undefined {
    return this.#at(document.uri);
  }

  #at(uri: vscode.Uri): GridPanel | undefined {
    return [...this.#panels].find(({ document }) => document.uri.toString() === uri.toString());
  }

  /** The panel that follows the editor, with another document in it; undefined where all are locked. */
  #followed(document: vscode.TextDocument): GridPanel | undefined {
    const panel = [...this.#panels].find(({ isLocked }) => !isLocked);
    if (panel) {
      panel.follow(document);
      this.#opened.fire(document);
    }
    return panel;
  }

  /** Shows the layout, or the job of the launch script, that has become active, unless all panels are locked or one shows it already. */
  async #follow(active: vscode.TextEditor): Promise<void> {
    if ([...this.#panels].every(({ isLocked }) => isLocked)) {
      return;
    }
    const document = await followedDocument(active);
    if (document && !this.#of(document) && vscode.window.activeTextEditor === active) {
      this.#followed(document);
    }
  }

  /** One panel follows the editor: where a person, or a restored window, lets another one follow, the one before stays. */
  lockOthers(following: GridPanel): void {
    for (const panel of this.#panels) {
      if (panel !== following && !panel.isLocked) {
        panel.isLocked = true;
        panel.post({ type: 'locked' });
      }
    }
  }

  #adopt(panel: vscode.WebviewPanel, document: vscode.TextDocument): GridPanel {
    this.#of(document)?.dispose();
    const own = new GridPanel(panel, document, this);
    this.#panels.add(own);
    this.#opened.fire(document);
    panel.onDidDispose(() => {
      own.disposed();
      this.#panels.delete(own);
    });
    return own;
  }
}

/** One panel and the document that it draws. */
class GridPanel {
  /** Whether the panel stays with its document while another one becomes active. */
  isLocked = false;
  #pending = false;
  #isReady = false;
  #weighed: Listed['weighed'] = null;
  #weighing: vscode.CancellationTokenSource | undefined;
  /** The layouts that the panel lists on what is left after ranks have failed. */
  #resized: Listed['resized'] = null;
  #resizing: vscode.CancellationTokenSource | undefined;
  /** The alternatives that the page has. */
  #plotted: Alternatives | null = null;
  /** What a person compares with, for when the file is saved. */
  #comparedWith: CompareWith = 'nothing';
  #diagnostics: readonly Diagnostic[] = [];
  /** The layout that it is compared with, where that has no errors. */
  #baseFacts: LayoutFacts | null = null;
  /** The results to show once the page is ready. */
  #wanted: Results | undefined;
  /** Whether the panel itself is moving the cursor, which highlights no module. */
  #revealing = false;
  readonly #shown = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('editor.rangeHighlightBackground'),
  });

  constructor(
    readonly panel: vscode.WebviewPanel,
    public document: vscode.TextDocument,
    readonly owner: GridPanels,
  ) {
    const { extensionUri } = owner;
    const assets = vscode.Uri.joinPath(extensionUri, 'dist', 'webview');
    this.#nameAfterDocument();
    const media = vscode.Uri.joinPath(extensionUri, 'media');
    panel.iconPath = {
      light: vscode.Uri.joinPath(media, 'layout-light.svg'),
      dark: vscode.Uri.joinPath(media, 'layout-dark.svg'),
    };
    panel.webview.options = { enableScripts: true, localResourceRoots: [assets] };
    panel.webview.onDidReceiveMessage((value: unknown) => {
      const message = parseFromPanel(value);
      if (message) {
        void this.#receive(message);
      }
    });
    panel.webview.html = html(panel.webview, assets, document.uri);
  }

  #nameAfterDocument(): void {
    this.panel.title = vscode.l10n.t('Ranks: {0}', this.#name);
  }

  /** Shows another document in place of the present one. */
  follow(document: vscode.TextDocument): void {
    this.document = document;
    this.#baseFacts = null;
    this.#plotted = null;
    this.#weighing?.cancel();
    this.#nameAfterDocument();
    if (this.#isReady) {
      void this.#sendLayout().then(() => this.#sendResults());
    }
  }

  /** Compares with what was saved, where a person chose that. */
  async saved(): Promise<void> {
    if (this.#comparedWith === 'saved') {
      await this.#sendBase('saved', null);
    }
  }

  /** Shows results; a panel that is hidden has no page, and loads one when it is revealed. */
  askForResults(results: Results): void {
    if (this.#isReady && this.panel.visible) {
      this.post(SHOW[results]);
    } else {
      this.#wanted = results;
    }
  }

  dispose(): void {
    this.panel.dispose();
  }

  /** Releases what the panel holds in the editor. */
  disposed(): void {
    this.#weighing?.cancel();
    this.#resizing?.cancel();
    this.#shown.dispose();
  }

  post(message: ToPanel): void {
    void this.panel.webview.postMessage(message);
  }

  /** Draws the document that the editor has opened for the same file. */
  reopened(document: vscode.TextDocument): void {
    if (this.document !== document) {
      this.document = document;
      this.textChanged();
    }
  }

  /** Sends the layout once for all changes of one turn. */
  textChanged(): void {
    if (!this.#pending) {
      this.#pending = true;
      setTimeout(() => {
        this.#pending = false;
        void this.#sendLayout();
      });
    }
  }

  cursorMoved(editor: vscode.TextEditor): void {
    if (this.#revealing) {
      this.#revealing = false;
      return;
    }
    editor.setDecorations(this.#shown, []);
    const offset = this.document.offsetAt(editor.selection.active);
    this.post({ type: 'cursor', module: moduleAt(understoodDocument(this.document), offset) });
  }

  /** The name of the file that is drawn: of the layout, or of the launch file that describes it. */
  get #name(): string {
    return nameOf(launchOfLayout(this.document.uri) ?? this.document.uri);
  }

  /** Sends the layout with what the language server says of it: with what it said last where it does not answer in time. */
  async #sendLayout(): Promise<void> {
    const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), SAID_LIMIT));
    this.#diagnostics = (await Promise.race([this.owner.said.now(this.document), late])) ?? this.#diagnostics;
    const { uri } = this.document;
    const about = { uri: uri.toString(true), title: this.#name };
    this.post(layoutMessage(understoodDocument(this.document), this.#diagnostics, about, this.#baseFacts));
  }

  /** Weighs the text against others, once it rests; a newer one takes its place. */
  async #weigh(): Promise<void> {
    this.#weighing?.cancel();
    const { document } = this;
    const { version } = document;
    if (!this.panel.visible) {
      return;
    }
    if (this.#weighed?.document === document && this.#weighed.version === version) {
      this.#postTradeoffs(this.#weighed.tradeoffs);
      return;
    }
    const source = new vscode.CancellationTokenSource();
    this.#weighing = source;
    await new Promise((resume) => setTimeout(resume, WEIGH_DELAY));
    const tradeoffs = await this.owner.said.tradeoffs(document, source.token);
    if (tradeoffs && !source.token.isCancellationRequested && document.version === version) {
      this.#weighed = { document, version, tradeoffs };
      this.#postTradeoffs(tradeoffs);
    }
    source.dispose();
  }

  /** Sends what is drawn of trade-offs: no texts of layouts, and no alternatives that the page has already. */
  #postTradeoffs({ neighbours, alternatives }: Tradeoffs): void {
    const { front: _, ...plotted } = { front: null, ...alternatives };
    this.post({ type: 'tradeoffs', neighbours, alternatives: alternatives === this.#plotted ? null : plotted });
    this.#plotted = alternatives;
  }

  /** Sends the layout again if the language server says something else of the same text. */
  async saidAgain(): Promise<void> {
    const found = this.#isReady ? await this.owner.said.now(this.document) : null;
    if (found && JSON.stringify(found) !== JSON.stringify(this.#diagnostics)) {
      await this.#sendLayout();
    }
  }

  async #receive(message: FromPanel): Promise<unknown> {
    switch (message.type) {
      case 'ready':
        this.#isReady = true;
        this.#plotted = null;
        await this.#sendLayout();
        return this.#sendResults();
      case 'copy':
        return vscode.env.clipboard.writeText(message.text);
      case 'compare':
        this.#comparedWith = message.with;
        return this.#sendBase(message.with, message.file);
      case 'weigh':
        return this.#weigh();
      case 'tryChange':
        return this.#tryChange(message);
      case 'addKey':
        return addKey(this.document, message.key);
      case 'lock':
        this.isLocked = message.locked;
        return message.locked || this.owner.lockOthers(this);
      case 'runSmokeJob':
        return this.#run('runSmokeJob', vscode.l10n.t('The smoke job needs an editor that can run processes.'));
      case 'verifyRun':
        return this.#verifyRun(message.addresses);
      case 'openRun':
        return this.#openRun();
      case 'reveal':
        return this.#revealModule(message.module);
      case 'revealLine':
        return this.#revealRange(this.document.lineAt(Math.min(message.line, this.document.lineCount - 1)).range);
      case 'fixLine':
        return this.#fixLine(message.line);
      case 'writeFailed':
        return this.#writeFailed(message.ranks);
      case 'askRecoveries':
        return this.#sendRecoveries(message.ranks);
      case 'writeRecovery':
        return this.#writeRecovery(message.way, message.ranks);
      case 'save':
        return this.#save(message.format, bytesOf(message.data, message.format === 'png'));
    }
  }

  #sendResults(): void {
    for (const message of this.owner.resultsOf(this.document.uri).values()) {
      this.post(message);
    }
    if (this.#wanted) {
      this.post(SHOW[this.#wanted]);
      this.#wanted = undefined;
    }
  }

  /** Runs a command, where this editor can run processes. @param missing what is said elsewhere */
  async #run(command: string, missing: string, argument: unknown = this.document.uri): Promise<void> {
    const name = `parallelismLayout.${command}`;
    if ((await vscode.commands.getCommands(true)).includes(name)) {
      await vscode.commands.executeCommand(name, argument);
    } else {
      void showInformation(missing);
    }
  }

  /** Verifies the layout against the files of a run, or against those that a person names. */
  async #verifyRun(addresses: readonly string[]): Promise<void> {
    const paths = addresses.flatMap((address) => localPath(address) ?? []);
    if (addresses.length > 0 && paths.length === 0) {
      void showError(vscode.l10n.t('Only files of this machine can be verified.'));
      return;
    }
    const { uri } = this.document;
    const missing = vscode.l10n.t('Verify Against Run needs an editor that can run processes.');
    await this.#run('verifyRun', missing, paths.length > 0 ? { uri: uri.toString(), paths } : uri);
  }

  /** Asks for a file that `verify` wrote, and shows it. */
  async #openRun(): Promise<void> {
    const file = await chooseFileBeside(this.document.uri, { JSON: ['json'] });
    if (!file) {
      return;
    }
    try {
      const report: unknown = JSON.parse((await readText(file, MAX_REPORT_BYTES)) ?? '');
      if (isRunReport(report)) {
        this.post({ type: 'run', report });
        return;
      }
    } catch {
      // an unreadable file gets the same message as one of another kind
    }
    void showError(vscode.l10n.t('{0} is not a JSON report of parallelism-layout verify.', nameOf(file)));
  }

  /** Compares with another layout; with none, where a person chose that. */
  async #sendBase(what: CompareWith, file: string | null): Promise<void> {
    // whatever went wrong in git or in the file system is the person's to know
    const failed = (error: unknown): CompareBase => ({ ...NO_BASE, problem: messageOf(error) });
    const found = await baseFor(this.document, what, file).catch(failed);
    const { facts, ...base } = found ?? NO_BASE;
    this.#baseFacts = facts;
    this.post({ type: 'base', base: found && base });
    if (facts) {
      await this.#sendLayout();
    }
  }

  /** Sends how the job goes on without ranks, and a moment later its layouts on what is left. */
  async #sendRecoveries(ranks: readonly number[]): Promise<void> {
    this.#resizing?.cancel();
    const source = new vscode.CancellationTokenSource();
    this.#resizing = source;
    const { document } = this;
    const { version } = document;
    const recoveries = await this.owner.said.recoveries(document, ranks);
    this.post({ type: 'recoveries', ranks, recoveries, resizing: null });
    const resizing = await this.owner.said.resizing(document, ranks, source.token);
    if (resizing && !source.token.isCancellationRequested) {
      this.#resized = resizing.ok ? { document, version, layouts: resizing.layouts } : null;
      this.post({ type: 'recoveries', ranks, recoveries, resizing });
    }
    source.dispose();
  }

  /** Shows or makes a change that the panel lists. */
  async #tryChange({ kind, index, how }: Extract<FromPanel, { type: 'tryChange' }>): Promise<void> {
    const proposed = proposedChange({ weighed: this.#weighed, resized: this.#resized }, kind, index);
    await (proposed && this.owner.changes.try(proposed, how));
  }

  /** Writes `ntp` for failed ranks; the file is left unsaved, and one undo takes it back. */
  async #writeFailed(ranks: readonly number[]): Promise<void> {
    const { facts, resolved } = understoodDocument(this.document);
    const known = ranks.every((rank) => rank < (resolved?.worldSize ?? 0));
    const plan = resolved && known ? failurePlan(resolved, ranks) : null;
    const edits = facts && plan ? failureEdits(facts, plan) : null;
    if (!edits) {
      void showWarning(vscode.l10n.t('The failed ranks could not be written into this file.'));
      return;
    }
    await replaceLayout(this.document, applyEdits(this.document.getText(), edits));
  }

  /** Writes the layout without the failed ranks as one edit, which undo reverts; the file is not saved. */
  async #writeRecovery(way: Recovery['way'], ranks: readonly number[]): Promise<void> {
    const found = await this.owner.said.recoveries(this.document, ranks);
    const text = found.find((one) => one.way === way)?.text ?? null;
    if (text !== null) {
      await replaceLayout(this.document, text);
    }
  }

  /** Asks for a file, beside the document by default, and writes the picture there. */
  async #save(format: 'svg' | 'png' | 'csv', content: Uint8Array): Promise<void> {
    const name = nameOf(this.document.uri).replace(/\.layout\.ya?ml$/, '');
    const target = await vscode.window.showSaveDialog({
      defaultUri: vscode.Uri.joinPath(this.document.uri, '..', `${name}.${format}`),
      filters: { [format.toUpperCase()]: [format] },
    });
    if (!target) {
      return;
    }
    try {
      await vscode.workspace.fs.writeFile(target, content);
    } catch (error) {
      const reason = messageOf(error);
      void showError(vscode.l10n.t('The file could not be saved: {0}', reason));
    }
  }

  async #revealModule(name: string | null): Promise<void> {
    const module = understoodDocument(this.document).facts?.modules.find((one) => one.name === name);
    if (module) {
      const start = this.document.positionAt(module.nameSpan.start);
      await this.#revealRange(new vscode.Range(start, this.document.positionAt(module.span.end)));
    }
  }

  /** Opens the list of fixes at the first diagnostic of a line. */
  async #fixLine(line: number): Promise<void> {
    const editor = await this.#editor(false);
    if (launchOfLayout(this.document.uri)) {
      return;
    }
    const found = vscode.languages
      .getDiagnostics(this.document.uri)
      .map(({ range }) => range.start)
      .find((start) => start.line === line);
    const place = found ?? new vscode.Position(Math.min(line, this.document.lineCount - 1), 0);
    editor.selection = new vscode.Selection(place, place);
    editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    await vscode.commands.executeCommand('editor.action.quickFix');
  }

  /** The editor of the layout, where it is shown already or in the first column; of one that a launch file describes, that of the launch file. */
  #editor(preserveFocus: boolean): Thenable<vscode.TextEditor> {
    const uri = launchOfLayout(this.document.uri) ?? this.document.uri;
    return vscode.window.showTextDocument(uri, {
      viewColumn: columnOf(uri),
      preserveFocus,
    });
  }

  /** Shows lines of the layout; of one that a launch file describes, the launch file. */
  async #revealRange(range: vscode.Range): Promise<void> {
    const editor = await this.#editor(true);
    if (launchOfLayout(this.document.uri)) {
      return;
    }
    this.#revealing = !editor.selection.active.isEqual(range.start);
    editor.selection = new vscode.Selection(range.start, range.start);
    editor.setDecorations(this.#shown, [range]);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }
}

/** The bytes of a text, or those that it writes in base64; the web has no `Buffer`. */
function bytesOf(text: string, isBase64: boolean): Uint8Array {
  return isBase64 ? Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0)) : new TextEncoder().encode(text);
}

/** The page: one script and one style sheet of our own, nothing else may run or load. */
function html(webview: vscode.Webview, assets: vscode.Uri, document: vscode.Uri): string {
  const source = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(assets, name)).toString();
  const policy = `default-src 'none'; script-src ${webview.cspSource}; style-src ${webview.cspSource}; img-src ${webview.cspSource} blob: data:`;
  return `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${source('grid.css')}">
<title>Rank grid</title>
</head>
<body data-uri="${encodeURI(document.toString(true)).replaceAll('"', '%22')}">
<main id="app"></main>
<script src="${source('main.js')}"></script>
</body>
</html>`;
}
