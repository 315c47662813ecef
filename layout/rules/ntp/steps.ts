import { memoizeRecent } from '../../memoize';
import type { LayoutFacts } from '../../topology/facts';
import { parallelismDims } from '../../topology/generators';
import { conflictingSlots, firstUnlikeSlices, isNtpGrid, MAX_TP_BASE } from '../../topology/ntp';
import type { Report } from '../rule';
import { failedPlans } from './failedPlans';
import { entryFaults, failedRankFault, missingReplicas } from './faults';
import { hasExperts, type NtpContext, ntpContext } from './ntpContext';
import { ntpPrediction } from './prediction';
import { removedSlots } from './slots';

/** Whether Megatron-LM makes the groups of nonuniform TP for a grid: tp, cp and dp in that order, and nothing else. */
export function isSupportedGrid({ pp, facts: { root }, module }: NtpContext): boolean {
  return pp === 1 && isNtpGrid(parallelismDims(root, module)?.dense ?? []);
}

/**
 * What must be right, in this order: each step assumes those before it, so that one mistake has one diagnostic. A rule speaks
 * where its own step is the first that is wrong.
 */
const STEPS = {
  grid: isSupportedGrid,
  sizes: ({ ntp, tp, shape }) =>
    ntp.tpBase === tp && ntp.tpBase <= MAX_TP_BASE && ntp.tpSpares < ntp.tpBase && ntp.numReducedTpDpRanks <= shape.dp,
  entries: (context) => entryFaults(context).length === 0,
  slices: ({ ntp, shape }) => firstUnlikeSlices(ntp, shape) === null,
  failedRanks: (context) => failedRankFault(context) === null,
  map: (context) => missingReplicas(context).length === 0,
  sync: ({ ntp, shape }) => ntp.placement !== 'nominal' || conflictingSlots(ntp, shape).length === 0,
  experts: ({ ep, module, ntp }) => (ep === 1 && !hasExperts(module)) || ntp.placement !== 'nominal',
} as const satisfies Readonly<Record<string, (context: NtpContext) => boolean>>;

type NtpStep = keyof typeof STEPS;

/** The first step that is wrong: `off` without spares, `sound` where nothing is wrong. */
const stepOf = memoizeRecent((context: NtpContext): NtpStep | 'off' | 'sound' => {
  if (context.ntp.tpSpares === 0) {
    // slots that are removed all the same have a rule of their own: ntp-spares-off
    return STEPS.failedRanks(context) || removedSlots(context.fields) > 0 ? 'off' : 'failedRanks';
  }
  const steps = Object.entries(STEPS) as [NtpStep, (context: NtpContext) => boolean][];
  return steps.find(([, isRight]) => !isRight(context))?.[0] ?? 'sound';
});

/** The context of a file whose first wrong step is the given one (or of which all are right: `sound`); null elsewhere. */
export function contextAt(facts: LayoutFacts, step: NtpStep | 'sound'): NtpContext | null {
  const context = ntpContext(facts);
  return context && stepOf(context) === step ? context : null;
}

/**
 * The check of the rule that judges one step: its reports, with what Megatron-LM says of the file and, behind their own
 * fixes, the plans that take the failed ranks out.
 */
export function atStep(
  step: NtpStep,
  reportsOf: (context: NtpContext) => Iterable<Report>,
): (facts: LayoutFacts) => Iterable<Report> {
  return function* (facts) {
    const context = contextAt(facts, step);
    for (const report of context ? reportsOf(context) : []) {
      const fixes = [...(report.fixes ?? []), ...(context ? failedPlans(context) : [])];
      yield { predicts: context && ntpPrediction(context), ...report, fixes };
    }
  };
}
