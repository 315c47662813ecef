import * as vscode from 'vscode';
import {
  type KindOfGroups,
  layoutHash,
  nameOfKind,
  type RunRecord,
  slowdownLine,
  slowdowns,
  speedText,
} from '../../jobs';
import { understand } from '../../layout';
import { onDidRest } from '../layoutDocument';
import { currentLayoutText } from '../readText';
import type { ActiveRun, SmokeJobs } from './jobs';
import { outcomeIcon, outcomeText, timeOf } from './runSummary';

/** A run in progress. */
export class ActiveNode {
  constructor(readonly run: ActiveRun) {}
}

/** A run that has ended. */
export class RunNode {
  constructor(readonly record: RunRecord) {}
}

/** A fact about a run. */
interface FactNode {
  readonly item: vscode.TreeItem;
  readonly children?: readonly FactNode[];
}

export type Node = ActiveNode | RunNode | FactNode;

/** The colour of each icon of an outcome. */
const COLOURS = {
  pass: 'testing.iconPassed',
  'circle-slash': 'testing.iconSkipped',
  error: 'testing.iconFailed',
} as const;

/** Delay between an edit and the check whether the layout has changed since its runs. Milliseconds. */
const PATIENCE = 500;

/** The smoke jobs of this workspace, the last first: those in progress, then those that have ended. */
export class RunsView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<Node | undefined>();
  readonly #subscriptions: vscode.Disposable;
  readonly #followed = new WeakMap<ActiveRun, ActiveNode>();
  #hashes = new Map<string, Promise<string | undefined>>();
  readonly onDidChangeTreeData = this.#changed.event;

  constructor(readonly jobs: SmokeJobs) {
    this.#subscriptions = vscode.Disposable.from(
      this.#changed,
      jobs.onDidChange(() => this.#refresh()),
      onDidRest(() => this.#refresh(), PATIENCE),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  getChildren(node?: Node): Node[] | Promise<Node[]> {
    if (!node) {
      const active = this.jobs.active.map((run) => this.#follow(run));
      return [...active, ...this.jobs.history.runs.map((record) => new RunNode(record))];
    }
    if (node instanceof RunNode) {
      return this.#factsOf(node.record);
    }
    return node instanceof ActiveNode ? [] : [...(node.children ?? [])];
  }

  async getTreeItem(node: Node): Promise<vscode.TreeItem> {
    if (node instanceof ActiveNode) {
      return activeItem(node.run);
    }
    return node instanceof RunNode ? this.#runItem(node.record) : node.item;
  }

  #refresh(): void {
    this.#hashes = new Map();
    this.#changed.fire(undefined);
  }

  /** The node of a run in progress; it is drawn again at each step of the run. */
  #follow(run: ActiveRun): ActiveNode {
    const known = this.#followed.get(run);
    const node = known ?? new ActiveNode(run);
    if (!known) {
      this.#followed.set(run, node);
      // the progress ends with the run
      run.progress.onDidChange(() => this.#changed.fire(node));
    }
    return node;
  }

  async #runItem(record: RunRecord): Promise<vscode.TreeItem> {
    const slower = slowdowns(record, this.jobs.history.runs).length > 0;
    const changed = await this.#hasChanged(record);
    const outcome = outcomeText(record);
    const parts = [
      // the view is narrow: what matters most stands first
      ...(record.ok ? [] : [outcome]),
      ...(slower ? [vscode.l10n.t('slower')] : []),
      ...(changed ? [vscode.l10n.t('layout changed')] : []),
      record.cluster,
      timeOf(record),
      `${Math.round(record.seconds)} s`,
    ];
    const item = new vscode.TreeItem(record.name, vscode.TreeItemCollapsibleState.Collapsed);
    item.id = record.id;
    item.description = parts.join(' · ');
    item.iconPath = iconOf(record, slower);
    item.contextValue = 'run';
    item.tooltip = `${record.name}: ${[...(record.ok ? [outcome] : []), ...parts].join(', ')}`;
    item.accessibilityInformation = { label: item.tooltip };
    return item;
  }

  async #factsOf(record: RunRecord): Promise<FactNode[]> {
    const { fault, kinds, communicatorBytes } = record;
    const passed = kinds.reduce((sum, { groups }) => sum + groups, 0);
    const icon = (name: string, colour?: string) =>
      new vscode.ThemeIcon(name, colour === undefined ? undefined : new vscode.ThemeColor(colour));
    const warning = icon('warning', 'list.warningForeground');
    return [
      ...(fault ? [faultNode(record)] : []),
      ...slowdowns(record, this.jobs.history.runs).map((slower) => fact(slowdownLine(slower), '', warning)),
      ...record.warnings.map((text) => fact(text, '', warning)),
      fact(
        vscode.l10n.t('Cluster'),
        `${record.cluster} (${record.kind}, ${record.backend})`,
        icon('server-environment'),
      ),
      ...(record.device === '' ? [] : [fact(record.device, record.software.join('; '), icon('chip'))]),
      ...(communicatorBytes === null
        ? []
        : [
            fact(
              vscode.l10n.t('Communicators'),
              vscode.l10n.t('{0} GiB of each GPU', (communicatorBytes / 2 ** 30).toFixed(2)),
              icon('database'),
            ),
          ]),
      {
        ...fact(
          vscode.l10n.t('Process groups'),
          vscode.l10n.t('{0} of {1} passed', passed, record.allGroups),
          icon('type-hierarchy'),
        ),
        children: kinds.map((kind) => fact(nameOfKind(kind), kindText(kind, record.device))),
      },
      ...record.passed.map(({ name, message }) => fact(name, message, icon('pass', 'testing.iconPassed'))),
      ...record.skipped.map(({ name, reason }) =>
        fact(name, vscode.l10n.t('skipped: {0}', reason), icon('debug-step-over')),
      ),
      fact(
        vscode.l10n.t('Layout'),
        (await this.#hasChanged(record))
          ? vscode.l10n.t('{0}, changed since this run', record.layoutHash)
          : vscode.l10n.t('{0}, as it is now', record.layoutHash),
        icon('symbol-structure'),
      ),
    ].map(folded);
  }

  async #hasChanged(record: RunRecord): Promise<boolean> {
    const known = this.#hashes.get(record.uri) ?? hashOf(vscode.Uri.parse(record.uri));
    this.#hashes.set(record.uri, known);
    return (await known) !== record.layoutHash;
  }
}

