import { countOf } from '../../layout';
import { type Colouring, colourOf, isRamp, type Sign } from '../../picture/colour';
import { SIGN_TEXT } from '../panel/legend';
import type { RankBitmap } from './bitmap';
import type { Picture } from './paint';

/** The form of an exported picture. */
export type ExportFormat = 'svg' | 'png';

/** Pictures of more ranks are exported as one bitmap: a rectangle a rank would make a file that nothing opens. */
const MAX_VECTOR = 16_384;

const MARGIN = 24;
const TITLE = 52;
const ITEM = 22;
const MAX_ITEMS = 14;

/** The picture with its title and legend as SVG, on white: for papers and messages. */
export function svgOf(picture: Picture, bitmap: RankBitmap, title: string): string {
  const { placement, colouring, worldSize } = picture;
  const cell = Math.max(1, Math.min(56, 1200 / placement.width));
  const width = Math.max(560, placement.width * cell) + 2 * MARGIN;
  const items = legend(colouring, width - 2 * MARGIN);
  const top = MARGIN + TITLE;
  const bottom = top + placement.height * cell + MARGIN;
  const height = bottom + items.lines * ITEM + MARGIN;
  const heading = `${title}: ${countOf(worldSize, 'rank')} by ${colouring.name}`;
  const cells = worldSize <= MAX_VECTOR ? vectorCells(picture, cell) : bitmapCells(picture, bitmap, cell);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${n(width)}" height="${n(height)}" viewBox="0 0 ${n(width)} ${n(height)}" font-family="system-ui, sans-serif">`,
    `<title>${escaped(heading)}</title>`,
    '<rect width="100%" height="100%" fill="#ffffff"/>',
    `<text x="${MARGIN}" y="${MARGIN + 16}" font-size="18" font-weight="600">${escaped(heading)}</text>`,
    `<g transform="translate(${MARGIN} ${top})">${cells}${boxes(picture, cell)}</g>`,
    `<g transform="translate(${MARGIN} ${n(bottom)})" font-size="12">${items.svg}</g>`,
    '</svg>',
  ].join('\n');
}

/** An SVG text as a PNG at twice its size, in base64. */
export async function pngOf(svg: string): Promise<string> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = image.width * 2;
  canvas.height = image.height * 2;
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL('image/png').replace(/^[^,]*,/, '');
}

function vectorCells({ placement, colouring, worldSize }: Picture, cell: number): string {
  const parts: string[] = [];
  const inset = cell * 0.05;
  const size = cell - 2 * inset;
  for (let rank = 0; rank < worldSize; rank++) {
    const at = placement.cellOf(rank);
    if (!at) {
      continue;
    }
    const x = at.x * cell + inset;
    const y = at.y * cell + inset;
    const value = colouring.valueOf(rank);
    const fill = value < 0 ? 'none' : colourOf(value, colouring, 'light');
    parts.push(
      `<rect x="${n(x)}" y="${n(y)}" width="${n(size)}" height="${n(size)}" rx="${n(size * 0.1)}" fill="${fill}" stroke="#555555" stroke-width="${n(cell * 0.015)}"><title>rank ${rank}</title></rect>`,
    );
    if (cell >= 22) {
      const text = `${rank}${signOf(colouring, value)}`;
      parts.push(
        `<text x="${n(x + size / 2)}" y="${n(y + size / 2)}" font-size="${n(cell * 0.3)}" text-anchor="middle" dominant-baseline="central" paint-order="stroke" stroke="#ffffff" stroke-width="${n(cell * 0.05)}">${text}</text>`,
      );
    }
  }
  return parts.join('');
}

/** What tells the condition of a rank without its colour. */
function signOf({ statuses }: Colouring, value: number): string {
  const sign: Sign = statuses?.[value]?.sign ?? 'none';
  return sign === 'none' ? '' : ` ${SIGN_TEXT[sign]}`;
}

function bitmapCells({ placement }: Picture, bitmap: RankBitmap, cell: number): string {
  const image = bitmap.exactly(1).image.toDataURL('image/png');
  return `<image href="${image}" width="${n(placement.width * cell)}" height="${n(placement.height * cell)}" image-rendering="pixelated"/>`;
}

function boxes({ placement }: Picture, cell: number): string {
  if (cell < 8) {
    return '';
  }
  const all = { x: 0, y: 0, width: placement.width, height: placement.height };
  const size = Math.min(13, cell * 0.52);
  return [...placement.boxesIn(all, 0)]
    .map(({ label, x, y, width, height, level }) => {
      const out = 2 + 5 * level;
      const frame = `<rect x="${n(x * cell - out)}" y="${n(y * cell - out)}" width="${n(width * cell + 2 * out)}" height="${n(height * cell + 2 * out)}" rx="5" fill="none" stroke="#767676"/>`;
      return `${frame}<text x="${n(x * cell)}" y="${n(y * cell - out - 4)}" font-size="${n(size)}" fill="#444444">${escaped(label)}</text>`;
    })
    .join('');
}

/** Swatches with their values, in as many lines as they need; of a ramp the first, the middle and the last one. */
function legend(colouring: Colouring, width: number): { svg: string; lines: number } {
  const last = colouring.values - 1;
  const values = isRamp(colouring)
    ? [0, Math.round(last / 2), last]
    : Array.from({ length: Math.min(colouring.values, MAX_ITEMS) }, (_, value) => value);
  const parts: string[] = [];
  let x = 0;
  let line = 0;
  for (const value of values) {
    const text = `${colouring.label(value)}${signOf(colouring, value)}`;
    const wide = 40 + 7 * text.length;
    if (x > 0 && x + wide > width) {
      x = 0;
      line++;
    }
    const y = line * ITEM;
    parts.push(
      `<rect x="${n(x)}" y="${y}" width="12" height="12" rx="2" fill="${colourOf(value, colouring, 'light')}" stroke="#555555"/><text x="${n(x + 18)}" y="${y + 10}">${escaped(text)}</text>`,
    );
    x += wide;
  }
  return { svg: parts.join(''), lines: line + 1 };
}

/** A length with no more digits than an eye sees. */
const n = (value: number): string => String(Math.round(value * 100) / 100);

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (mark) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[mark] ?? mark);
