import { memoizeRecent } from '../../memoize';
import { activeSlots, firstUnlikeSlices, MAX_TP_BASE, replicaWithoutSlots } from '../../topology/ntp';
import type { NtpContext } from './ntpContext';

/** The only words that Megatron-LM's helper has for a map: of slices that do not agree. */
export const UNLIKE_SLICES =
  'Legacy NTP process-group reconfiguration requires the same active local TP ranks for every CP slice in a DP replica.';

const NO_MEMBERS = 'Group rank must be specified for group members';

/**
 * What the helper says first of the map, or torch of the groups that the helper asks for; null where neither says anything.
 * The helper compares the slices of all reduced replicas before it makes the first group.
 */
export const ntpPrediction: (context: NtpContext) => string | null = memoizeRecent((context) => {
  const { ntp, shape } = context;
  if (ntp.tpSpares === 0 || ntp.tpBase > MAX_TP_BASE || ntp.placement !== 'nominal') {
    return null;
  }
  return firstUnlikeSlices(ntp, shape) ? UNLIKE_SLICES : torchRefusal(context);
});

/** torch refuses a group without members, one with more members than there are ranks, and a rank outside the world. */
function torchRefusal({ ntp, shape: { cp }, facts: { world } }: NtpContext): string | null {
  const ranks = world.size ?? Number.POSITIVE_INFINITY;
  // slices before this one lie inside the world, the one after it outside
  const partial = Math.floor(ranks / ntp.tpBase);
  const empty = replicaWithoutSlots(ntp);
  if (empty !== null && empty <= partial / cp) {
    return NO_MEMBERS;
  }
  for (let slice = partial; slice < Math.min(partial + 2, ntp.numReducedTpDpRanks * cp); slice++) {
    const active = activeSlots(ntp, Math.floor(slice / cp), slice % cp, 0);
    const refused = active.map((slot) => slice * ntp.tpBase + slot).find((rank) => rank >= ranks);
    if (active.length > ranks) {
      return "the new group's world size should be less or equal to the world size set by init_process_group";
    }
    if (refused !== undefined) {
      return `Rank ${refused} is out of range. Valid ranks are 0 to ${ranks - 1} (world_size=${ranks})`;
    }
  }
  return null;
}
