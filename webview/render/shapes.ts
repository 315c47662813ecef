import type { Sign } from '../../picture/colour';

/** Adds a rectangle to a path, with round corners only where an eye would see them: they cost. */
export function addRect(path: Path2D, x: number, y: number, width: number, height: number, radius: number): void {
  if (radius < 4) {
    path.rect(x, y, width, height);
  } else {
    path.roundRect(x, y, width, height, radius);
  }
}

/** Adds a cross to a path, by its upper left corner and its size. */
export function addCross(path: Path2D, x: number, y: number, size: number): void {
  path.moveTo(x, y);
  path.lineTo(x + size, y + size);
  path.moveTo(x + size, y);
  path.lineTo(x, y + size);
}

/** Adds a sign to a path: in the middle of small cells, in the upper left corner of others, where no text stands. */
export function addSign(path: Path2D, sign: Sign, left: number, top: number, cell: number, small: boolean): void {
  const size = small ? cell * 0.5 : Math.min(14, cell * 0.18);
  const x = left + cell * (small ? 0.25 : 0.09);
  const y = top + cell * (small ? 0.25 : 0.09);
  if (sign === 'cross') {
    addCross(path, x, y, size);
  } else if (sign === 'stripes') {
    for (const share of [0.34, 0.67, 1]) {
      path.moveTo(x, y + size * share);
      path.lineTo(x + size * share, y);
    }
  } else {
    for (const share of [0.15, 0.5, 0.85]) {
      path.moveTo(x + size * share, y + size / 2);
      path.lineTo(x + size * share + 0.1, y + size / 2);
    }
  }
}
