import { grouped, type ResolvedLayout } from '../layout';
import { Cells, pictureOf } from './cells';
import { type Colouring, colourOf, cssColour, FADE, FADED, inkOn, isCrossed, isPlain, MAX_STEPS } from './colour';
import type { Diagram, Paint, Shape } from './diagram';
import type { Change, Difference } from './difference';
import type { Drawing } from './drawing';
import { type Isolated, shownExample } from './example';
import { type Block, fittingSize, Geometry, runsOf } from './geometry';
import type { Headline } from './headline';
import { blockText, packed, widthOf } from './labels';
import { type LegendItem, type LegendMark, legendOf, type Shown, SIGN_TEXT } from './legend';
import { linksOf, ringOf } from './links';
import { isRole, moved, n, page, paper, type Role, tag, text } from './paper';
import type { Placement, Rect, Space } from './placement';
import { RULER, type Rulers, rulersOf } from './rulers';

/** What an SVG picture shows. */
export interface SvgPicture extends Drawing {
  readonly layout: ResolvedLayout;
  /** The name of the layout or of its file. */
  readonly name: string;
  /** Ranks that are crossed out. */
  readonly failed: readonly number[];
  /** Ranks that are shown alone, whatever the colours. */
  readonly isolated?: Isolated | null;
  /** What is different in another layout; left out where nothing is, or all. */
  readonly difference?: Difference | null;
}

/** The space for the ranks, and from one line of the legend to the next, in pixels. */
const SPACE: Space = { width: 1200, height: 720 };
const LEGEND_LINE = 22;

/** At most so many squares are drawn: those of more cells are joined, as they are on a screen. */
const MAX_SQUARES = 65_536;

/** Cells carry their rank from this size in pixels on, and coordinates from the next. */
const NUMBERED = { width: 22, height: 13 };
const DESCRIBED = { width: 48, height: 44 };

/** Lines that would have to be smaller than this to fit a cell are left out. */
const SMALLEST_TEXT = 6;

/** Ranks that are shown alone: the least size of its cells in pixels, and up to how many of them are outlined. */
const SMALLEST_MARK = 4;
const MAX_OUTLINED = 200;

/** Slots without a rank are looked for among so many: those of the reduced replicas, which are the first ones. */
const MAX_SLOTS = 65_536;

/** Ranks that failed are crossed out one by one up to this many. */
const MAX_CROSSES = 4096;

/** A picture of ranks with its title, the degrees of the layout and the whole legend, as SVG: on white, or dark on a dark page. */
export function svgOf(picture: SvgPicture): string {
  const { headline, layout, name, failed, difference = null } = picture;
  const cells = new Cells(pictureOf(layout, picture, SPACE, difference), 'paper');
  for (const _ of cells.colour()) {
    // in one go
  }
  const { placement, colouring, example } = cells.picture;
  const size = fittingSize(placement, SPACE);
  const geometry = new Geometry(placement, size.width, size.height);
  const factor = factorOf(placement);
  const width = Math.max(760, size.width);
  const isolated = picture.isolated ?? shownExample(example, colouring, geometry.cell, isNumbered(geometry));
  const alone = isolated && aloneSvg(geometry, isolated, colouring, layout.gpusPerNode);
  const vacant = vacantSlots(geometry);
  const legend = legendSvg(
    colouring,
    {
      layout,
      cells,
      geometry,
      failed,
      difference,
      links: alone?.hasLinks ?? false,
      vacant: vacant.length,
      isolated,
      ranksPerPixel: factor ** 2,
    },
    width,
  );
  const fills = isPlain(colouring, geometry.cell) ? grounds(geometry) : squares(geometry, cells, factor);
  const rulers = rulersOf(geometry, layout.worldSize, layout.gpusPerNode);
  return page({
    headline,
    name,
    width,
    height: size.height + 20 + legend.lines * LEGEND_LINE - 8,
    body: [
      rulers ? rulersSvg(rulers) : '',
      boxes(geometry),
      isolated ? tag('g', { opacity: 0.25 }, fills) : fills,
      separators(geometry),
      vacant.length === 0
        ? ''
        : tag('path', { d: vacant.join(''), fill: 'none', stroke: paper('muted'), 'stroke-dasharray': '3 2' }),
      alone?.svg ?? '',
      labels(geometry, alone?.hasLinks ?? false),
      isolated ? ringSvg(geometry, isolated, colouring, layout) : '',
      factor === 1 ? numbers(geometry, cells, isolated) : '',
      difference ? corners(geometry, difference) : '',
      crosses(geometry, colouring, failed),
      moved(0, size.height + 20, legend.svg),
    ],
  });
}

