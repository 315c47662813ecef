import { countOf, type ResolvedLayout } from '../../layout';
import type { ModuleScore, Neighbour, PlottedAlternatives } from '../../layout/cost';
import { type Comparison, comparisonOf } from '../../picture/comparison';
import { type Difference, differenceOf } from '../../picture/difference';
import { isDrawn } from '../../picture/drawing';
import { RunOutcome } from '../../picture/runOutcome';
import { SmokeOutcome, type SmokeReport } from '../../picture/smokeOutcome';
import type { WorldOutline } from '../../picture/worldDiagram';
import type { PanelBase, PanelDiagnostic, ToPanel } from './messages';

/** What a layout is weighed against, as far as it is drawn. */
interface PanelTradeoffs {
  readonly alternatives: PlottedAlternatives;
  readonly neighbours: readonly Neighbour[];
}

type LayoutMessage = Extract<ToPanel, { type: 'layout' }>;

/** What the editor says of a layout that resolves, and of no other. */
export interface Told
  extends Pick<LayoutMessage, 'title' | 'sequences' | 'shards' | 'stages' | 'cost' | 'values' | 'checkpoint'> {
  readonly layout: ResolvedLayout;
}

/** All that the editor has said, and what follows from it. */
export class PanelModel {
  /** What was said of the last text that resolved. */
  told: Told | null = null;
  /** Whether the text has changed since into one that does not resolve. */
  isStale = false;
  outline: WorldOutline = { worldSize: null, spans: [], phases: [], weights: [] };
  diagnostics: readonly PanelDiagnostic[] = [];
  /** The last scores that were known. */
  scores: readonly ModuleScore[] = [];
  /** Whether the text has errors, so that the scores are those of an older one. */
  isUnsound = false;
  tradeoffs: PanelTradeoffs | null = null;
  /** Whether the trade-offs are of an older text. */
  isWeighing = true;
  /** The address of the document; empty until the editor has said something of it. */
  uri = '';
  /** The module that the cursor is in. */
  cursorModule: string | null = null;
  base: PanelBase | null = null;
  difference: Difference | null = null;
  /** How the layout differs in keys and cost; null where nothing is compared. */
  comparison: Comparison | null = null;
  results: SmokeOutcome | null = null;
  run: RunOutcome | null = null;
  /** How the job goes on without some ranks, as the editor told last. */
  recoveries: Extract<ToPanel, { type: 'recoveries' }> | null = null;
  #report: SmokeReport | null = null;

  /** The last layout that resolved. */
  get layout(): ResolvedLayout | null {
    return this.told?.layout ?? null;
  }

  /** Applies a message of the editor; returns the text for the live region, empty for none. */
  receive(message: ToPanel): string {
    switch (message.type) {
      case 'layout':
        this.#receiveLayout(message);
        return '';
      case 'cursor':
        this.cursorModule = message.module;
        return '';
      case 'base':
        this.base = message.base;
        this.#compare();
        return this.#comparison();
      case 'tradeoffs':
        this.tradeoffs = this.#weighed(message);
        this.isWeighing = false;
        return '';
      case 'smoke':
        this.#report = message;
        this.results = this.layout && new SmokeOutcome(this.layout, message);
        // each step of a job that runs would be too much to listen to
        return message.running
          ? ''
          : `Smoke job: ${message.verdict}, ${countOf(message.groups.length, 'process group')} with a result`;
      case 'run':
        this.run = new RunOutcome(message.report);
        return this.layout ? this.run.headline(this.layout).title : '';
      case 'recoveries':
        this.recoveries = message;
        return '';
      case 'locked':
      case 'showSmoke':
      case 'showRun':
        return '';
    }
  }

  #receiveLayout(message: LayoutMessage): void {
    const { type: _, uri, layout, outline, scores, diagnostics, ...told } = message;
    if (uri !== this.uri) {
      this.#forget();
      this.uri = uri;
    }
    this.isWeighing = true;
    this.isUnsound = scores === null;
    this.scores = scores ?? this.scores;
    this.diagnostics = diagnostics;
    this.outline = outline;
    this.isStale = layout === null && this.layout !== null;
    if (layout) {
      this.told = { ...told, layout, title: layout.name ?? told.title };
      this.results = this.#report && new SmokeOutcome(layout, this.#report);
      this.#compare();
    }
  }

  #weighed({ neighbours, alternatives }: Extract<ToPanel, { type: 'tradeoffs' }>): PanelTradeoffs | null {
    const known = alternatives ?? this.tradeoffs?.alternatives;
    return known ? { neighbours, alternatives: known } : null;
  }

  /** Lets go of all that belongs to another document. */
  #forget(): void {
    this.told = null;
    this.scores = [];
    this.tradeoffs = null;
    this.base = null;
    this.results = null;
    this.run = null;
    this.#report = null;
    this.cursorModule = null;
  }

  #compare(): void {
    const { base, told, layout } = this;
    const before = base?.layout;
    this.difference = before && layout && isDrawn(before) && isDrawn(layout) ? differenceOf(before, layout) : null;
    this.comparison =
      before && told
        ? comparisonOf(
            { layout: before, values: base.values, scores: base.scores ?? [] },
            { layout: told.layout, values: told.values, scores: this.isUnsound ? [] : this.scores },
          )
        : null;
  }

  #comparison(): string {
    if (!this.base) {
      return '';
    }
    const ranks = this.difference
      ? `. ${countOf(this.difference.ranks.length, 'rank')} differ from ${this.base.title}`
      : '';
    return this.comparison ? `${this.comparison.headline}${ranks}` : (this.base.problem ?? '');
  }
}
