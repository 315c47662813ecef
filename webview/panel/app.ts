import { countOf, grouped, type ModuleSequence, type ResolvedLayout } from '../../layout';
import type { Colouring } from '../../picture/colour';
import { type Difference, differenceOf } from '../../picture/difference';
import { groupsNamed, placeOf, standing } from '../../picture/facts';
import type { Matches } from '../../picture/find';
import { failedRanks } from '../../picture/roles';
import { type SmokeReport, SmokeResults } from '../../picture/smokeOutcome';
import { type ExportFormat, pngOf, svgOf } from '../render/export';
import { onThemeChange } from '../render/theme';
import { viewOf } from '../views';
import { groupIn } from '../views/pictures';
import type { Actions, Scene } from '../views/view';
import { worldSheet } from '../views/world';
import { differenceCard, rankDetails, summary } from './details';
import { h, replaceKeepingFocus } from './dom';
import { failureCard } from './failureCard';
import { handleKey, type KeyActions } from './keyboard';
import { changeLegend, legendOf } from './legend';
import {
  type CompareWith,
  type FromPanel,
  isToPanel,
  MAX_FAILED,
  type PanelBase,
  type PanelFinding,
  type PanelOutline,
  type PanelShards,
  type ToPanel,
} from './messages';
import { noticeOf } from './notice';
import { Stage } from './stage';
import { type PanelState, restoredState, WHOLE } from './state';
import { Toolbar } from './toolbar';

/** What the editor gives to a webview. */
export interface VsCodeApi {
  postMessage(message: FromPanel): void;
  getState(): unknown;
  setState(state: PanelState): void;
}

/** The process groups along expert dimensions have names of their own. */
const GROUP_OF_DIM: Readonly<Record<string, string>> = { expt_tp: 'ep_tp', expt_dp: 'ep_dp' };

/** How long a pointer rests on a rank before it is read out, and a movement before it is kept, in milliseconds. */
const REST = 250;

/** How soon the list shows the rank under the pointer, in milliseconds. */
const FOLLOW = 60;

/** The panel: takes what the editor says, keeps what a person chose, and draws both. */
export class GridApp {
  readonly #live = h('div', { class: 'visually-hidden', role: 'status', 'aria-live': 'polite' });
  readonly #notice = h('div', { class: 'notice', role: 'alert', hidden: true });
  readonly #legend = h('div', { class: 'legend' });
  readonly #details = h('aside', { class: 'details', 'aria-label': 'Rank' });
  readonly #title = h('h1');
  readonly #toolbar: Toolbar;
  readonly #stage: Stage;
  readonly #actions: Actions;
  #state: PanelState;
  /** Whether the editor has said anything of the file. */
  #isTold = false;
  #layout: ResolvedLayout | null = null;
  #outline: PanelOutline = { worldSize: null, spans: [] };
  #findings: readonly PanelFinding[] = [];
  #sequences: readonly ModuleSequence[] = [];
  #shards: readonly PanelShards[] = [];
  #base: PanelBase | null = null;
  #difference: Difference | null = null;
  #smoke: SmokeReport | null = null;
  #results: SmokeResults | null = null;
  /** What colours the picture; null while the view has none. */
  #colouring: Colouring | null = null;
  /** The rank that is looked at: under the pointer, or else the chosen one. */
  #focus = -1;
  /** Ranks that a search or a list lit; they stay until something else is chosen. */
  #lit: readonly number[] = [];
  #litIndex = -1;
  #cursorModule: string | null = null;
  #anchor = -1;
  #frame = 0;
  #spoken: ReturnType<typeof setTimeout> | undefined;
  #detailsTimer: ReturnType<typeof setTimeout> | undefined;
  #saving: ReturnType<typeof setTimeout> | undefined;