/** What an SVG file of a diagram shows. */
export interface DiagramPicture {
  /** The name of the layout or of its file. */
  readonly name: string;
  readonly headline: Headline;
  readonly diagram: Diagram;
}

/** How wide a diagram is on paper, in pixels. */
export const DIAGRAM_WIDTH = 960;

/** A diagram with its title, as SVG. */
export function diagramSvg({ name, headline, diagram }: DiagramPicture): string {
  const { width, height, shapes } = diagram;
  return page({ headline, name, width, height, body: shapes.map((shape) => shapeSvg(shape, paper)) });
}

/**
 * A shape as SVG.
 * @param colourOf what a role is painted with, as an attribute of SVG
 */
export function shapeSvg(shape: Shape, colourOf: (role: Role) => string): string {
  if (shape.kind === 'group') {
    return moved(0, shape.y, shape.shapes.map((one) => shapeSvg(one, colourOf)).join(''));
  }
  const paintOf = (paint: Paint) => (isRole(paint) ? colourOf(paint) : paint);
  if (shape.kind === 'text') {
    const { x, y, words, paint, ...look } = shape;
    return text(x, y, words, { ...look, fill: paintOf(paint) });
  }
  const look = {
    fill: shape.fill ? paintOf(shape.fill) : 'none',
    stroke: shape.stroke && paintOf(shape.stroke),
    opacity: shape.fade === undefined ? undefined : 1 - shape.fade,
  };
  if (shape.kind === 'rect') {
    const { x, y, width, height } = shape;
    return tag('rect', { x, y, width, height, ...look });
  }
  return tag('path', { d: shape.d, ...look, 'stroke-width': shape.lineWidth });
}

/** The side of the squares of cells that are joined. */
function factorOf({ width, height }: Placement): number {
  let factor = 1;
  while (Math.ceil(width / factor) * Math.ceil(height / factor) > MAX_SQUARES) {
    factor *= 2;
  }
  return factor;
}

/** Squares of one colour as one path, neighbours in a row joined where no line would be seen between them. */
function squares(geometry: Geometry, cells: Cells, factor: number): string {
  const { placement, cell } = geometry;
  const columns = Math.ceil(placement.width / factor);
  const joined = cells.joined(factor);
  const paths = new Map<number, string[]>();
  const gap = cell * factor >= 6 ? Math.min(1.5, cell * factor * 0.08) : 0;
  let last = 0;
  for (let at = 0; at < joined.length; at = last + 1) {
    const step = joined[at] ?? MAX_STEPS;
    const [row, end] = [Math.floor(at / columns), at - (at % columns) + columns];
    const first = step === MAX_STEPS ? null : squareAt(geometry, (at % columns) * factor, row * factor, factor);
    last = at;
    let right = first ? first.x + first.width : 0;
    // where no line is drawn between squares, those of one colour that touch are one
    while (first && gap === 0 && last + 1 < end && joined[last + 1] === step) {
      const next = squareAt(geometry, ((last + 1) % columns) * factor, row * factor, factor);
      if (!next || next.x > right + 0.01) {
        break;
      }
      right = next.x + next.width;
      last++;
    }
    if (first) {
      const path = paths.get(step) ?? [];
      paths.set(step, path);
      const [width, height] = [right - first.x - gap, first.height - gap];
      path.push(rectPath({ x: first.x + gap / 2, y: first.y + gap / 2, width, height }));
    }
  }
  return [...paths]
    .map(([step, path]) =>
      tag('path', {
        fill: cssColour(cells.palette.words[step & ~FADE] ?? 0),
        'fill-opacity': step & FADE ? FADED : undefined,
        'shape-rendering': gap === 0 ? 'crispEdges' : undefined,
        d: path.join(''),
      }),
    )
    .join('\n');
}

