import { HALF, type WeightJob } from '../cost/job';
import { stageParameters } from '../cost/states';
import type { PhaseKeys } from '../format/keys';
import { gibibytes, rankList } from '../format/quantities';
import type { Section } from '../format/spec';
import type { Dim } from '../grid/grid';
import { countOf } from '../rules/numbers';
import { type LayoutFacts, valueOr } from '../topology/facts';
import { isServed, phasePlace } from '../topology/phases';
import { denseGrid } from '../topology/processGroups';
import { resolveLayout } from '../topology/resolve';
import type { ResolvedLayout, ResolvedModule } from '../topology/resolved';
import { type SavedState, savedStates } from './savedState';
import { type ShardLinks, ShardMap } from './shards';

/** How the weights of the trainer reach the engines of one phase after an update. Bytes are of numbers of 16 bits. */
export interface WeightUpdate {
  readonly phase: string;
  readonly engine: string;
  /** GPUs of all engines, and of one. */
  readonly gpus: number;
  readonly gpusPerEngine: number;
  /** Whether the engines have GPUs of their own; their ranks are then counted from 0, else they are the trainer's. */
  readonly isApart: boolean;
  /** The degrees that cut tensors, as `tp 4 x pp 2`: of the trainer, and of an engine. */
  readonly trainer: string;
  readonly degrees: string;
  /** Whether a rank of an engine holds just what the rank of the trainer on its GPU does. */
  readonly isAlike: boolean;
  /** Bytes of all weights once; null where the sizes of the model are not known. */
  readonly bytes: number | null;
  /** Who broadcasts to the engines; empty where every rank gathers for itself, null where that is not known. */
  readonly senders: readonly WeightSender[] | null;
  /** The framework whose way that is, as its authors write it. */
  readonly framework: string | null;
  /** The first ranks of the first engine, as many as are asked for or it has; none where they cannot be told. */
  readonly ranks: (most: number) => readonly EngineRank[];
}

interface WeightSender {
  readonly rank: number;
  /** The pipeline stage whose weights it sends; null for all. */
  readonly stage: number | null;
  readonly bytes: number | null;
}

interface EngineRank {
  readonly rank: number;
  /** Bytes that it keeps; null where the sizes are not known. */
  readonly bytes: number | null;
  /** The ranks of the trainer that hold what it keeps: of equal replicas the first. */
  readonly heldBy: readonly number[];
}

/** How weights travel to the engines of a reinforcement-learning job, a phase each; none where the layout does not resolve. */
export function weightUpdates(facts: LayoutFacts): readonly WeightUpdate[] {
  const served = (facts.root.phases.value ?? []).flatMap(({ name, value }) =>
    value && isServed(value) ? [{ name, value }] : [],
  );
  const layout = facts.heterogeneous || served.length === 0 ? null : resolveLayout(facts);
  const [saved] = layout ? savedStates(facts) : [];
  return layout && saved ? served.flatMap(({ name, value }) => updateOf(facts, layout, saved, name, value) ?? []) : [];
}

function updateOf(
  facts: LayoutFacts,
  layout: ResolvedLayout,
  saved: SavedState,
  name: string,
  phase: Section<PhaseKeys>,
): WeightUpdate | null {
  const [trainer] = layout.modules;
  const place = phasePlace(facts, phase);
  // engines on GPUs of their own count their ranks from 0
  const start = place?.isApart ? 0 : (place?.start ?? 0);
  const engine = place && engineModule(phase, start, place.ranks);
  if (!trainer || !place || !engine) {
    return null;
  }
  const { module, tp, pp, ep, size } = engine;
  const job = typeof saved.weights === 'string' || saved.weights.lora ? null : saved.weights;
  const { framework } = facts;
  const isSharded = framework?.rules.megatron === 'none';
  const bytes = job && wholeBytes(job, [job.stages.flat()], 0);
  const links = engineLinks(saved, pp);
  const map = links && new ShardMap(trainer, module, links);
  const kept = job && pp === 1 ? engineBytes(job, tp, ep) : null;
  const shards = layout.worldSize / replicas(layout);
  const heldBy = (rank: number) =>
    isSharded ? Array.from({ length: shards }, (_, i) => i) : (map?.sourcesOf(rank) ?? []);
  const count = isSharded || map !== null ? size : 0;
  const ranks = (most: number) =>
    Array.from({ length: Math.min(count, most) }, (_, i) => ({
      rank: start + i,
      bytes: kept,
      heldBy: heldBy(start + i),
    }));
  return {
    phase: name,
    engine: valueOr(phase.engine, 'megatron') ?? '',
    gpus: place.ranks,
    gpusPerEngine: size,
    isApart: place.isApart,
    trainer: isSharded ? `${shards} shards` : degreesText(saved),
    degrees: degreesText(engine),
    isAlike: !isSharded && !place.isApart && isCutAlike(saved, engine),
    bytes,
    senders: framework?.weightUpdates
      ? sendersOf(framework.weightUpdates.apart, place.isApart, trainer, saved, { job, bytes })
      : null,
    framework: framework?.weightUpdates ? framework.title : null,
    ranks,
  };
}