/** The hash of a layout as it is now, on the screen or on the disk; undefined where it is gone or has errors. */
async function hashOf(uri: vscode.Uri): Promise<string | undefined> {
  const text = await currentLayoutText(uri);
  const resolved = text === null ? null : understand(text).resolved;
  return resolved ? layoutHash(resolved) : undefined;
}

function activeItem({ id, request, progress }: ActiveRun): vscode.TreeItem {
  const item = new vscode.TreeItem(request.name, vscode.TreeItemCollapsibleState.None);
  item.id = id;
  item.description = `${request.cluster} · ${progress.step.text}`;
  item.iconPath = new vscode.ThemeIcon('sync~spin');
  item.contextValue = 'running';
  item.tooltip = vscode.l10n.t('{0} runs on {1}: {2}', request.name, request.cluster, progress.step.text);
  item.accessibilityInformation = { label: item.tooltip };
  return item;
}

function iconOf(record: RunRecord, slower: boolean): vscode.ThemeIcon {
  if (record.ok && slower) {
    return new vscode.ThemeIcon('warning', new vscode.ThemeColor('list.warningForeground'));
  }
  const icon = outcomeIcon(record);
  return new vscode.ThemeIcon(icon, new vscode.ThemeColor(COLOURS[icon]));
}

function fact(label: string, description: string, icon?: vscode.ThemeIcon): FactNode {
  const item = new vscode.TreeItem(label);
  item.description = description;
  item.tooltip = description === '' ? label : `${label}: ${description}`;
  item.accessibilityInformation = { label: item.tooltip };
  if (icon) {
    item.iconPath = icon;
  }
  return { item };
}

/** A fact that has others below it starts folded. */
function folded(node: FactNode): FactNode {
  if (node.children && node.children.length > 0) {
    node.item.collapsibleState = vscode.TreeItemCollapsibleState.Collapsed;
  }
  return node;
}

/** The fault of a run; a click shows the line that it comes from. */
function faultNode(record: RunRecord): FactNode {
  const node = fact(
    record.fault?.msg ?? '',
    '',
    new vscode.ThemeIcon('error', new vscode.ThemeColor('testing.iconFailed')),
  );
  node.item.command = {
    title: vscode.l10n.t('Show in the File'),
    command: 'parallelismLayout.showSmokeFault',
    arguments: [record.id],
  };
  return node;
}

function kindText({ groups, size, speeds }: KindOfGroups, device: string): string {
  const measured = speeds.map(({ operation, busGBs }) => `${operation} ${speedText(busGBs, device)}`);
  return [`${groups} x ${size}`, ...measured].join(' · ');
}
