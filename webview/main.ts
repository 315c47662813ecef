import type { ModuleSequence, ResolvedLayout } from '../layout';
import { failurePlan, processGroups } from '../layout';
import { type Marks, RankCanvas } from './canvas';
import {
  bandwidthColouring,
  type Colouring,
  colourChoices,
  colourOf,
  dimensionColouring,
  groupColouring,
  groupNames,
  isRamp,
} from './colour';
import { formatted, h } from './dom';
import { type ExportFormat, pngOf, svgOf } from './export';
import { coordinatesOf, findRank, groupsOf, modulesOf, placeOf, rankList } from './facts';
import { type FromPanel, isToPanel, MAX_FAILED, type PanelFinding, type ToPanel } from './messages';
import { type GridKind, logicalPlacement, type Placement, physicalPlacement } from './placement';
import { sequenceView } from './sequence';
import { rankTable } from './table';
import { worldView } from './world';

interface VsCodeApi {
  postMessage(message: FromPanel): void;
  getState(): unknown;
  setState(state: PanelState): void;
}

declare function acquireVsCodeApi(): VsCodeApi;

const VIEWS = ['physical', 'logical', 'groups', 'sequence', 'world', 'table'] as const;
type View = (typeof VIEWS)[number];

/** What the group view colours by; bandwidth needs the result of a smoke job. */
type GroupShow = 'members' | 'bandwidth';

/** What a person chose; it survives hiding, moving and reloading the panel. */
interface PanelState {
  readonly uri: string;
  readonly view: View;
  readonly colour: string;
  readonly group: string;
  readonly show: GroupShow;
  readonly grid: GridKind;
}

/** The process groups along expert dimensions have names of their own. */
const GROUP_OF_DIM: Readonly<Record<string, string>> = { expt_tp: 'ep_tp', expt_dp: 'ep_dp' };

/** The legend names at most this many categories. */
const MAX_LEGEND = 14;

class GridApp {
  readonly #api = acquireVsCodeApi();
  readonly #canvas = new RankCanvas();
  readonly #live = h('div', { class: 'visually-hidden', role: 'status', 'aria-live': 'polite' });
  readonly #toolbar = h('div', { class: 'toolbar', role: 'toolbar', 'aria-label': 'Rank grid' });
  readonly #stage = h('div', { class: 'stage' });
  readonly #notice = h('div', { class: 'notice', role: 'alert' });
  readonly #legend = h('div', { class: 'legend' });
  readonly #details = h('aside', { class: 'details', 'aria-label': 'Rank' });
  readonly #title = h('h1');
  #state: PanelState;
  #layout: ResolvedLayout | null = null;
  #placement: Placement | null = null;
  #findings: readonly PanelFinding[] = [];
  #sequences: readonly ModuleSequence[] = [];
  #focus = -1;
  #pinned = false;
  #cursorModule: string | null = null;
  /** Ranks that a person marked as failed and that are not in the file. */
  readonly #failed = new Set<number>();
  #smoke: Extract<ToPanel, { type: 'smoke' }> | null = null;

  constructor(root: HTMLElement) {
    this.#state = restoredState(this.#api.getState(), decodeURI(document.body.dataset.uri ?? ''));
    this.#canvas.element.tabIndex = 0;
    this.#canvas.element.setAttribute('role', 'img');
    root.append(
      h('header', {}, this.#title, this.#toolbar),
      this.#notice,
      h('div', { class: 'body' }, h('div', { class: 'main' }, this.#stage, this.#legend), this.#details),
      this.#live,
    );
    this.#listen();
    this.#api.setState(this.#state);
    this.#api.postMessage({ type: 'ready' });
  }

  #listen(): void {
    const { element } = this.#canvas;
    window.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (isToPanel(data)) {
        this.#receive(data);
      }
    });
    element.addEventListener('pointermove', ({ offsetX, offsetY }) => {
      if (!this.#pinned) {
        this.#setFocus(this.#canvas.rankAt(offsetX, offsetY), false);
      }
    });
    element.addEventListener('pointerleave', () => {
      if (!this.#pinned) {
        this.#setFocus(-1, false);
      }
    });
    element.addEventListener('click', ({ offsetX, offsetY }) => {
      const rank = this.#canvas.rankAt(offsetX, offsetY);
      this.#pinned = rank >= 0;
      this.#setFocus(rank, true);
      if (rank >= 0) {
        this.#reveal(rank);
      }
    });
    element.addEventListener('keydown', (event) => this.#key(event));
  }

  #receive(message: ToPanel): void {
    switch (message.type) {
      case 'layout':
        this.#findings = message.findings;
        this.#title.textContent = message.layout?.name ?? message.title;
        if (message.layout) {
          this.#layout = message.layout;
          this.#sequences = message.sequences;
        }
        document.body.classList.toggle('stale', message.layout === null);
        this.#render();
        break;
      case 'cursor':
        this.#cursorModule = message.module;
        this.#mark();
        break;
      case 'smoke':
        this.#smoke = message;
        this.#render();
        this.#announce(`Smoke job: ${message.verdict}, ${message.groups.length} process groups passed`);
        break;
    }
  }

