import { countOf, grouped, type ResolvedLayout } from '../../layout';
import { markedDifference } from '../../picture/difference';
import type { Found } from '../../picture/find';
import { coordinatesText, groupsNamed, modulesOf, placeOf } from '../../picture/rankDetails';
import { failedRanks } from '../../picture/roles';
import { DIAGRAM_WIDTH, diagramSvg, svgOf } from '../../picture/svg';
import { csvOf } from '../../picture/table';
import { type ExportFormat, pngOf } from '../render/export';
import { onThemeChange } from '../render/theme';
import { viewOf } from '../views';
import { highlightedGroup } from '../views/pictures';
import type { Actions, Scene } from '../views/view';
import { takeDrops } from './drops';
import { type FromPanel, isToPanel, MAX_FAILED, type ToPanel } from './messages';
import { PanelModel } from './model';
import { Screen } from './screen';
import { Spotlight } from './spotlight';
import { type PanelState, restoredState, stateOfAnother, WHOLE } from './state';

/** What the editor gives to a webview. */
export interface VsCodeApi {
  postMessage(message: FromPanel): void;
  getState(): unknown;
  setState(state: PanelState): void;
}

/** How long a pointer rests on a rank before it is read out, and a movement before it is saved, in milliseconds. */
const REST = 250;

/** More ranks than this that a search found are shown by dimming the others. */
const FEW = 64;

/** How much larger or smaller one key press makes the picture. */
const ZOOM = 1.5;

/** Tables of more ranks are not saved. */
const MAX_SAVED = 4_194_304;

/** The panel: applies messages of the editor and input of the person to its state, and renders it. */
export class GridApp {
  readonly #model = new PanelModel();
  readonly #screen: Screen;
  readonly #spotlight: Spotlight;
  readonly #actions: Actions;
  #state: PanelState;
  #frame = 0;
  #spoken: ReturnType<typeof setTimeout> | undefined;
  #saving: ReturnType<typeof setTimeout> | undefined;