/** An engine without a pipeline reads of every stage; how one with it splits layers, it decides by itself. */
function engineLinks({ pp, experts, gtpRemat, exptGtpRemat }: SavedState, enginePp: number): ShardLinks | null {
  const isKnown = enginePp === 1 && gtpRemat === 1 && exptGtpRemat === 1;
  return isKnown ? { stages: [Array.from({ length: pp }, (_, stage) => stage)], experts: experts !== null } : null;
}

/** Whether both sides cut every tensor alike: a rank then has what the engine on its GPU takes. */
function isCutAlike(saved: SavedState, engine: Pick<SavedState, 'tp' | 'pp' | 'ep'>): boolean {
  const sameExperts = saved.experts === null || (saved.ep === engine.ep && saved.exptTp === exptTpOf(engine));
  return saved.tp === engine.tp && saved.pp === 1 && engine.pp === 1 && sameExperts;
}

const degreesText = ({ tp, pp, ep }: Pick<SavedState, 'tp' | 'pp' | 'ep'>): string =>
  [`tp ${tp}`, ...(pp > 1 ? [`pp ${pp}`] : []), ...(ep > 1 ? [`ep ${ep}`] : [])].join(' x ');

/** Engines spread experts over the ranks of tp first. */
const exptTpOf = ({ tp, ep }: Pick<SavedState, 'tp' | 'ep'>): number => Math.max(1, tp / ep);

/** How often all weights are on the ranks of a trainer that shards them without Megatron Core. */
function replicas({ meshes }: ResolvedLayout): number {
  return meshes[0]?.axes.find(({ name }) => name === 'dp_replicate')?.size ?? 1;
}

/** The grid of the engines, laid out as vLLM and SGLang do; null where its degrees do not divide the ranks, or attention is cut apart. */
function engineModule(phase: Section<PhaseKeys>, start: number, gpus: number) {
  const size = (name: 'tp' | 'pp' | 'dp' | 'ep') => valueOr(phase[name], 1) ?? Number.NaN;
  const [tp, pp, ep] = [size('tp'), size('pp'), size('ep')];
  const isSglang = phase.engine.value === 'sglang';
  const replicas = isSglang || !phase.dp.written ? 1 : size('dp');
  const of = tp * pp * replicas;
  // SGLang takes dp out of tp for attention; vLLM spreads experts over tp x dp, and ranks of a pipeline lie in between
  if ((isSglang && size('dp') > 1 && phase.dp.written) || (ep > tp && pp > 1) || gpus % of !== 0) {
    return null;
  }
  const exptTp = exptTpOf({ tp, ep });
  const rest = gpus / (exptTp * ep * pp);
  if (![exptTp, rest].every(Number.isInteger)) {
    return null;
  }
  const dims = (...sizes: readonly (readonly [string, number])[]): Dim[] =>
    sizes.map(([name, size]) => ({ name, size }));
  const module: ResolvedModule = {
    name: null,
    rankOffset: start,
    numRanks: gpus,
    dense: dims(['tp', tp], ['pp', pp], ['dp', gpus / (tp * pp)]),
    expert: dims(['expt_tp', exptTp], ['ep', ep], ['pp', pp], ['expt_dp', rest]),
  };
  return { module, tp, pp, ep, size: of };
}

