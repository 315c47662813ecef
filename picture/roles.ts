import { denseGrid, isPacked, isSpare, type NtpShape, type ResolvedLayout } from '../layout';
import { type Colouring, type Status, statusColouring } from './colour';

/** What nonuniform TP makes of a rank. */
const ROLES: readonly Status[] = [
  { label: 'active', fill: '#56b4e9', sign: 'none' },
  { label: 'spare', fill: '#f0e442', sign: 'stripes' },
  { label: 'failed', fill: '#d55e00', sign: 'cross' },
];

/** Whether nonuniform TP makes ranks unlike. */
export const hasRoles = ({ ntp }: ResolvedLayout): boolean =>
  ntp !== null && (ntp.tpSpares > 0 || ntp.failedRanks.length > 0);

/** The ranks that the file calls failed, where they are launched: packed placement numbers the others anew. */
export const failedRanks = ({ ntp }: ResolvedLayout): readonly number[] =>
  ntp?.placement === 'nominal' ? ntp.failedRanks : [];

/** The sizes of the grid that nonuniform TP reconfigures. */
export function ntpShape({ modules: [module] }: ResolvedLayout): NtpShape {
  const grid = module && denseGrid(module);
  return { cp: grid?.sizeOf('cp') ?? 1, dp: grid?.sizeOf('dp') ?? 1 };
}

/** Ranks by their role; packed placement launches active ones only. */
export function roleColouring(layout: ResolvedLayout): Colouring {
  const { ntp } = layout;
  const failed = new Set(failedRanks(layout));
  const shape = ntpShape(layout);
  const leaves = (rank: number) => ntp !== null && !isPacked(ntp) && isSpare(ntp, shape, rank);
  return statusColouring('nonuniform TP', ROLES, (rank) => (failed.has(rank) ? 2 : leaves(rank) ? 1 : 0));
}