  #change(part: Partial<PanelState>): void {
    this.#state = { ...this.#state, ...part };
    this.#api.setState(this.#state);
    this.#render();
  }

  #render(): void {
    this.#renderNotice();
    const layout = this.#layout;
    if (!layout) {
      this.#stage.replaceChildren(h('p', { class: 'empty' }, 'The grid is drawn as soon as the layout has no errors.'));
      return;
    }
    if (this.#focus >= layout.worldSize) {
      this.#focus = -1;
      this.#pinned = false;
    }
    this.#renderToolbar(layout);
    const view = this.#view();
    if (view === 'sequence') {
      this.#stage.replaceChildren(sequenceView(this.#sequences));
      this.#legend.replaceChildren();
    } else if (view === 'world') {
      this.#stage.replaceChildren(worldView(layout, (module) => this.#api.postMessage({ type: 'reveal', module })));
      this.#legend.replaceChildren();
    } else if (view === 'table') {
      this.#stage.replaceChildren(rankTable(layout, (rank) => this.#choose(rank)));
      this.#legend.replaceChildren();
    } else {
      this.#renderPicture(layout);
    }
    this.#renderDetails();
    this.#mark();
  }

  #renderPicture(layout: ResolvedLayout): void {
    if (this.#canvas.element.parentElement !== this.#stage) {
      this.#stage.replaceChildren(this.#canvas.element);
    }
    const { clientWidth, clientHeight } = this.#stage;
    const aspect = Math.max(0.4, Math.min(4, (clientWidth || 4) / (clientHeight || 3)));
    const { grid } = this.#state;
    const view = this.#view();
    this.#placement = view === 'logical' ? logicalPlacement(layout, grid, aspect) : physicalPlacement(layout, aspect);
    const colouring = view === 'groups' ? this.#groupColouring(layout) : dimensionColouring(layout, this.#state.colour);
    this.#canvas.show({
      placement: this.#placement,
      colouring,
      describe: (rank) =>
        modulesOf(layout, rank)
          .slice(0, 1)
          .flatMap((module) => describeCell(module.name, coordinatesOf(module, rank))),
    });
    this.#canvas.element.setAttribute(
      'aria-label',
      `${formatted(layout.worldSize)} ranks, ${this.#state.view} view, coloured by ${colouring.name}. Arrow keys move between ranks.`,
    );
    this.#renderLegend(colouring);
  }

  /** The view that is shown: the chosen one, or the first where the layout has nothing to show in that one. */
  #view(): View {
    const { view } = this.#state;
    return view === 'sequence' && this.#sequences.length === 0 ? 'physical' : view;
  }

  #groupColouring(layout: ResolvedLayout): Colouring {
    const { group, show } = this.#state;
    const families = processGroups(layout);
    return show === 'bandwidth' && this.#smoke
      ? bandwidthColouring(families, group, this.#smoke.groups)
      : groupColouring(families, group);
  }

  #renderToolbar(layout: ResolvedLayout): void {
    const view = this.#view();
    const views = VIEWS.filter((name) => name !== 'sequence' || this.#sequences.length > 0);
    const tabs = views.map((name) => {
      const tab = h('button', { type: 'button', 'aria-pressed': String(name === view), class: 'tab' }, capital(name));
      tab.addEventListener('click', () => this.#change({ view: name }));
      return tab;
    });
    const colours = colourChoices(layout);
    if (!colours.some(({ id }) => id === this.#state.colour)) {
      this.#state = { ...this.#state, colour: colours[0]?.id ?? 'node' };
    }
    const groups = groupNames(layout);
    if (!groups.includes(this.#state.group)) {
      this.#state = { ...this.#state, group: groups[0] ?? 'tp' };
    }
    const pickers: HTMLElement[] = [];
    if (view === 'physical' || view === 'logical') {
      const options = colours.map(({ id, label }) => ({ value: id, label }));
      pickers.push(picker('Colour', options, this.#state.colour, (colour) => this.#change({ colour })));
    }
    if (view === 'logical') {
      const options = [
        { value: 'dense', label: 'dense' },
        { value: 'expert', label: 'expert' },
      ];
      pickers.push(picker('Grid', options, this.#state.grid, (grid) => this.#change({ grid: grid as GridKind })));
    }
    if (view === 'groups') {
      const options = groups.map((name) => ({ value: name, label: name }));
      pickers.push(picker('Process group', options, this.#state.group, (group) => this.#change({ group })));
      if (this.#smoke) {
        const shows = [
          { value: 'members', label: 'members' },
          { value: 'bandwidth', label: 'smoke job bandwidth' },
        ];
        const change = (show: string) => this.#change({ show: show === 'bandwidth' ? 'bandwidth' : 'members' });
        pickers.push(picker('Colour', shows, this.#state.show, change));
      }
    }
    // keep the search box itself, so that typing in it is not interrupted by edits of the text
    const find = this.#toolbar.querySelector('.find') ?? this.#findBox();
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.textContent : null;
    this.#toolbar.replaceChildren(
      h('div', { class: 'tabs', role: 'group', 'aria-label': 'View' }, ...tabs),
      ...pickers,
      ...(view === 'physical' || view === 'logical' || view === 'groups' ? [this.#exportPicker()] : []),
      find,
    );
    tabs.find((tab) => tab.textContent === focused)?.focus();
  }

  #exportPicker(): HTMLElement {
    const options = ['', 'svg', 'png'].map((value) => ({ value, label: value === '' ? 'as …' : value.toUpperCase() }));
    return picker('Export', options, '', (format) => {
      if (format === 'svg' || format === 'png') {
        void this.#export(format);
      }
      this.#render();
    });
  }

  async #export(format: ExportFormat): Promise<void> {
    const { shown } = this.#canvas;
    const layout = this.#layout;
    if (shown && layout) {
      const svg = svgOf(shown.picture, shown.bitmap, this.#title.textContent ?? '', layout.worldSize);
      this.#api.postMessage({ type: 'save', format, data: format === 'svg' ? svg : await pngOf(svg) });
    }
  }

  #findBox(): HTMLElement {
    const input = h('input', {
      type: 'search',
      class: 'find',
      placeholder: 'Find: 5, 0:5, dp=1 pp=0',
      'aria-label': 'Find a rank by number, node:gpu or coordinates',
    });
    input.addEventListener('keydown', ({ key }) => {
      const rank = key === 'Enter' && this.#layout ? findRank(this.#layout, input.value) : null;
      input.setAttribute('aria-invalid', String(key === 'Enter' && rank === null));
      if (rank !== null) {
        this.#choose(rank);
      }
    });
    return input;
  }

  #renderNotice(): void {
    const errors = this.#findings.filter(({ severity }) => severity === 'error');
    const rows = errors.slice(0, 3).map(({ code, message, line }) => {
      const link = h('button', { type: 'button', class: 'link' }, `line ${line + 1}`);
      link.addEventListener('click', () => this.#api.postMessage({ type: 'revealLine', line }));
      return h('div', { class: 'finding' }, h('span', { class: 'code' }, code), ` ${message} `, link);
    });
    const more = errors.length > 3 ? [h('div', {}, `and ${errors.length - 3} more`)] : [];
    const stale =
      this.#layout && errors.length > 0
        ? [h('div', { class: 'hint' }, 'The picture is of the last layout that was whole.')]
        : [];
    const isStale = document.body.classList.contains('stale');
    this.#notice.replaceChildren(...rows, ...more, ...(isStale ? stale : []));
    this.#notice.hidden = errors.length === 0;
  }

  #renderLegend(colouring: Colouring): void {
    const items = isRamp(colouring) ? rampLegend(colouring) : categoryLegend(colouring);
    this.#legend.replaceChildren(h('span', { class: 'what' }, `Colour: ${colouring.name}`), ...items);
  }

  #renderDetails(): void {
    const layout = this.#layout;
    const rank = this.#focus;
    if (!layout || rank < 0) {
      this.#details.replaceChildren(...(layout ? [...this.#failureCard(layout), summary(layout)] : []));
      return;
    }
    const modules = modulesOf(layout, rank);
    const groups = groupsOf(layout, rank).map(({ name, module, index, size, ranks }) => {
      const row = h(
        'button',
        { type: 'button', class: 'group', 'aria-pressed': String(name === this.#state.group) },
        h('span', { class: 'name' }, name),
        h('span', { class: 'peers' }, ranks ? rankList(ranks) : `${formatted(size)} ranks`),
      );
      row.title = `${name}${module === null ? '' : ` of ${module}`}, group ${index}: colour by it`;
      row.addEventListener('click', () => this.#change({ view: 'groups', group: name }));
      return h('li', {}, row);
    });
    const reveal = h('button', { type: 'button', class: 'link' }, 'Show in the file');
    reveal.addEventListener('click', () => this.#reveal(rank));
    const fail = h(
      'button',
      { type: 'button', class: 'link' },
      this.#failed.has(rank) ? 'Not failed' : 'Mark as failed',
    );
    fail.addEventListener('click', () => this.#toggleFailed(rank));
    this.#details.replaceChildren(
      ...this.#failureCard(layout),
      h('h2', {}, `Rank ${formatted(rank)}`),
      h('p', { class: 'place' }, placeOf(layout, rank)),
      ...modules.map((module) =>
        h(
          'p',
          {},
          ...(module.name === null ? [] : [h('strong', {}, module.name), ' ']),
          coordinatesOf(module, rank).join(', ') || 'alone',
        ),
      ),
      ...(modules.length === 0
        ? [h('p', { class: 'warning' }, 'No module has this rank.')]
        : [h('p', { class: 'actions' }, reveal, fail)]),
      h('h3', {}, `${groups.length} process groups with peers`),
      h('ul', { class: 'groups' }, ...groups),
    );
  }

  #toggleFailed(rank: number): void {
    if (!this.#failed.delete(rank) && this.#failed.size < MAX_FAILED) {
      this.#failed.add(rank);
    }
    this.#announce(`Rank ${rank} ${this.#failed.has(rank) ? 'marked as failed' : 'no longer marked as failed'}`);
    this.#mark();
    this.#renderDetails();
  }

  /** What going on without the marked ranks costs, and the button that writes it into the file. */
  #failureCard(layout: ResolvedLayout): HTMLElement[] {
    if (this.#failed.size === 0) {
      return [];
    }
    const ranks = [...new Set([...failedRanks(layout), ...this.#failed])]
      .filter((rank) => rank < layout.worldSize)
      .sort((a, b) => a - b);
    const plan = failurePlan(layout, ranks);
    const write = h('button', { type: 'button', class: 'primary' }, 'Write to file');
    write.addEventListener('click', () => {
      this.#api.postMessage({ type: 'writeFailed', ranks });
      this.#failed.clear();
      this.#renderDetails();
    });
    const clear = h('button', { type: 'button', class: 'link' }, 'Clear');
    clear.addEventListener('click', () => {
      this.#failed.clear();
      this.#mark();
      this.#renderDetails();
    });
    const cost = plan
      ? `Nonuniform TP goes on with ${plan.tpBase - plan.tpSpares} of ${plan.tpBase} TP ranks in ${plan.reducedReplicas === 1 ? 'replica dp 0' : `replicas dp 0 to ${plan.reducedReplicas - 1}`}: ${formatted(plan.idleRanks)} of ${formatted(layout.worldSize)} ranks stop. Data-parallel groups are not rebuilt, so only the last TP slots can go.`
      : 'Nonuniform TP cannot take these ranks out: it needs one grid without pipeline stages, and a healthy first slot in every TP group.';
    const title = `${formatted(ranks.length)} failed ${ranks.length === 1 ? 'rank' : 'ranks'}`;
    const actions = h('p', { class: 'actions' }, ...(plan ? [write] : []), clear);
    return [
      h('section', { class: 'card' }, h('h2', {}, title), h('p', {}, rankList(ranks)), h('p', {}, cost), actions),
    ];
  }

  #setFocus(rank: number, announce: boolean): void {
    if (rank === this.#focus) {
      return;
    }
    this.#focus = rank;
    this.#mark();
    this.#renderDetails();
    const layout = this.#layout;
    if (announce && layout && rank >= 0) {
      const where = modulesOf(layout, rank).map(
        (module) => `${module.name ?? ''} ${coordinatesOf(module, rank).join(', ')}`,
      );
      this.#announce(`Rank ${rank}, ${placeOf(layout, rank)}, ${where.join('; ')}`);
    }
  }

  #mark(): void {
    const layout = this.#layout;
    if (!layout) {
      return;
    }
    const peers =
      this.#focus < 0
        ? []
        : (groupsOf(layout, this.#focus).find(({ name }) => name === this.#lightGroup())?.ranks ?? []);
    const module = layout.modules.find(({ name }) => name !== null && name === this.#cursorModule);
    const highlight: Marks['highlight'] = module ? [module.rankOffset, module.rankOffset + module.numRanks] : null;
    this.#canvas.mark({
      focus: this.#focus,
      peers,
      suspects: [...(this.#smoke?.suspects ?? []), ...failedRanks(layout)],
      highlight,
    });
  }

  /** The group whose peers light up: that of the dimension that gives the colours, else the one chosen last. */
  #lightGroup(): string {
    const { view, group, colour } = this.#state;
    return view === 'groups' || colour === 'module' || colour === 'node' ? group : (GROUP_OF_DIM[colour] ?? colour);
  }

  #choose(rank: number): void {
    this.#pinned = true;
    this.#setFocus(rank, true);
    this.#canvas.reveal(rank);
  }

  #reveal(rank: number): void {
    const [module] = this.#layout ? modulesOf(this.#layout, rank) : [];
    this.#api.postMessage({ type: 'reveal', module: module?.name ?? null });
  }

  #key(event: KeyboardEvent): void {
    const steps: Readonly<Record<string, readonly [number, number]>> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    };
    const step = steps[event.key];
    if (step) {
      this.#move(...step);
    } else if (event.key === 'Enter' && this.#focus >= 0) {
      this.#reveal(this.#focus);
    } else if (event.key === 'x' && this.#focus >= 0) {
      this.#toggleFailed(this.#focus);
    } else if (event.key === 'Escape') {
      this.#pinned = false;
      this.#setFocus(-1, false);
    } else if (event.key === '+' || event.key === '=') {
      this.#canvas.zoomBy(1.5);
    } else if (event.key === '-') {
      this.#canvas.zoomBy(1 / 1.5);
    } else if (event.key === '0') {
      this.#canvas.fit();
    } else {
      return;
    }
    event.preventDefault();
  }

  /** Moves the focused rank to the next cell that holds one. */
  #move(dx: number, dy: number): void {
    const placement = this.#placement;
    if (!placement) {
      return;
    }
    const from = placement.cellOf(this.#focus);
    if (!from) {
      this.#choose(placement.blocks[0]?.offset ?? 0);
      return;
    }
    let { x, y } = from;
    // a gap is at most a few cells wide
    for (let i = 0; i < 4; i++) {
      x += dx;
      y += dy;
      const rank = placement.rankAt(x, y);
      if (rank >= 0) {
        this.#choose(rank);
        return;
      }
    }
  }

  #announce(text: string): void {
    this.#live.textContent = text;
  }
}

/** The ranks that the file calls failed, where they are drawn: packed placement numbers ranks anew. */
const failedRanks = ({ ntp }: ResolvedLayout): readonly number[] =>
  ntp?.placement === 'nominal' ? ntp.failedRanks : [];

/** The text under a rank's number: the module, then its coordinates, two a line. */
function describeCell(module: string | null, coordinates: readonly string[]): string[] {
  const lines = module === null ? [] : [module];
  for (let i = 0; i < coordinates.length; i += 2) {
    lines.push(coordinates.slice(i, i + 2).join(' · '));
  }
  return lines;
}

/** A swatch for each value; where colours come round again, how many values there are. */
function categoryLegend(colouring: Colouring): HTMLElement[] {
  const shown = Math.min(colouring.values, MAX_LEGEND);
  const items = Array.from({ length: shown }, (_, value) =>
    h('span', { class: 'item' }, swatch(value, colouring), colouring.label(value)),
  );
  return shown < colouring.values
    ? [...items, h('span', { class: 'item' }, `… ${formatted(colouring.values)} in all, colours repeat`)]
    : items;
}

/** The ramp from the first value to the last. */
function rampLegend(colouring: Colouring): HTMLElement[] {
  const last = colouring.values - 1;
  const steps = Math.min(colouring.values, 32);
  const swatches = Array.from({ length: steps }, (_, i) => swatch(Math.round((i * last) / (steps - 1)), colouring));
  const ramp = h('span', { class: 'ramp', 'aria-hidden': 'true' }, ...swatches);
  return [h('span', { class: 'item' }, colouring.label(0), ramp, colouring.label(last))];
}

function swatch(value: number, colouring: Colouring): HTMLElement {
  const element = h('span', { class: 'swatch' });
  element.style.backgroundColor = colourOf(value, colouring);
  return element;
}

function summary(layout: ResolvedLayout): HTMLElement {
  const modules = layout.modules.map(({ name, dense, rankOffset, numRanks }) => {
    const dims = dense.filter(({ size }) => size > 1).map((dim) => `${dim.name} ${formatted(dim.size)}`);
    const span = `ranks ${formatted(rankOffset)} to ${formatted(rankOffset + numRanks - 1)}`;
    return h(
      'li',
      {},
      h('strong', {}, name ?? 'one grid'),
      h('span', {}, span),
      h('span', {}, dims.join(' × ') || 'one rank'),
    );
  });
  return h(
    'div',
    { class: 'summary' },
    h('h2', {}, `${formatted(layout.worldSize)} ranks`),
    h('p', { class: 'place' }, `${formatted(layout.nodes)} × ${layout.gpusPerNode} GPUs`),
    h('ul', {}, ...modules),
    h(
      'p',
      { class: 'hint' },
      'Point at a rank to see its groups; click to keep it. Arrow keys move, + and − zoom, 0 fits, Enter shows the lines in the file, X marks a rank as failed.',
    ),
  );
}

function picker(
  label: string,
  options: readonly { value: string; label: string }[],
  value: string,
  change: (value: string) => void,
): HTMLElement {
  const select = h(
    'select',
    {},
    ...options.map((option) => h('option', { value: option.value, selected: option.value === value }, option.label)),
  );
  select.addEventListener('change', () => change(select.value));
  return h('label', { class: 'picker' }, label, select);
}

function restoredState(value: unknown, uri: string): PanelState {
  const saved = typeof value === 'object' && value !== null ? (value as Partial<PanelState>) : {};
  return {
    uri,
    view: VIEWS.find((view) => view === saved.view) ?? 'physical',
    colour: typeof saved.colour === 'string' ? saved.colour : 'module',
    group: typeof saved.group === 'string' ? saved.group : 'tp',
    show: saved.show === 'bandwidth' ? 'bandwidth' : 'members',
    grid: saved.grid === 'expert' ? 'expert' : 'dense',
  };
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const root = document.getElementById('app');
if (root) {
  new GridApp(root);
}
