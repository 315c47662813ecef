import type { Picture } from './canvas';
import { type Colouring, colourOf, isRamp } from './colour';
import { formatted } from './dom';

/** The form of an exported picture. */
export type ExportFormat = 'svg' | 'png';

/** Pictures of more ranks are exported as one bitmap: a rectangle a rank would make a file that nothing opens. */
const MAX_VECTOR = 16_384;

const MARGIN = 24;
const TITLE = 52;
const LEGEND = 44;
const MAX_ITEMS = 14;

/** The picture with its title and legend as SVG, on white: for papers and messages. */
export function svgOf(picture: Picture, bitmap: HTMLCanvasElement, title: string, ranks: number): string {
  const { placement, colouring } = picture;
  const cell = Math.max(1, Math.min(56, 1200 / placement.width));
  const width = Math.max(480, placement.width * cell) + 2 * MARGIN;
  const height = TITLE + LEGEND + placement.height * cell + 2 * MARGIN;
  const heading = `${title}: ${formatted(ranks)} ranks by ${colouring.name}`;
  const top = MARGIN + TITLE;
  const cells = ranks <= MAX_VECTOR ? vectorCells(picture, cell) : bitmapCells(picture, bitmap, cell);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif">`,
    `<title>${escaped(heading)}</title>`,
    '<rect width="100%" height="100%" fill="#ffffff"/>',
    `<text x="${MARGIN}" y="${MARGIN + 16}" font-size="18" font-weight="600">${escaped(heading)}</text>`,
    `<g transform="translate(${MARGIN} ${top})">${cells}${boxes(picture, cell)}</g>`,
    `<g transform="translate(${MARGIN} ${height - MARGIN - 12})" font-size="12">${legend(colouring)}</g>`,
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

function vectorCells({ placement, colouring }: Picture, cell: number): string {
  const parts: string[] = [];
  const inset = cell * 0.05;
  const size = cell - 2 * inset;
  placement.forEach((rank, index) => {
    const x = (index % placement.width) * cell + inset;
    const y = Math.floor(index / placement.width) * cell + inset;
    const value = colouring.valueOf(rank);
    const fill = value < 0 ? 'none' : colourOf(value, colouring);
    parts.push(
      `<rect x="${n(x)}" y="${n(y)}" width="${n(size)}" height="${n(size)}" rx="${n(size * 0.1)}" fill="${fill}" stroke="#555555" stroke-width="${n(cell * 0.015)}"><title>rank ${rank}</title></rect>`,
    );
    if (cell >= 22) {
      parts.push(
        `<text x="${n(x + size / 2)}" y="${n(y + size / 2)}" font-size="${n(cell * 0.3)}" text-anchor="middle" dominant-baseline="central" paint-order="stroke" stroke="#ffffff" stroke-width="${n(cell * 0.05)}">${rank}</text>`,
      );
    }
  });
  return parts.join('');
}

function bitmapCells({ placement }: Picture, bitmap: HTMLCanvasElement, cell: number): string {
  return `<image href="${bitmap.toDataURL('image/png')}" width="${n(placement.width * cell)}" height="${n(placement.height * cell)}" image-rendering="pixelated"/>`;
}

function boxes({ placement }: Picture, cell: number): string {
  return cell < 8
    ? ''
    : placement.boxes
        .map(({ label, x, y, width, height }) => {
          const frame = `<rect x="${n(x * cell - 2)}" y="${n(y * cell - 2)}" width="${n(width * cell + 4)}" height="${n(height * cell + 4)}" rx="5" fill="none" stroke="#767676"/>`;
          const size = Math.min(13, cell * 0.52);
          return `${frame}<text x="${n(x * cell)}" y="${n(y * cell - 6)}" font-size="${n(size)}" fill="#444444">${escaped(label)}</text>`;
        })
        .join('');
}

/** Swatches with their values; of a ramp the first, the middle and the last one. */
function legend(colouring: Colouring): string {
  const last = colouring.values - 1;
  const values = isRamp(colouring)
    ? [0, Math.round(last / 2), last]
    : Array.from({ length: Math.min(colouring.values, MAX_ITEMS) }, (_, value) => value);
  return values
    .map(
      (value, i) =>
        `<rect x="${i * 84}" width="12" height="12" rx="2" fill="${colourOf(value, colouring)}" stroke="#555555"/><text x="${i * 84 + 17}" y="10">${escaped(colouring.label(value))}</text>`,
    )
    .join('');
}

/** A length with no more digits than an eye sees. */
const n = (value: number): string => String(Math.round(value * 100) / 100);

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (mark) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[mark] ?? mark);