  constructor(
    root: HTMLElement,
    readonly api: VsCodeApi,
  ) {
    this.#state = restoredState(api.getState(), decodeURI(document.body.dataset.uri ?? ''));
    this.#spotlight = new Spotlight(this.#state.rank);
    this.#actions = {
      change: (part) => this.#change(part),
      choose: (rank) => this.#choose(rank),
      light: (ranks, what) => this.#light(ranks, what),
      preview: (ranks, before) => {
        this.#spotlight.preview(ranks, before);
        this.#mark();
      },
      toggleFailed: (rank) => this.#setFailed([rank], !this.#state.failed.includes(rank)),
      send: (message) => this.#send(message),
      announce: (text) => this.#screen.announce(text),
      copy: (text, what) => this.#copy(text, what),
    };
    this.#screen = new Screen(
      root,
      {
        hovered: (rank) => this.#look(rank < 0 ? this.#state.rank : rank, true),
        clicked: (rank) => this.#click(rank),
        opened: (rank) => this.#reveal(rank),
        framed: (ranks) => this.#framed(ranks),
        moved: (viewport) => this.#rememberSoon({ viewport }),
        resized: () => this.#renderSoon(),
        keyed: (event) => this.#key(event),
      },
      {
        lock: (locked) => {
          this.#remember({ locked });
          this.api.postMessage({ type: 'lock', locked });
          this.#render();
        },
        export: (format) => void this.#export(format),
        exportTable: () => this.#exportTable(),
        frame: (on) => {
          this.#screen.stage.framing = on;
        },
        found: (found, index) => this.#found(found, index),
      },
      this.#actions,
      () => this.#scene(),
      () => this.#spotlight.focus,
    );
    this.#listen();
    this.api.setState(this.#state);
    this.api.postMessage({ type: 'lock', locked: this.#state.locked });
    this.api.postMessage({ type: 'ready' });
    this.#askForBase();
  }

  /** Asks for the layout that a person compares with. */
  #askForBase(): void {
    const { compare, baseFile } = this.#state;
    if (compare !== 'nothing') {
      this.api.postMessage({ type: 'compare', with: compare, file: baseFile });
    }
  }

  #listen(): void {
    window.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (isToPanel(data)) {
        this.#receive(data);
      }
    });
    takeDrops((addresses) => this.api.postMessage({ type: 'verifyRun', addresses }));
    window.addEventListener('keydown', (event) => {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (event.key === '/' && !typing) {
        event.preventDefault();
        this.#screen.toolbar.focusFind();
      } else if (event.key === 'Escape' && !typing) {
        this.#goBack();
      }
    });
    onThemeChange(() => this.#renderSoon());
  }

  #receive(message: ToPanel): void {
    if (message.type === 'layout' && message.uri !== this.#state.uri) {
      this.#follow(message.uri);
    }
    const spoken = this.#model.receive(message);
    if (spoken !== '') {
      this.#screen.announce(spoken);
    }
    const { layout } = this.#model;
    if (message.type === 'layout' && layout) {
      const rank =
        this.#spotlight.limit(layout.worldSize) || this.#state.rank >= layout.worldSize ? -1 : this.#state.rank;
      this.#remember({ rank, failed: this.#state.failed.filter((one) => one < layout.worldSize) });
      this.#askRecoveries();
    }
    if (message.type === 'locked') {
      this.#remember({ locked: true });
    }
    if (message.type === 'base') {
      this.#remember(message.base ? { baseFile: message.base.file } : this.#withoutBase());
    }
    if (message.type === 'showSmoke' || message.type === 'showRun') {
      this.#change({ view: message.type === 'showRun' ? 'run' : 'smoke' });
      return;
    }
    if (message.type === 'layout') {
      this.#weigh();
    }
    this.#render();
  }

  /** Asks what the layout is weighed against, where that is shown. */
  #weigh(): void {
    if (this.#state.view === 'tradeoffs' && this.#model.isWeighing) {
      this.api.postMessage({ type: 'weigh' });
    }
  }

  /** Shows another document: what a person chose of views stays, what belongs to the old document goes. */
  #follow(uri: string): void {
    this.#state = stateOfAnother(this.#state, uri);
    this.api.setState(this.#state);
    this.#spotlight.forget();
    this.#screen.scrollToTop();
    this.#askForBase();
  }

  #remember(part: Partial<PanelState>): void {
    this.#state = { ...this.#state, ...part };
    this.api.setState(this.#state);
  }

  /** As `remember`, but saves only once a movement has ended. */
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
    this.#spotlight.preview([]);
    if (part.group !== undefined) {
      this.#spotlight.highlighted = [];
    }
    this.#remember(shape ? { ...part, viewport: WHOLE } : part);
    if (part.view !== undefined) {
      this.#weigh();
      this.#screen.scrollToTop();
    }
    this.#render();
    const scene = this.#scene();
    if (!scene) {
      return;
    }
    if (part.isolated !== undefined) {
      const kind = highlightedGroup(scene);
      this.#screen.announce(part.isolated ? `Only the ${kind} group is shown` : 'All ranks are shown');
    } else if (part.view || part.colour || part.group) {
      this.#screen.announce(this.#screen.viewText(scene));
    }
  }

  /** Shows again what is dimmed, one step at a time: ranks that were searched for, then a group, then the chosen rank. */
  #goBack(): void {
    this.#spotlight.preview([]);
    if (this.#spotlight.highlighted.length > 0) {
      this.#spotlight.highlighted = [];
      this.#mark();
      this.#screen.announce('All ranks are shown');
    } else if (this.#state.isolated && this.#state.view !== 'groups') {
      this.#change({ isolated: false });
    } else if (this.#state.rank >= 0) {
      this.#click(-1);
      this.#screen.announce('No rank is chosen');
    }
  }

  /** What is shown alone, in words; empty while all ranks are. */
  #aloneText(layout: ResolvedLayout, kind: string): string {
    const { highlighted } = this.#spotlight;
    const { rank, isolated, view } = this.#state;
    if (highlighted.length > FEW && this.#spotlight.focus === rank) {
      return `Only ${countOf(highlighted.length, 'rank')} found`;
    }
    if (rank < 0 || !(isolated || view === 'groups')) {
      return '';
    }
    const [group] = groupsNamed(layout, rank, kind);
    return group ? `Only ${kind} group ${grouped(group.index)}` : '';
  }

  #scene(): Scene | null {
    const { told } = this.#model;
    const { width } = this.#screen.stage;
    return (
      told && {
        ...this.#model,
        ...told,
        state: this.#state,
        failed: this.#failed(told.layout),
        actions: this.#actions,
        width,
      }
    );
  }

  /** Ranks that the file or a person calls failed, ascending. */
  #failed(layout: ResolvedLayout): number[] {
    return [...new Set([...failedRanks(layout), ...this.#state.failed])].sort((a, b) => a - b);
  }

  /** Renders once in the next frame, however often it is called. */
  #renderSoon(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#render();
    });
  }

  #render(): void {
    const scene = this.#scene();
    this.#screen.render(this.#model, scene, () => this.#state.viewport);
    this.#mark();
  }

  /** Looks at a rank: its peers are highlighted, the list names its groups. */
  #look(rank: number, isResting: boolean): void {
    if (rank === this.#spotlight.focus) {
      return;
    }
    this.#spotlight.focus = rank;
    this.#mark();
    clearTimeout(this.#spoken);
    if (isResting) {
      this.#spoken = setTimeout(() => this.#say(rank), REST);
      this.#screen.detailsSoon();
    } else {
      this.#say(rank);
      this.#screen.renderDetails();
    }
  }

  #say(rank: number): void {
    const { layout } = this.#model;
    if (layout && rank >= 0 && rank < layout.worldSize) {
      const failed = this.#failed(layout).includes(rank) ? ', failed' : '';
      this.#screen.announce(`Rank ${rank}, ${placeOf(layout, rank)}, ${coordinatesText(layout, rank)}${failed}`);
    }
  }

  #mark(): void {
    const { layout, results, run } = this.#model;
    if (!layout) {
      return;
    }
    const culprits = this.#state.view === 'run' && run ? run.culprits : [];
    const { focus } = this.#spotlight;
    const kind = highlightedGroup({ layout, state: this.#state });
    const marks = {
      focus,
      peers: this.#spotlight.peers(layout, kind, this.#state.rank),
      named: this.#named(kind),
      isolated: this.#isIsolated,
      failed: [...new Set([...this.#failed(layout), ...(results?.suspects ?? []), ...culprits])],
      frame: null,
    };
    const { previewedBefore: before } = this.#spotlight;
    this.#screen.stage.mark(marks, before ? { ...marks, focus: -1, peers: before, failed: [] } : marks);
    const isOfRanks = this.#screen.sketch !== null;
    this.#screen.showAlone(isOfRanks ? this.#aloneText(layout, kind) : '', () => this.#goBack());
  }

  /** Whether the marked ranks are shown alone: those of a list entry, those of a long search, or a group. */
  get #isIsolated(): boolean {
    const { focus, previewed, highlighted } = this.#spotlight;
    const isSearch = highlighted.length > 0 && focus === this.#state.rank;
    const isGroup = focus >= 0 && (this.#state.isolated || this.#state.view === 'groups');
    return previewed.length > 0 || (isSearch ? highlighted.length > FEW : isGroup);
  }

  /** What the marks that stay are: those of a search, or of the chosen rank. */
  #named(kind: string): string {
    const { rank } = this.#state;
    if (this.#spotlight.highlighted.length > 0) {
      return 'chosen ranks';
    }
    return rank < 0 ? '' : `rank ${grouped(rank)} and its ${kind} peers`;
  }

  #choose(rank: number): void {
    this.#spotlight.highlighted = [];
    this.#remember({ rank });
    this.#look(rank, false);
    this.#mark();
    const { canvas } = this.#screen.stage;
    canvas.reveal(rank);
    if (!canvas.element.isConnected) {
      this.#render();
    }
  }

  /** Highlights ranks and moves to the first; called again with the same ranks, it moves to the next. */
  #light(ranks: readonly number[], what: string): void {
    const rank = this.#spotlight.next(ranks);
    if (rank !== undefined) {
      this.#choose(rank);
      this.#spotlight.highlighted = ranks;
      this.#mark();
      this.#screen.announce(`${countOf(ranks.length, 'rank')}: ${what}; now at rank ${rank}`);
    }
  }

  #found(found: Found, index: number): void {
    if ('problem' in found) {
      this.#spotlight.highlighted = [];
      this.#mark();
      this.#screen.announce(found.problem);
      return;
    }
    const rank = found.rankAt(index);
    this.#choose(rank);
    this.#say(rank);
    this.#spotlight.highlight(found.count, (i) => found.rankAt(i));
    this.#mark();
  }

  #click(rank: number): void {
    if (this.#screen.stage.canvas.framing && rank >= 0) {
      this.#actions.toggleFailed(rank);
      return;
    }
    this.#spotlight.highlighted = [];
    this.#remember(rank < 0 ? { rank, isolated: false } : { rank });
    this.#look(rank, false);
    this.#mark();
  }

  #reveal(rank: number): void {
    const { layout } = this.#model;
    const [module] = layout ? modulesOf(layout, rank) : [];
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
    this.#askRecoveries();
    const all = ranks.length === 1 ? `Rank ${ranks[0]}` : countOf(ranks.length, 'rank');
    const full = fail && failed.size === MAX_FAILED ? `; no more than ${grouped(MAX_FAILED)} can be marked` : '';
    this.#screen.announce(`${all} ${fail ? 'marked as failed' : 'no longer marked as failed'}${full}`);
    this.#render();
    if (fail) {
      // how the job goes on
      this.#screen.showCards();
    }
  }

  /** Asks how the job goes on without the ranks that a person marked; the editor knows what the file says of the batch. */
  #askRecoveries(): void {
    const { layout } = this.#model;
    if (layout && this.#state.failed.length > 0) {
      this.api.postMessage({ type: 'askRecoveries', ranks: this.#failed(layout).slice(0, MAX_FAILED) });
    }
  }

  /** Tells the editor to do something. A layout that is written without the failed ranks has none: all marks go. */
  #send(message: FromPanel): void {
    this.api.postMessage(message);
    const isResized = message.type === 'tryChange' && message.kind === 'resized' && message.how === 'apply';
    if (isResized || message.type === 'writeFailed' || message.type === 'writeRecovery') {
      this.#change({ failed: [] });
    }
  }

  #copy(text: string, what: string): void {
    this.api.postMessage({ type: 'copy', text });
    this.#screen.announce(`Copied the ${what}`);
  }

  /** A file that was never saved has no saved text: the choice stays for when it has. */
  #withoutBase(): Pick<PanelState, 'compare' | 'baseFile'> {
    return { compare: this.#state.compare === 'saved' ? 'saved' : 'nothing', baseFile: null };
  }

  async #export(format: ExportFormat): Promise<void> {
    const scene = this.#scene();
    const svg = scene && this.#svgOf(scene);
    if (svg) {
      this.api.postMessage({ type: 'save', format, data: format === 'svg' ? svg : await pngOf(svg) });
    }
  }

  /** The picture or the diagram that is shown, as a file; null where the view has neither. */
  #svgOf(scene: Scene): string | null {
    const { layout, title: name, failed } = scene;
    const { sketch } = this.#screen;
    const view = viewOf(scene);
    const headline = view.headline(scene);
    if (sketch) {
      const difference = markedDifference(scene.difference, layout.worldSize);
      const kind = highlightedGroup(scene);
      const ranks = this.#isIsolated ? this.#spotlight.peers(layout, kind, this.#state.rank) : [];
      const [first = -1] = ranks;
      const group =
        view.id === 'groups'
          ? sketch.colouring.label(sketch.colouring.valueOf(first))
          : `${kind} group of rank ${grouped(this.#spotlight.focus)}`;
      const named = this.#spotlight.highlighted.length > 0 ? 'chosen ranks' : group;
      const isolated = ranks.length > 0 ? { ranks, name: named } : null;
      return svgOf({ ...sketch, isolated, difference, layout, name, failed, headline });
    }
    const diagram = view.diagram?.(scene, DIAGRAM_WIDTH);
    return diagram ? diagramSvg({ name, headline, diagram }) : null;
  }

  #exportTable(): void {
    const { layout } = this.#model;
    if (layout && layout.worldSize > MAX_SAVED) {
      this.#screen.announce(
        `${countOf(layout.worldSize, 'rank')} are too many for a file; up to ${grouped(MAX_SAVED)} are saved`,
      );
    } else if (layout) {
      this.api.postMessage({ type: 'save', format: 'csv', data: csvOf(layout) });
    }
  }

  /** Does what a key asks for while a picture has the focus; other keys, and keys with Control, Alt or Meta, go to the editor. */
  #key(event: KeyboardEvent): void {
    const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
    const { canvas } = this.#screen.stage;
    const { layout } = this.#model;
    const rank = this.#spotlight.focus;
    const arrow = (dx: number, dy: number) => () => this.#move([dx, dy], shiftKey);
    const zoom = (factor: number) => () => canvas.zoomBy(factor, rank);
    const keys: Readonly<Record<string, () => unknown>> = {
      ArrowLeft: arrow(-1, 0),
      ArrowRight: arrow(1, 0),
      ArrowUp: arrow(0, -1),
      ArrowDown: arrow(0, 1),
      Enter: () => rank >= 0 && this.#reveal(rank),
      x: () => this.#failSelection(),
      c: () =>
        layout &&
        rank >= 0 &&
        this.#copy(`rank ${rank}, ${placeOf(layout, rank)}, ${coordinatesText(layout, rank)}`, 'coordinates'),
      '+': zoom(ZOOM),
      '=': zoom(ZOOM),
      '-': zoom(1 / ZOOM),
      '0': () => {
        canvas.fit();
        this.#remember({ viewport: WHOLE });
      },
      Home: () => this.#choose(0),
      End: () => layout && this.#choose(layout.worldSize - 1),
    };
    const action = keys[key];
    if (action && !ctrlKey && !metaKey && !altKey) {
      action();
      event.preventDefault();
    }
  }

  /** Moves to the next cell that holds a rank; with Shift, a frame grows from where it began. */
  #move([dx, dy]: readonly [number, number], extend: boolean): void {
    const { canvas } = this.#screen.stage;
    const placement = canvas.shown?.picture.placement;
    if (!placement) {
      return;
    }
    const { focus, anchor } = this.#spotlight;
    const from = placement.cellOf(focus);
    if (!from) {
      this.#choose(0);
      return;
    }
    let { x, y } = from;
    const start = extend ? (anchor < 0 ? focus : anchor) : -1;
    for (let i = 0; i < Math.max(placement.width, placement.height); i++) {
      x += dx;
      y += dy;
      const rank = placement.rankAt(x, y);
      if (rank >= 0) {
        this.#choose(rank);
        this.#spotlight.anchor = start;
        this.#spotlight.highlighted = start < 0 ? [] : canvas.ranksBetween(start, rank);
        this.#mark();
        return;
      }
    }
  }

  /** Marks the rank, or all that were framed by Shift and arrow keys. */
  #failSelection(): void {
    const { anchor, highlighted, focus } = this.#spotlight;
    const ranks = anchor >= 0 ? highlighted : focus >= 0 ? [focus] : [];
    if (ranks.length > 0) {
      this.#framed(ranks);
    }
  }
}
