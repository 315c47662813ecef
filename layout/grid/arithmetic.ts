/** The greatest common divisor of two numbers of at least 0. */
export function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

/** Equal steps: how many places there are, and how far they lie apart. */
export interface Step {
  readonly size: number;
  readonly stride: number;
}

/** Axes, the fastest first, with those that continue one another seen as one. */
export function joinedAxes(axes: readonly Step[]): Step[] {
  const joined: { size: number; stride: number }[] = [];
  for (const { size, stride } of axes) {
    const last = joined.at(-1);
    if (last && last.size * last.stride === stride) {
      last.size *= size;
    } else {
      joined.push({ size, stride });
    }
  }
  return joined;
}

/** The distance from a group's base of its `index`-th member, counting along `axes` with the first varying fastest. */
export function unravel(index: number, axes: readonly Step[]): number {
  let rest = index;
  let distance = 0;
  for (const { size, stride } of axes) {
    distance += (rest % size) * stride;
    rest = Math.floor(rest / size);
  }
  return distance;
}