/** The innermost boxes as one ground, where their cells cannot be told apart. */
const grounds = ({ panels, all }: Geometry): string =>
  tag('path', { fill: paper('box'), d: panels.flatMap((panel) => panel.areas(all).map(rectPath)).join('') });

/** A square of cells, as far as they lie in one block. */
function squareAt(geometry: Geometry, column: number, row: number, factor: number): Rect | null {
  const { placement } = geometry;
  const first = geometry.rectOf(column, row);
  const last = geometry.rectOf(
    Math.min(placement.width, column + factor) - 1,
    Math.min(placement.height, row + factor) - 1,
  );
  const end = last ?? first;
  return (
    first && end && { x: first.x, y: first.y, width: end.x + end.width - first.x, height: end.y + end.height - first.y }
  );
}

/** The numbers of rows and columns, outside of the picture. */
function rulersSvg({ rows, columns }: Rulers): string {
  const look = { size: RULER.text, fill: paper('muted') };
  return [
    ...columns.map(({ at, words }) => text(at, -4, words, look)),
    ...rows.map(({ at, words }) =>
      tag('g', { transform: `rotate(-90) translate(${n(-at)} -5)` }, text(0, 0, words, { ...look, anchor: 'end' })),
    ),
  ].join('');
}

/** The blocks that have room for a label. */
const labelled = (geometry: Geometry): Block[] => geometry.panels.flatMap((panel) => [...panel.boxes(geometry.all)]);

const boxes = (geometry: Geometry): string =>
  labelled(geometry)
    .map(({ x, y, width, height }) =>
      tag('rect', { x, y, width, height, rx: 4, fill: paper('boxFill'), stroke: paper('box') }),
    )
    .join('');

/** The labels of blocks. With a halo, they can be read where links cross them. */
function labels(geometry: Geometry, halo: boolean): string {
  const texts = labelled(geometry).flatMap((block) => {
    const { x, y, width, header } = block;
    const { title, detail } = blockText(block, width - 14);
    const baseline = y + header / 2 + 5.5;
    return [
      ...(title === '' ? [] : [text(x + 7, baseline, title, { size: 12, weight: 600, fill: paper('text') })]),
      ...(detail === ''
        ? []
        : [text(x + width - 7, baseline, detail, { size: 11, fill: paper('muted'), anchor: 'end' })]),
    ];
  });
  const edge = { stroke: paper('boxFill'), 'stroke-width': 7, 'stroke-linejoin': 'round', 'paint-order': 'stroke' };
  return halo ? tag('g', edge, texts.join('')) : texts.join('');
}

/** The cells of slots that packed placement does not launch. */
function vacantSlots(geometry: Geometry): string[] {
  const { numbering } = geometry.placement;
  const places = Array.from({ length: Math.min(numbering?.places ?? 0, MAX_SLOTS) }, (_, place) => place);
  return places.flatMap((place) => {
    const at = numbering?.rankAt(place) === -1 ? geometry.placement.cellOfPlace(place) : null;
    const rect = at && geometry.rectOf(at.x, at.y);
    return rect ? rectPath({ x: rect.x + 1, y: rect.y + 1, width: rect.width - 2, height: rect.height - 2 }) : [];
  });
}

/** Lines between blocks that have no room for a label. */
function separators({ panels, cell }: Geometry): string {
  const path = panels.flatMap((panel) => {
    const across = runsOf(panel.columns, panel.cellWidth);
    const down = runsOf(panel.rows, panel.cellHeight);
    return panel
      .closed(cell)
      .flatMap(({ xs, ys }) => [
        ...down.flatMap(({ start, length }) => [...xs].map((x) => `M${n(x)} ${n(start)}v${n(length)}`)),
        ...across.flatMap(({ start, length }) => [...ys].map((y) => `M${n(start)} ${n(y)}h${n(length)}`)),
      ]);
  });
  return path.length === 0 ? '' : tag('path', { stroke: paper('boxFill'), d: path.join('') });
}