  constructor(
    root: HTMLElement,
    readonly api: VsCodeApi,
  ) {
    this.#state = restoredState(api.getState(), decodeURI(document.body.dataset.uri ?? ''));
    this.#focus = this.#state.rank;
    this.#actions = {
      change: (part) => this.#change(part),
      choose: (rank) => this.#choose(rank),
      light: (ranks, what) => this.#light(ranks, what),
      toggleFailed: (rank) => this.#setFailed([rank], !this.#state.failed.includes(rank)),
      revealModule: (module) => api.postMessage({ type: 'reveal', module }),
      revealLine: (line) => api.postMessage({ type: 'revealLine', line }),
      copy: (text, what) => this.#copy(text, what),
      runSmokeJob: () => api.postMessage({ type: 'runSmokeJob' }),
    };
    this.#stage = new Stage({
      hovered: (rank) => this.#look(rank < 0 ? this.#state.rank : rank, true),
      clicked: (rank) => this.#click(rank),
      framed: (ranks) => this.#framed(ranks),
      moved: (viewport) => this.#rememberSoon({ viewport }),
      resized: () => this.#renderSoon(),
      keyed: (event) => handleKey(event, this.#keys()),
    });
    this.#toolbar = new Toolbar({
      compare: (what) => this.#compare(what),
      export: (format) => void this.#export(format),
      frame: (on) => {
        this.#stage.framing = on;
      },
      found: (matches, index) => this.#found(matches, index),
    });
    root.append(
      h('header', {}, h('div', { class: 'first' }, this.#title, this.#toolbar.tools), this.#toolbar.views),
      this.#notice,
      h('div', { class: 'body' }, h('div', { class: 'main' }, this.#stage.element, this.#legend), this.#details),
      this.#live,
    );
    this.#stage.prepare();
    this.#listen();
    this.api.setState(this.#state);
    this.api.postMessage({ type: 'ready' });
    if (this.#state.compare !== 'nothing') {
      this.api.postMessage({ type: 'compare', with: this.#state.compare, file: this.#state.baseFile });
    }
  }

  #listen(): void {
    window.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (isToPanel(data)) {
        this.#receive(data);
      }
    });
    window.addEventListener('keydown', (event) => {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (event.key === '/' && !typing) {
        event.preventDefault();
        this.#toolbar.focusFind();
      }
    });
    onThemeChange(() => this.#renderSoon());
  }

  #receive(message: ToPanel): void {
    switch (message.type) {
      case 'layout':
        this.#receiveLayout(message);
        break;
      case 'cursor':
        this.#cursorModule = message.module;
        break;
      case 'base':
        this.#base = message.base;
        this.#difference = this.#newDifference();
        this.#remember(message.base ? { baseFile: message.base.file } : { compare: 'nothing', baseFile: null });
        if (message.base) {
          const { length } = this.#difference?.ranks ?? [];
          this.#announce(
            this.#difference
              ? `${countOf(length, 'rank')} differ from ${message.base.title}`
              : (message.base.problem ?? ''),
          );
        }
        break;
      case 'smoke':
        this.#smoke = message;
        this.#results = this.#layout && new SmokeResults(this.#layout, message);
        this.#announce(
          `Smoke job: ${message.verdict}, ${countOf(message.groups.length, 'process group')} with a result`,
        );
        break;
      case 'showSmoke':
        this.#change({ view: 'smoke' });
        return;
    }
    this.#render();
  }

  #receiveLayout({ title, layout, outline, sequences, shards, findings }: Extract<ToPanel, { type: 'layout' }>): void {
    const first = this.#layout === null;
    this.#isTold = true;
    this.#title.textContent = layout?.name ?? title;
    this.#findings = findings;
    this.#outline = outline;
    document.body.classList.toggle('stale', layout === null && !first);
    if (!layout) {
      return;
    }
    this.#layout = layout;
    this.#sequences = sequences;
    this.#shards = shards;
    this.#difference = this.#newDifference();
    this.#results = this.#smoke && new SmokeResults(layout, this.#smoke);
    if (this.#state.rank >= layout.worldSize || this.#focus >= layout.worldSize) {
      this.#focus = -1;
      this.#remember({ rank: -1 });
    }
    this.#lit = this.#lit.filter((rank) => rank < layout.worldSize);
    this.#remember({ failed: this.#state.failed.filter((rank) => rank < layout.worldSize) });
  }

  #newDifference(): Difference | null {
    return this.#layout && this.#base?.layout ? differenceOf(this.#base.layout, this.#layout) : null;
  }

  #remember(part: Partial<PanelState>): void {
    this.#state = { ...this.#state, ...part };
    this.api.setState(this.#state);
  }

  /** As `remember`, but the editor is told once a movement has come to rest. */
  #rememberSoon(part: Partial<PanelState>): void {
    this.#state = { ...this.#state, ...part };
    clearTimeout(this.#saving);
    this.#saving = setTimeout(() => this.api.setState(this.#state), REST);
  }

  #change(part: Partial<PanelState>): void {
    const before = this.#state;
    const shape = (['view', 'grid', 'across', 'down', 'module'] as const).some(
      (key) => part[key] !== undefined && part[key] !== before[key],
    );
    this.#remember(shape ? { ...part, viewport: WHOLE } : part);
    this.#render();
    if (this.#layout && (part.view || part.colour || part.group)) {
      this.#announce(this.#viewText(this.#layout));
    }
  }

  #viewText({ worldSize }: ResolvedLayout): string {
    const scene = this.#scene();
    const view = scene ? viewOf(scene) : null;
    const colours = this.#colouring ? `, coloured by ${this.#colouring.name}` : '';
    return `${view?.label ?? ''} view, ${countOf(worldSize, 'rank')}${colours}`;
  }

  #scene(): Scene | null {
    const layout = this.#layout;
    return (
      layout && {
        layout,
        outline: this.#outline,
        sequences: this.#sequences,
        shards: this.#shards,
        findings: this.#findings,
        results: this.#results,
        base: this.#base,
        difference: this.#difference,
        state: this.#state,
        failed: this.#failed(layout),
        actions: this.#actions,
      }
    );
  }

  /** Ranks that the file or a person calls failed, ascending. */
  #failed(layout: ResolvedLayout): number[] {
    return [...new Set([...failedRanks(layout), ...this.#state.failed])].sort((a, b) => a - b);
  }

  /** Draws anew in the next frame, however often it is asked for. */
  #renderSoon(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#render();
    });
  }

  #render(): void {
    if (!this.#isTold) {
      return;
    }
    this.#renderNotice();
    const scene = this.#scene();
    if (!scene) {
      this.#stage.showOnly(
        this.#outline.spans.length > 0
          ? worldSheet(this.#outline, this.#findings, this.#actions)
          : h('p', { class: 'empty' }, 'The grid is drawn as soon as the layout says how many ranks there are.'),
      );
      return;
    }
    const view = viewOf(scene);
    const sketch = this.#stage.arrange(view, scene);
    this.#colouring = sketch?.colouring ?? null;
    const changes = this.#difference && this.#difference.ranks.length > 0 ? changeLegend() : [];
    this.#legend.replaceChildren(...(sketch ? [...legendOf(sketch.colouring), ...changes] : []));
    this.#toolbar.render(scene, this.#conditions(scene), sketch !== null);
    if (this.#details.hasChildNodes()) {
      this.#renderDetails();
    } else {
      // the first picture does not wait for the texts beside it
      this.#detailsSoon();
    }
    if (sketch) {
      this.#stage.draw(view, scene, sketch, this.#stands(scene), () => this.#state.viewport);
      this.#stage.canvas.element.setAttribute(
        'aria-label',
        `${this.#viewText(scene.layout)}. Arrow keys move between ranks.`,
      );
    }
    this.#mark();
  }

  /** Words that a search may use. */
  #conditions({ failed, results, difference }: Scene) {
    return { failed: [...new Set([...failed, ...(results?.suspects ?? [])])], differs: difference?.ranks ?? [] };
  }

  /** Which ranks stand out: those that differ, or those of the module that the cursor is in. */
  #stands({ layout, difference }: Scene): Uint8Array | null {
    if (difference) {
      return difference.ranks.length > 0 ? difference.changes : null;
    }
    const module = layout.modules.find(({ name }) => name !== null && name === this.#cursorModule);
    if (!module || module.numRanks === layout.worldSize) {
      return null;
    }
    return new Uint8Array(layout.worldSize).fill(1, module.rankOffset, module.rankOffset + module.numRanks);
  }

  #renderNotice(): void {
    const stale = document.body.classList.contains('stale');
    const notice = noticeOf(this.#findings, stale, this.#actions);
    replaceKeepingFocus(this.#notice, ...notice);
    this.#notice.hidden = notice.length === 0;
  }

  #renderDetails(): void {
    const scene = this.#scene();
    if (!scene) {
      this.#details.replaceChildren();
      return;
    }
    const write = (ranks: readonly number[]) => {
      this.api.postMessage({ type: 'writeFailed', ranks });
      this.#remember({ failed: [] });
      this.#render();
    };
    const clear = () => this.#setFailed(this.#state.failed, false);
    replaceKeepingFocus(
      this.#details,
      ...failureCard(scene, write, clear),
      ...differenceCard(scene),
      ...(this.#focus >= 0 && this.#focus < scene.layout.worldSize
        ? rankDetails(scene, this.#focus)
        : [summary(scene)]),
    );
  }

  /** Looks at a rank: its peers light up, the list names its groups. */
  #look(rank: number, resting: boolean): void {
    if (rank === this.#focus) {
      return;
    }
    this.#focus = rank;
    this.#mark();
    clearTimeout(this.#spoken);
    if (resting) {
      this.#spoken = setTimeout(() => this.#say(rank), REST);
    } else {
      this.#say(rank);
    }
    if (resting) {
      this.#detailsSoon();
    } else {
      this.#renderDetails();
    }
  }

  /** The list follows a moving pointer a few times a second: laying it out costs more than all the drawing. */
  #detailsSoon(): void {
    this.#detailsTimer ??= setTimeout(() => {
      this.#detailsTimer = undefined;
      this.#renderDetails();
    }, FOLLOW);
  }

  #say(rank: number): void {
    const layout = this.#layout;
    if (layout && rank >= 0 && rank < layout.worldSize) {
      const failed = this.#failed(layout).includes(rank) ? ', failed' : '';
      this.#announce(`Rank ${rank}, ${placeOf(layout, rank)}, ${standing(layout, rank)}${failed}`);
    }
  }

  #mark(): void {
    const layout = this.#layout;
    if (!layout) {
      return;
    }
    const [group] = this.#focus < 0 ? [] : groupsNamed(layout, this.#focus, this.#lightGroup(layout));
    this.#stage.mark({
      focus: this.#focus,
      peers: this.#lit.length > 0 && this.#focus === this.#state.rank ? this.#lit : (group?.ranks ?? []),
      failed: [...new Set([...this.#failed(layout), ...(this.#results?.suspects ?? [])])],
      frame: null,
    });
  }

  /** The group whose peers light up: that of the dimension that gives the colours, else the one chosen last. */
  #lightGroup(layout: ResolvedLayout): string {
    const { view, group, colour } = this.#state;
    const dim = view === 'physical' || view === 'logical' ? (GROUP_OF_DIM[colour] ?? colour) : '';
    return groupIn(layout, dim !== '' && groupIn(layout, dim) === dim ? dim : view === 'ntp' ? 'tp' : group);
  }

  #choose(rank: number): void {
    this.#lit = [];
    this.#remember({ rank });
    this.#look(rank, false);
    this.#stage.canvas.reveal(rank);
    if (!this.#stage.canvas.element.isConnected) {
      this.#render();
    }
  }

  /** Lights ranks; asked again for the same ones, it goes on to the next. */
  #light(ranks: readonly number[], what: string): void {
    const again = ranks.length === this.#lit.length && ranks.every((rank, i) => rank === this.#lit[i]);
    const index = again ? (this.#litIndex + 1) % Math.max(1, ranks.length) : 0;
    const rank = ranks[index];
    if (rank !== undefined) {
      this.#choose(rank);
      this.#lit = ranks;
      this.#litIndex = index;
      this.#mark();
      this.#announce(`${countOf(ranks.length, 'rank')}: ${what}; now at rank ${rank}`);
    }
  }

  #found(matches: Matches | null, index: number): void {
    if (!matches) {
      this.#announce('No rank was found');
      return;
    }
    this.#choose(matches.rankAt(index));
    if (matches.count > 1) {
      this.#lit = Array.from({ length: Math.min(matches.count, 4096) }, (_, i) => matches.rankAt(i));
      this.#mark();
    }
  }

  #click(rank: number): void {
    if (this.#stage.canvas.framing && rank >= 0) {
      this.#actions.toggleFailed(rank);
      return;
    }
    this.#lit = [];
    this.#remember({ rank });
    this.#look(rank, false);
    this.#mark();
    if (rank >= 0) {
      this.#reveal(rank);
    }
  }

  #reveal(rank: number): void {
    const module = this.#layout?.modules.find(
      ({ rankOffset, numRanks }) => rank >= rankOffset && rank < rankOffset + numRanks,
    );
    this.api.postMessage({ type: 'reveal', module: module?.name ?? null });
  }

  /** Marks ranks in a frame as failed, or takes all marks away where all had one. */
  #framed(ranks: readonly number[]): void {
    const fail = ranks.some((rank) => !this.#state.failed.includes(rank));
    this.#setFailed(ranks, fail);
  }

  #setFailed(ranks: readonly number[], fail: boolean): void {
    const failed = new Set(this.#state.failed);
    for (const rank of ranks) {
      if (!fail) {
        failed.delete(rank);
      } else if (failed.size < MAX_FAILED) {
        failed.add(rank);
      }
    }
    this.#remember({ failed: [...failed] });
    const all = ranks.length === 1 ? `Rank ${ranks[0]}` : countOf(ranks.length, 'rank');
    const full = fail && failed.size === MAX_FAILED ? `; no more than ${grouped(MAX_FAILED)} can be marked` : '';
    this.#announce(`${all} ${fail ? 'marked as failed' : 'no longer marked as failed'}${full}`);
    this.#render();
  }

  #copy(text: string, what: string): void {
    this.api.postMessage({ type: 'copy', text });
    this.#announce(`Copied the ${what}`);
  }

  #compare(what: CompareWith): void {
    this.#remember({ compare: what, baseFile: null });
    this.api.postMessage({ type: 'compare', with: what, file: null });
  }

  async #export(format: ExportFormat): Promise<void> {
    const { shown } = this.#stage.canvas;
    const layout = this.#layout;
    if (shown && layout) {
      const svg = svgOf(shown.picture, shown.bitmap, this.#title.textContent ?? '');
      this.api.postMessage({ type: 'save', format, data: format === 'svg' ? svg : await pngOf(svg) });
    }
  }

  /** What keys do while a picture has the focus. */
  #keys(): KeyActions {
    const { canvas } = this.#stage;
    const layout = this.#layout;
    const rank = this.#focus;
    return {
      move: (dx, dy, extend) => this.#move([dx, dy], extend),
      reveal: () => rank >= 0 && this.#reveal(rank),
      fail: () => this.#failSelection(),
      copy: () =>
        layout &&
        rank >= 0 &&
        this.#copy(`rank ${rank}, ${placeOf(layout, rank)}, ${standing(layout, rank)}`, 'coordinates'),
      leave: () => this.#click(-1),
      zoom: (factor) => canvas.zoomBy(factor),
      fit: () => {
        canvas.fit();
        this.#remember({ viewport: WHOLE });
      },
      first: () => this.#choose(0),
      last: () => layout && this.#choose(layout.worldSize - 1),
    };
  }

  /** Moves to the next cell that holds a rank; with Shift, a frame grows from where it began. */
  #move([dx, dy]: readonly [number, number], extend: boolean): void {
    const placement = this.#stage.canvas.shown?.picture.placement;
    if (!placement) {
      return;
    }
    const from = placement.cellOf(this.#focus);
    if (!from) {
      this.#choose(0);
      return;
    }
    let { x, y } = from;
    const anchor = extend ? (this.#anchor < 0 ? this.#focus : this.#anchor) : -1;
    for (let i = 0; i < Math.max(placement.width, placement.height); i++) {
      x += dx;
      y += dy;
      const rank = placement.rankAt(x, y);
      if (rank >= 0) {
        this.#choose(rank);
        this.#anchor = anchor;
        this.#lit = anchor < 0 ? [] : this.#stage.canvas.ranksBetween(anchor, rank);
        this.#mark();
        return;
      }
    }
  }

  /** Marks the rank, or all that were framed by Shift and arrow keys. */
  #failSelection(): void {
    const ranks = this.#anchor >= 0 ? this.#lit : this.#focus >= 0 ? [this.#focus] : [];
    if (ranks.length > 0) {
      this.#framed(ranks);
    }
  }

  #announce(text: string): void {
    this.#live.textContent = text;
  }
}
