import { grouped } from '../layout';

/** What the rank that sends most sends in one process group and step. */
export interface Flow {
  readonly group: string;
  readonly carries: string;
  readonly bytes: number;
  /** Over which link: NVLink, or the network between NVLink domains. */
  readonly tier: 'nvlink' | 'network';
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Traffic in decimal units: `3.1 GB`. */
export function traffic(bytes: number): string {
  const power = Math.max(0, Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1000 ** power;
  return `${value < 9.95 && power > 0 ? value.toFixed(1) : grouped(Math.round(value))} ${UNITS[power]}`;
}

/** What a rank sends in a step over one kind of link, in bytes. */
export const sentOver = (flows: readonly Flow[], tier: Flow['tier']): number =>
  flows.reduce((sum, flow) => sum + (flow.tier === tier ? flow.bytes : 0), 0);