/** Ranks that are shown alone, with the links between their machines. */
function aloneSvg(
  geometry: Geometry,
  { ranks }: Isolated,
  colouring: Colouring,
  gpusPerNode: number,
): { readonly svg: string; readonly hasLinks: boolean } {
  const links = linksOf(geometry, ranks, gpusPerNode);
  const ways = links.map(({ from, to }) => `M${n(from.x)} ${n(from.y)}L${n(to.x)} ${n(to.y)}`).join('');
  const [width, height] = [Math.max(SMALLEST_MARK, geometry.cellWidth), Math.max(SMALLEST_MARK, geometry.cellHeight)];
  const cells = new Map<string, string>();
  for (const rank of ranks) {
    const at = geometry.centreOf(rank);
    const fill = colourOf(colouring.valueOf(rank), colouring, 'paper');
    if (at) {
      cells.set(fill, (cells.get(fill) ?? '') + rectPath({ x: at.x - width / 2, y: at.y - height / 2, width, height }));
    }
  }
  const line =
    ranks.length > MAX_OUTLINED || geometry.cell < SMALLEST_MARK ? {} : { stroke: paper('text'), 'stroke-width': 0.8 };
  const parts = [
    ...(links.length > 0 ? [tag('path', { d: ways, fill: 'none', stroke: paper('warning'), 'stroke-width': 2 })] : []),
    ...[...cells].map(([fill, d]) => tag('path', { fill, ...line, d })),
  ];
  return { svg: parts.join(''), hasLinks: links.length > 0 };
}

/** A magnified GPU, and the room around all of them for the name of their node, in pixels. */
const MAGNIFIED = { width: 50, height: 24, header: 24, padding: 6 };

/** Nodes of more GPUs are not magnified. */
const MAX_GPUS = 16;

/** A ring around ranks that are hard to find, and beside it what they are. */
function ringSvg(geometry: Geometry, isolated: Isolated, colouring: Colouring, layout: ResolvedLayout): string {
  const ring = ringOf(geometry, isolated.ranks);
  if (!ring) {
    return '';
  }
  const { x, y, radius } = ring;
  const { svg, width, height } = magnified(isolated, colouring, layout);
  const away = radius + 12;
  const isRight = x + away + width < geometry.width;
  const left = isRight ? x + away : x - away - width;
  const top = Math.min(Math.max(0, y - MAGNIFIED.header / 2), geometry.height - height);
  const way = isRight ? `M${n(x + radius)} ${n(y)}H${n(left)}` : `M${n(x - radius)} ${n(y)}H${n(left + width)}`;
  return [
    tag('circle', { cx: x, cy: y, r: radius, fill: 'none', stroke: paper('text'), 'stroke-width': 1.5 }),
    tag('path', { d: way, stroke: paper('text') }),
    moved(left, top, svg),
  ].join('');
}

/** The name of ranks in a box, and the GPUs of their node, where they lie on one that is not too large. */
function magnified({ ranks, name }: Isolated, colouring: Colouring, { gpusPerNode, worldSize }: ResolvedLayout) {
  const { header, padding, ...cell } = MAGNIFIED;
  const node = Math.floor((ranks[0] ?? 0) / gpusPerNode);
  const isOnNode = gpusPerNode <= MAX_GPUS && ranks.every((rank) => Math.floor(rank / gpusPerNode) === node);
  const gpus = isOnNode ? Math.min(gpusPerNode, worldSize - node * gpusPerNode) : 0;
  const columns = gpus > 4 ? Math.ceil(gpus / 2) : gpus;
  const title = isOnNode ? `node ${grouped(node)}: ${name}` : name;
  const width = Math.max(columns * cell.width, widthOf(title) * 1.06) + 2 * padding;
  const height = header + (isOnNode ? Math.ceil(gpus / columns) * cell.height + padding : 0);
  const cells = Array.from({ length: gpus }, (_, gpu) => {
    const rank = node * gpusPerNode + gpu;
    const [x, y] = [padding + (gpu % columns) * cell.width, header + Math.floor(gpu / columns) * cell.height];
    const fill = ranks.includes(rank) ? colourOf(colouring.valueOf(rank), colouring, 'paper') : paper('box');
    const number = { size: 10, weight: 600, fill: inkOn(fill), anchor: 'middle' } as const;
    return (
      tag('rect', { x: x + 1, y: y + 1, width: cell.width - 2, height: cell.height - 2, fill }) +
      text(x + cell.width / 2, y + 16, String(rank), number)
    );
  });
  const box = tag('rect', { width, height, rx: 4, fill: paper('ground'), stroke: paper('text') });
  const caption = text(padding, 16, title, { size: 12, weight: 600, fill: paper('text') });
  return { svg: box + caption + cells.join(''), width, height };
}

