import { type Checked, check, hasErrors } from '../check';
import type { Span } from '../diagnostic';
import { applyEdits } from '../format/edit';
import { type Estimate, estimateOf } from './estimate';

/** What a layout would cost with another value in one place. */
export interface Alternative {
  readonly value: number;
  /** The peak of the fullest pipeline stage, in bytes. */
  readonly peakBytes: number;
  /** The same, less that of the layout as it is. */
  readonly morePeakBytes: number;
  /** Bytes that a rank sends a step over NVLink and over the network, as parts of what it sends now; null where it sends none now. */
  readonly nvlinkShare: number | null;
  readonly networkShare: number | null;
  /** Step time as a part of the present one; null where time is not known. */
  readonly timeShare: number | null;
}

/** The estimate of a layout; null where it has errors or lacks what an estimate needs. */
export function estimateOfChecked(checked: Checked): Estimate | null {
  if (!checked.facts || !checked.resolved || hasErrors(checked)) {
    return null;
  }
  const result = estimateOf(checked.facts, checked.resolved);
  return result.ok ? result.estimate : null;
}

/** The peak of the fullest pipeline stage, in bytes. */
export function fullestPeak({ perStage }: Estimate): number {
  return perStage.reduce((peak, { peakBytes }) => Math.max(peak, peakBytes), 0);
}

/** What half and twice a degree would cost; values that the rules refuse are left out. */
export function alternativesTo(checked: Checked, value: number, span: Span): readonly Alternative[] {
  const now = estimateOfChecked(checked);
  return now
    ? [value / 2, value * 2].filter(Number.isInteger).flatMap((other) => costOf(checked, now, other, span))
    : [];
}

function costOf({ text }: Checked, now: Estimate, value: number, span: Span): Alternative[] {
  const then = estimateOfChecked(check(applyEdits(text, [{ span, newText: String(value) }])));
  if (!then) {
    return [];
  }
  const peakBytes = fullestPeak(then);
  return [
    {
      value,
      peakBytes,
      morePeakBytes: peakBytes - fullestPeak(now),
      nvlinkShare: share(sent(then, 'nvlink'), sent(now, 'nvlink')),
      networkShare: share(sent(then, 'network'), sent(now, 'network')),
      timeShare: then.stepTimeS && now.stepTimeS ? then.stepTimeS.median / now.stepTimeS.median : null,
    },
  ];
}

function sent({ traffic }: Estimate, tier: 'nvlink' | 'network'): number {
  return traffic.filter((one) => one.tier === tier).reduce((sum, { bytesPerStep }) => sum + bytesPerStep, 0);
}

const share = (then: number, now: number): number | null => (now > 0 ? then / now : null);
