import type { Fix, Related } from '../../diagnostic';
import { grouped } from '../../format/quantities';
import type { Field } from '../../format/spec';
import type { DegreeFields, Degrees, LayoutFacts, ModuleFacts } from '../../topology/facts';
import { changeFix, insertFix, suggestion, worldSizeEdits } from '../fixes';
import { countOf, eitherNumber, nearestDivisors, nearestMultiples } from '../numbers';
import type { Report } from '../rule';

/** One factor of a replica: how it is called, its size, and where the file says it. */
export interface Factor {
  readonly name: string;
  readonly size: number;
  readonly field: Field<number>;
  /** The key that gives the size where the factor's own key is not written. */
  readonly from?: 'tp';
}

/** The ranks that one replica of a grid takes. */
export interface ReplicaRanks {
  /** `a replica` or `an expert replica`. */
  readonly title: string;
  readonly factors: readonly Factor[];
  /** Ranks in one replica: the product of the factors. */
  readonly ranks: number;
}

/** One replica of the dense or of the expert grid. */
export interface Replica extends ReplicaRanks {
  /** How many replicas the file says that there are. */
  readonly dp: Field<number>;
  readonly dpName: string;
}

/** The replica of the dense grid, or null where one of its degrees is unusable. */
export function denseReplica({ fields, degrees, denseModel }: ModuleFacts): Replica | null {
  return degrees && denseModel !== undefined
    ? { title: 'a replica', factors: denseFactors(fields, degrees), ranks: denseModel, dp: fields.dp, dpName: 'dp' }
    : null;
}

/** The replica of the expert grid, or null where one of its degrees is unusable. */
export function expertReplica({ fields, degrees, expertModel }: ModuleFacts): Replica | null {
  return degrees && expertModel !== undefined
    ? {
        title: 'an expert replica',
        factors: expertFactors(fields, degrees),
        ranks: expertModel,
        dp: fields.expt_dp,
        dpName: 'expt_dp',
      }
    : null;
}

function denseFactors(fields: DegreeFields, { tp, gtpRemat, cp, pp }: Degrees): Factor[] {
  return [
    { name: 'tp', size: tp, field: fields.tp },
    { name: 'gtp_remat', size: gtpRemat, field: fields.gtp_remat },
    { name: 'cp', size: cp, field: fields.cp },
    { name: 'pp', size: pp, field: fields.pp },
  ];
}

function expertFactors(fields: DegreeFields, { exptTp, ep, exptGtpRemat, pp }: Degrees): Factor[] {
  return [
    fields.expt_tp.written
      ? { name: 'expt_tp', size: exptTp, field: fields.expt_tp }
      : { name: 'expt_tp', size: exptTp, field: fields.tp, from: 'tp' },
    { name: 'ep', size: ep, field: fields.ep },
    { name: 'expt_gtp_remat', size: exptGtpRemat, field: fields.expt_gtp_remat },
    { name: 'pp', size: pp, field: fields.pp },
  ];
}

/** Whether a module's ranks are not a whole number of replicas. */
export function isUndivided(module: ModuleFacts, replica: Replica): boolean {
  return module.ranks !== undefined && module.ranks % replica.ranks !== 0;
}

/** Reports ranks that are not a whole number of replicas. */
export function undividedReport(facts: LayoutFacts, module: ModuleFacts, replica: Replica, predicts: string): Report {
  const ranks = module.ranks ?? 0;
  const culprit = culpritOf(replica, ranks);
  const multiples = nearestMultiples(replica.ranks, ranks);
  const better = culprit ? fittingSizes(replica, culprit, ranks) : [];
  const own = ownTensorSize(replica, ranks);
  const advice = culprit ? `${culprit.name} ${eitherNumber(better)}` : `${module.ranksName} ${eitherNumber(multiples)}`;
  return {
    message: `${problemOf(replica, ranks)} Use ${advice}${own ? ', or expt_tp 1' : ''}.`,
    span: culprit?.field.span ?? module.ranksSpan,
    related: [...(culprit ? [ranksRelated(module)] : []), ...factorsRelated(replica, culprit)],
    predicts,
    fixes: [
      // keeps the degrees that the author wrote
      own ? insertFix(facts.text, module.span, 'expt_tp: 1') : null,
      ...better.map((size) => (culprit ? changeFix(culprit.name, culprit.field, size) : null)),
      ...rankFixes(facts, module, multiples),
    ],
  };
}

