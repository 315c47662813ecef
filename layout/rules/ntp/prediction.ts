import { firstUnlikeSlices, MAX_TP_BASE } from '../../topology/ntp';
import type { NtpContext } from './ntpContext';

/** The only words that Megatron-LM's helper has for a map: of slices that do not agree. */
export const UNLIKE_SLICES =
  'Legacy NTP process-group reconfiguration requires the same active local TP ranks for every CP slice in a DP replica.';

/** What Megatron-LM's helper says of the map, whatever else is wrong with it; null where it says nothing. */
export function slicesPrediction({ ntp, shape }: NtpContext): string | null {
  return ntp.tpSpares > 0 && ntp.tpBase <= MAX_TP_BASE && ntp.placement === 'nominal' && firstUnlikeSlices(ntp, shape)
    ? UNLIKE_SLICES
    : null;
}
