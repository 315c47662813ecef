// The polynomials in rising powers by which d3-scale-chromatic gives the ramp; the package itself is one file of all its ramps,
// and cannot be taken apart.
const RED = [-4.54, -35.34, 2381.73, -6402.7, 7024.72, -2710.57];
const GREEN = [32.49, 170.73, 52.82, -131.46, 176.58, -67.37];
const BLUE = [81.24, 442.36, -2482.43, 6167.24, -6614.94, 2475.67];

/**
 * Cividis, a ramp that people with and without a colour vision deficiency see alike (Nuñez, Anderton and Renslow, 2018).
 * @param t from 0, dark blue, to 1, yellow
 */
export function cividis(t: number): string {
  const channel = (polynomial: readonly number[]) => {
    const value = Math.round(polynomial.reduceRight((sum, factor) => sum * t + factor, 0));
    return Math.max(0, Math.min(255, value));
  };
  return `rgb(${channel(RED)}, ${channel(GREEN)}, ${channel(BLUE)})`;
}