const isNumbered = ({ cellWidth, cellHeight }: Geometry): boolean =>
  cellWidth >= NUMBERED.width && cellHeight >= NUMBERED.height;

/** The rank in every cell that has room for it, and its coordinates. */
function numbers(geometry: Geometry, { picture, palette }: Cells, isolated: Isolated | null): string {
  const { layout, describe, difference, colouring } = picture;
  if (!isNumbered(geometry)) {
    return '';
  }
  const alone = isolated && new Set(isolated.ranks);
  const parts: string[] = [];
  for (let rank = 0; rank < layout.worldSize; rank++) {
    const rect = geometry.rectOfRank(rank);
    const value = colouring.valueOf(rank);
    const isFaded = alone ? !alone.has(rank) : difference?.changeOf(rank) === 'same';
    // the ink of a fill is unreadable on what is left of it
    const fill = isFaded || value < 0 ? paper('text') : inkOn(cssColour(palette.words[palette.codes[value] ?? 0] ?? 0));
    if (rect) {
      const sign = SIGN_TEXT[colouring.statuses?.[value]?.sign ?? 'none'];
      parts.push(cellText(rect, [rank, sign].filter((part) => part !== '').join(' '), describe(rank), fill));
    }
  }
  return parts.join('');
}

/** A title in a cell and, where the cell is large enough, lines below it. */
function cellText(rect: Rect, title: string, lines: readonly string[], fill: string): string {
  const { x, y, width, height } = rect;
  const large = width >= DESCRIBED.width && height >= DESCRIBED.height;
  const big = Math.min(large ? 20 : 14, height * (large ? 0.26 : 0.6), (width - 4) / (0.62 * title.length));
  const small = Math.min(11, Math.max(7.5, height * 0.15));
  // the name of a group or module keeps its line, so that cells are alike
  const names = lines.slice(0, lines[0]?.includes(' · ') ? 0 : 1);
  const joined = large ? [...names, ...packed(lines.slice(names.length), width - 8, small)] : [];
  const sizeOf = (line: string) => Math.min(small, (width - 4) / (0.56 * line.length));
  const shown = joined
    .filter((line) => sizeOf(line) >= SMALLEST_TEXT)
    .slice(0, Math.floor((height - big - 6) / (small * 1.3)));
  const first = y + (height - big - shown.length * small * 1.3) / 2 + big * 0.86;
  const middle = x + width / 2;
  return [
    text(middle, first, title, { size: big, weight: 600, fill, anchor: 'middle' }),
    ...shown.map((line, i) =>
      text(middle, first + small * (0.2 + 1.3 * (i + 1)), line, {
        size: sizeOf(line),
        fill,
        anchor: 'middle',
      }),
    ),
  ].join('');
}

/** A folded corner on ranks that differ: filled where their coordinates do, open where only their peers do. */
function corners(geometry: Geometry, difference: Difference): string {
  const size = Math.min(14, geometry.cell * 0.4);
  const path = (change: Change) =>
    difference.ranks
      .slice(0, size < SMALLEST_MARK ? 0 : MAX_CROSSES)
      .filter((rank) => difference.changeOf(rank) === change)
      .flatMap((rank) => geometry.rectOfRank(rank) ?? [])
      .map(({ x, y, width }) => `M${n(x + width - size)} ${n(y)}h${n(size)}v${n(size)}z`)
      .join('');
  const filled = tag('path', { d: path('coordinates'), fill: paper('text') });
  return tag('g', { stroke: paper('text') }, filled + tag('path', { d: path('peers'), fill: paper('ground') }));
}