/** Reports a written number of replicas that is not what the ranks give. */
export function* productReports(
  facts: LayoutFacts,
  module: ModuleFacts,
  replica: Replica | null,
  derived: number | undefined,
): Iterable<Report> {
  const written = replica?.dp.value;
  if (!replica || derived === undefined || written === undefined || written === derived) {
    return;
  }
  const { dpName, dp } = replica;
  const ranks = countOf(module.ranks ?? 0, 'rank');
  const product = productOf(replica);
  const many = factorsOf(replica).length > 1;
  const division =
    product === ''
      ? `${ranks} ${module.ranks === 1 ? 'gives' : 'give'}`
      : `${ranks} / ${many ? `(${product})` : product} =`;
  yield {
    message: `${dpName} is ${written}, but ${division} ${derived}. Write ${dpName} ${derived}, or leave it out.`,
    span: dp.span,
    related: [ranksRelated(module), ...factorsRelated(replica, null)],
    fixes: [changeFix(dpName, dp, derived), ...rankFixes(facts, module, [replica.ranks * written])],
  };
}

/** The sizes of a factor nearest to its own with which the replica divides the ranks; its other factors divide them. */
export function fittingSizes(replica: ReplicaRanks, { size }: Factor, ranks: number): number[] {
  return nearestDivisors((ranks * size) / replica.ranks, size, 3);
}

/** What is wrong, with the factors above 1. */
export function problemOf(replica: ReplicaRanks, ranks: number): string {
  const product = productOf(replica);
  return factorsOf(replica).length < 2
    ? `${product} does not divide ${countOf(ranks, 'rank')}.`
    : `${product} = ${countOf(replica.ranks, 'rank')} ${replica.title}, which does not divide ${grouped(ranks)}.`;
}

function productOf(replica: ReplicaRanks): string {
  return factorsOf(replica)
    .map(({ name, size }) => `${name} ${size}`)
    .join(' x ');
}

/** The factors above 1. */
function factorsOf({ factors }: ReplicaRanks): readonly Factor[] {
  return factors.filter(({ size }) => size > 1);
}

/**
 * The factor that alone spoils the division: without it the others divide the ranks. Null where the number of ranks
 * itself is the likelier culprit.
 */
export function culpritOf(replica: ReplicaRanks, ranks: number): Factor | null {
  const suspects = factorsOf(replica).filter(
    ({ size, field }) => field.written && ranks % (replica.ranks / size) === 0,
  );
  const alone = suspects.filter(({ size }) => ranks % size !== 0);
  return (alone.length > 0 ? alone : suspects).at(-1) ?? null;
}

/** Whether the experts' tensor parallelism, which defaults to tp, alone spoils the division: with 1 the ranks divide. */
function ownTensorSize({ factors, ranks: product }: Replica, ranks: number): boolean {
  return factors.some(({ size, from }) => from === 'tp' && size > 1 && ranks % (product / size) === 0);
}

function ranksRelated({ ranksName, ranks, ranksSpan }: ModuleFacts): Related {
  return { message: `${ranksName} is ${ranks} here`, span: ranksSpan };
}

function factorsRelated(replica: Replica, culprit: Factor | null): Related[] {
  return factorsOf(replica)
    .filter((factor) => factor !== culprit && factor.field.written)
    .map(({ name, size, field, from }) => ({
      message: from ? `${name} defaults to ${from}, which is ${size} here` : `${name} is ${size} here`,
      span: field.span,
    }));
}

/** Fixes that give the grid another number of ranks; a written `cluster` moves along where whole nodes allow. */
function rankFixes(facts: LayoutFacts, { own }: ModuleFacts, counts: readonly number[]): (Fix | null)[] {
  return counts.map((ranks) => {
    if (own) {
      return changeFix('num_ranks', own.num_ranks, ranks);
    }
    return suggestion(`Change world_size to ${ranks}`, worldSizeEdits(facts, ranks) ?? [null]);
  });
}
