import { memoize } from '../../memoize';
import type { LayoutFacts } from '../../topology/facts';
import { MAX_TP_BASE } from '../../topology/ntp';
import type { Rule } from '../rule';
import { megatronDev } from '../source';
import { ntpBase, ntpReplicaRange, ntpSpares, settingReports } from './degrees';
import {
  entryReports,
  mapPrediction,
  mapReports,
  ntpCpSlices,
  ntpMapIncomplete,
  ntpSlotCount,
  ntpSlotRange,
  ntpUnappliedEntry,
  sliceReports,
} from './entries';
import { failedRankReports, ntpDpSync, ntpFailedRank, syncReports } from './failedRanks';
import { expertReports, gridReports, modulesReport, ntpExpertGroups, ntpGrid, ntpModules, ntpPipeline } from './grid';
import { contextOf, type Found, type NtpContext, type NtpPage } from './ntpContext';
import { costReports, ntpCost, ntpUnevenShards, unevenReports } from './shares';

/** Each stage assumes what those before it have found in order, so that one mistake is said once. */
const STAGES: readonly ((context: NtpContext) => Iterable<Found>)[] = [
  gridReports,
  settingReports,
  entryReports,
  sliceReports,
  failedRankReports,
  mapReports,
  syncReports,
  expertReports,
];

/** What is wrong, up to the first stage that finds something; what the choice costs where nothing is. */
function staged(facts: LayoutFacts): readonly Found[] {
  if (facts.heterogeneous) {
    return facts.root.ntp.written ? [modulesReport(facts)] : [];
  }
  const context = contextOf(facts);
  if (!context) {
    return [];
  }
  if (context.ntp.tpSpares === 0) {
    return [...failedRankReports(context)];
  }
  for (const stage of STAGES) {
    const reports = [...stage(context)];
    if (reports.length > 0) {
      return withPrediction(context, reports);
    }
  }
  return [...unevenReports(context), ...costReports(context)];
}

/** Of faults for which Megatron-LM has no words, what it says of the slices, where they differ too. */
function withPrediction(context: NtpContext, reports: readonly Found[]): Found[] {
  const { tpBase, placement } = context.ntp;
  const predicts = tpBase <= MAX_TP_BASE && placement === 'nominal' ? mapPrediction(context) : null;
  return reports.map(([code, report]) => [code, { predicts, ...report }]);
}

/** The same, worked out once for all rules of the family. */
const diagnostics = memoize(staged);

const SOURCE = megatronDev(
  'megatron/core/distributed/nonuniform_tp.py',
  'initialize_nonuniform_tp_process_groups',
  'ntp_map',
);

function ruleOf(page: NtpPage): Rule {
  return {
    ...page,
    sources: [SOURCE],
    *check(facts) {
      for (const [code, report] of diagnostics(facts)) {
        if (code === page.code) {
          yield report;
        }
      }
    },
  };
}

/** The rules on nonuniform TP. */
export const NTP_RULES: readonly Rule[] = [
  ntpModules,
  ntpPipeline,
  ntpGrid,
  ntpBase,
  ntpSpares,
  ntpReplicaRange,
  ntpUnappliedEntry,
  ntpSlotRange,
  ntpSlotCount,
  ntpCpSlices,
  ntpMapIncomplete,
  ntpDpSync,
  ntpExpertGroups,
  ntpUnevenShards,
  ntpFailedRank,
  ntpCost,
].map(ruleOf);
