import { job } from '../testing';

/** A layout of `parallelism` with settings of `ntp`, of two replicas of tp 8 unless told otherwise. */
export function ntp(settings: string, ranks = 16, degrees = 'tp: 8', ...rest: readonly string[]): string {
  return job(ranks, degrees, ...rest, `ntp: {${settings}}`);
}

/** An entry of the map: the slots that a replica gives up. */
export function entry(dp: number, slots: string): string {
  return `{dp: ${dp}, local_ranks: [${slots}]}`;
}

/** The map of some entries. */
export function map(...entries: readonly string[]): string {
  return `non_active_ranks_per_dp: [${entries.join(', ')}]`;
}