function crosses(geometry: Geometry, colouring: Colouring, failed: readonly number[]): string {
  const marked = failed.filter((rank) => !isCrossed(colouring, rank));
  const paths = marked.slice(0, MAX_CROSSES).flatMap((rank) => {
    const rect = geometry.rectOfRank(rank);
    if (!rect) {
      return [];
    }
    const size = Math.max(8, Math.min(rect.width, rect.height));
    const [x, y] = [rect.x + (rect.width - size) / 2, rect.y + (rect.height - size) / 2];
    const square = rectPath({ x, y, width: size, height: size });
    return [`${square}l${n(size)} ${n(size)}m0 ${n(-size)}l${n(-size)} ${n(size)}`];
  });
  return paths.length > 0
    ? tag('path', { d: paths.join(''), fill: 'none', stroke: paper('error'), 'stroke-width': 2 })
    : '';
}

/** The whole legend, in as many lines as it needs. */
function legendSvg(colouring: Colouring, shown: Shown, width: number): { svg: string; lines: number } {
  const { name, items } = legendOf(colouring, shown, 'paper');
  const parts: string[] = [text(0, 11, name, { size: 12, fill: paper('muted') })];
  let x = widthOf(name) + 18;
  let line = 0;
  for (const item of items) {
    const entry = itemSvg(item);
    if (x > 0 && x + entry.width + 18 > width) {
      x = 0;
      line++;
    }
    parts.push(moved(x, line * LEGEND_LINE, entry.svg));
    x += entry.width + 18;
  }
  return { svg: parts.join(''), lines: line + 1 };
}

const RAMP_WIDTH = 180;

/** A swatch of a legend. */
const swatch = (look: Readonly<Record<string, string | number>>): string =>
  tag('rect', { width: 13, height: 13, rx: 2, ...look });

/** Marks of a legend, those that are drawn on paper. */
const MARKS: Readonly<Partial<Record<LegendMark, string>>> = {
  failed: tag('path', {
    d: 'M1 1h11v11h-11zl11 11m0 -11l-11 11',
    fill: 'none',
    stroke: paper('error'),
    'stroke-width': 1.6,
  }),
  link: tag('path', { d: 'M0 7h14', stroke: paper('warning'), 'stroke-width': 2.5 }),
  coordinates: tag('path', { d: 'M0 0h13v13z', fill: paper('text') }),
  otherPeers: tag('path', { d: 'M0 0h13v13z', fill: paper('ground'), stroke: paper('text') }),
  faded: swatch({ fill: paper('muted'), 'fill-opacity': 0.3 }),
  unset: swatch({ fill: 'none', stroke: paper('muted'), 'stroke-dasharray': '3 2' }),
};

/** An entry of a legend, and how wide it is. */
function itemSvg(item: LegendItem): { readonly svg: string; readonly width: number } {
  if (item.kind === 'note') {
    return { svg: text(0, 11, item.text, { size: 12, fill: paper('muted') }), width: widthOf(item.text) };
  }
  const caption = (x: number, words: string) => text(x, 11, words, { size: 12, fill: paper('text') });
  if (item.kind === 'ramp') {
    const from = widthOf(item.from) + 8;
    const step = RAMP_WIDTH / item.fills.length;
    const fills = item.fills.map((fill, i) => tag('rect', { x: from + i * step, width: step + 0.5, height: 13, fill }));
    const end = from + RAMP_WIDTH + 8;
    return { svg: `${caption(0, item.from)}${fills.join('')}${caption(end, item.to)}`, width: end + widthOf(item.to) };
  }
  const isFill = item.kind === 'fill';
  const words = isFill && item.sign !== 'none' ? `${SIGN_TEXT[item.sign]} ${item.text}` : item.text;
  const sign = isFill ? swatch({ fill: item.fill, stroke: '#555555' }) : (MARKS[item.mark] ?? '');
  return { svg: `${sign}${caption(20, words)}`, width: 20 + widthOf(words) };
}

const rectPath = ({ x, y, width, height }: Rect): string => `M${n(x)} ${n(y)}h${n(width)}v${n(height)}h${n(-width)}z`;
