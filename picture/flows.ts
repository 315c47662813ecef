import { grouped } from '../layout';

/** What the rank that sends most sends in one process group and step. */
export interface Flow {
  /** The module; null for a layout without modules. */
  readonly module: string | null;
  /** The name of the process group, as `groups` prints it. */
  readonly kind: string;
  /** Both, as they are shown. */
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

/**
 * What a rank sends in a step in groups that have the same ranks under several names, in bytes: the sum over all that they carry.
 * @param names all names of the groups
 */
export const exchangedIn = (flows: readonly Flow[], module: string | null, names: readonly string[]): number =>
  flows.reduce((sum, flow) => sum + (flow.module === module && names.includes(flow.kind) ? flow.bytes : 0), 0);

/** Kinds of groups with what a rank sends in them, those that exchange most first; otherwise in their order. */
export function byExchange<T extends { readonly module: string | null; readonly names: readonly string[] }>(
  kinds: readonly T[],
  flows: readonly Flow[],
): readonly (T & { readonly bytes: number })[] {
  return kinds
    .map((kind) => ({ ...kind, bytes: exchangedIn(flows, kind.module, kind.names) }))
    .sort((a, b) => b.bytes - a.bytes);
}

/** What a rank sends in a step, by kind of link: `262 GB over NVLink, 8.1 GB over the network`; empty where nothing is known. */
export function sentText(flows: readonly Flow[]): string {
  const [near, far] = [sentOver(flows, 'nvlink'), sentOver(flows, 'network')];
  return [
    ...(near > 0 ? [`${traffic(near)} over NVLink`] : []),
    ...(far > 0 ? [`${traffic(far)} over the network`] : []),
  ].join(', ');
}
