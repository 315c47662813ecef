import { xmlText } from '../layout';
import type { Headline } from './headline';
import { linesOf } from './labels';

/** The colours of paper, and what they become on a dark page: one file serves both. */
const COLOURS = {
  // not quite white, which is the ink on dark fills
  ground: ['#fefefe', '#1f1f1f'],
  text: ['#1f1f1f', '#d4d4d4'],
  muted: ['#595959', '#a0a0a0'],
  box: ['#a8a8a8', '#6a6a6a'],
  boxFill: ['#f5f5f5', '#2a2a2a'],
  error: ['#c72e0f', '#f85149'],
  warning: ['#8a6400', '#e2b340'],
} as const;

/** What is painted in a colour of the page or the theme. */
export type Role = keyof typeof COLOURS;

export const isRole = (paint: string): paint is Role => Object.hasOwn(COLOURS, paint);

/** The colour of a role on a light page. */
export const paper = (role: Role): string => COLOURS[role][0];

const STYLE = `@media (prefers-color-scheme:dark){${Object.values(COLOURS)
  .flatMap(([day, night]) => ['fill', 'stroke'].map((paint) => `[${paint}="${day}"]{${paint}:${night}}`))
  .join('')}}`;

/** The space around a picture; its title and the line below it, and from one line to the next: in pixels. */
const MARGIN = 24;
const TITLE_SIZE = 19;
const TITLE_LINE = 25;
const SUB_SIZE = 13;
const SUB_LINE = 20;

/** A length with no more digits than an eye sees. */
export const n = (value: number): string => String(Math.round(value * 100) / 100);

type Attributes = Readonly<Record<string, string | number | undefined>>;

/** An element with those of its attributes that have a value. */
export function tag(name: string, attributes: Attributes, inside = ''): string {
  const written = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : ` ${key}="${typeof value === 'number' ? n(value) : value}"`,
  );
  return inside === '' ? `<${name}${written.join('')}/>` : `<${name}${written.join('')}>${inside}</${name}>`;
}

/** Elements `y` pixels lower, and `x` pixels to the right. */
export const moved = (x: number, y: number, inside: string): string =>
  tag('g', { transform: `translate(${n(x)} ${n(y)})` }, inside);

export interface TextStyle {
  readonly size: number;
  readonly fill: string;
  readonly weight?: number | undefined;
  readonly anchor?: 'middle' | 'end' | undefined;
}

/** A text whose base line is at `y`. */
export const text = (x: number, y: number, words: string, { size, fill, weight, anchor }: TextStyle): string =>
  tag('text', { x, y, 'font-size': size, fill, 'font-weight': weight, 'text-anchor': anchor }, xmlText(words));

/** What a sheet of paper shows. */
export interface Sheet {
  readonly headline: Headline;
  /** The name of the layout or of its file. */
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly body: readonly string[];
}

/** A sheet of paper: the title, the line below it, and what is drawn under both. */
export function page({ headline, name, body, ...size }: Sheet): string {
  const sub = [name, headline.sub].filter(Boolean).join(' · ');
  // bold text is a little wider
  const titles = linesOf(headline.title, 0.96 * size.width, TITLE_SIZE);
  const subs = linesOf(sub, size.width, SUB_SIZE);
  const below = MARGIN + titles.length * TITLE_LINE;
  const top = below + subs.length * SUB_LINE + 16;
  const [width, height] = [size.width + 2 * MARGIN, top + size.height + MARGIN];
  const inside = [
    `<title>${xmlText(headline.title)}</title>`,
    `<desc>${xmlText(sub)}</desc>`,
    `<style>${STYLE}</style>`,
    tag('rect', { width: '100%', height: '100%', fill: paper('ground') }),
    ...titles.map((line, i) =>
      text(MARGIN, MARGIN + 18 + i * TITLE_LINE, line, { size: TITLE_SIZE, weight: 600, fill: paper('text') }),
    ),
    ...subs.map((line, i) => text(MARGIN, below + 15 + i * SUB_LINE, line, { size: SUB_SIZE, fill: paper('muted') })),
    moved(MARGIN, top, body.filter(Boolean).join('\n')),
  ];
  const root = {
    xmlns: 'http://www.w3.org/2000/svg',
    width,
    height,
    viewBox: `0 0 ${n(width)} ${n(height)}`,
    'font-family': "system-ui, 'DejaVu Sans', sans-serif",
  };
  return `${tag('svg', root, `\n${inside.join('\n')}\n`)}\n`;
}