function sendersOf(
  apart: 'stages' | 'first' | null,
  isApart: boolean,
  trainer: ResolvedModule,
  { pp }: SavedState,
  { job, bytes }: { readonly job: WeightJob | null; readonly bytes: number | null },
): readonly WeightSender[] | null {
  if (!isApart) {
    return [];
  }
  if (apart === 'first') {
    return [{ rank: trainer.rankOffset, stage: null, bytes }];
  }
  const stride = denseGrid(trainer).axes.find(({ name }) => name === 'pp')?.stride ?? 1;
  return apart === null
    ? null
    : Array.from({ length: pp }, (_, stage) => ({
        rank: trainer.rankOffset + stage * stride,
        stage,
        bytes: job && wholeBytes(job, job.stages, stage),
      }));
}

/** Bytes of the weights of a stage that nothing cuts. */
function wholeBytes(job: WeightJob, stages: WeightJob['stages'], stage: number): number {
  const degrees = { ...job.degrees, tp: 1, ep: 1, exptTp: 1 };
  return bytesOf({ ...job, degrees, stages }, stage);
}

function engineBytes(job: WeightJob, tp: number, ep: number): number {
  const degrees = { ...job.degrees, tp, ep, exptTp: exptTpOf({ tp, ep }) };
  return bytesOf({ ...job, degrees, stages: [job.stages.flat()] }, 0);
}

function bytesOf(job: WeightJob, stage: number): number {
  const { dense, expert } = stageParameters(job, stage);
  return (dense + expert) * HALF;
}

/** More senders, and more ranks of an engine, are counted. */
const MAX_LINES = 8;

/** An update in words, a line each: what travels, who sends it, and what each rank of an engine keeps. */
export function weightUpdateLines(update: WeightUpdate): string[] {
  const ranks = update.ranks(MAX_LINES);
  const more = ranks.length === 0 ? 0 : update.gpusPerEngine - ranks.length;
  return [
    `${update.phase}: ${whatTravels(update)}`,
    ...wayLines(update),
    ...ranks.map(keptText),
    ...(more > 0 ? [`and ${countOf(more, 'more rank')} of the engine alike`] : []),
  ];
}

/** The same in a message: of the ranks of an engine the first. */
export function weightUpdateText(update: WeightUpdate): string {
  return `Phase '${update.phase}': ${[whatTravels(update), ...wayLines(update), ...update.ranks(1).map(keptText)].join('. ')}.`;
}

/** Bytes as messages say them, or what stands for them where they are not known. */
const sizeText = (bytes: number | null, unknown: string): string =>
  bytes === null ? unknown : `${gibibytes(bytes)} GiB`;

function whatTravels({ engine, gpus, gpusPerEngine, trainer, degrees, bytes }: WeightUpdate): string {
  const weights = bytes === null ? 'the weights' : `${gibibytes(bytes)} GiB of weights`;
  return `${weights} go from ${trainer} to ${countOf(gpus / gpusPerEngine, `${engine} engine`)} of ${degrees} after each update`;
}

function keptText({ rank, bytes, heldBy }: EngineRank): string {
  const ranks = `rank${heldBy.length === 1 ? '' : 's'} ${rankList(heldBy)} hold${heldBy.length === 1 ? 's' : ''}`;
  return `Engine rank ${rank} keeps ${sizeText(bytes, 'its part')}, which ${ranks}`;
}

/** Who sends, in sentences without a full stop; none where that is not known. */
function wayLines({ senders, framework, gpus, bytes }: WeightUpdate): string[] {
  if (senders === null) {
    return [];
  }
  if (senders.length === 0) {
    return [
      `${framework}: every rank gathers each tensor, ${sizeText(bytes, 'all weights')} in turn, and hands it to the engine on its GPU`,
    ];
  }
  const lines = senders
    .slice(0, MAX_LINES)
    .map(
      ({ rank, stage, bytes }) =>
        `rank ${rank} broadcasts ${sizeText(bytes, 'the weights')}${stage === null ? '' : ` of stage ${stage}`} to ${countOf(gpus, 'GPU')}`,
    );
  const more = senders.length - lines.length;
  return [`${framework}: ${lines.join('; ')}${more > 0 ? `; and ${more} more stages alike` : ''}`];
}
