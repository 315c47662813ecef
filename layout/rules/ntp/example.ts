import { job, megatronDev, type Rule } from '../rule';

/** A rule on nonuniform TP, which is on the branch `dev` only. */
export function ntpRule(rule: Omit<Rule, 'sources'>): Rule {
  const file = 'megatron/core/distributed/nonuniform_tp.py';
  return { ...rule, sources: [megatronDev(file, 'initialize_nonuniform_tp_process_groups', 'ntp_map')] };
}

/** A file of two replicas of tp 4 with the given settings of `ntp`. */
export function example(settings: string, degrees = 'tp: 4', world = 8, ...more: readonly string[]): string {
  return job(world, degrees, ...more, `ntp: {${settings}}`);
}

/** Settings with which nothing is wrong: the last slot of the first replica leaves. */
export const LAST_SLOT = 'tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]';
