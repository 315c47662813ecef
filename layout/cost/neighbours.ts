import { type Checked, check, hasErrors } from '../check';
import type { Edit } from '../diagnostic';
import { applyEdits } from '../format/edit';
import { DEFAULT_ORDER } from '../format/keys';
import type { LayoutFacts, ModuleFacts } from '../topology/facts';
import { virtualSize } from '../topology/stages';
import { type Estimate, estimateOf } from './estimate';
import { type KeyChange, keyChanges, keyEdits, recomputeChanges } from './keyChanges';
import { fullestOf } from './memory';
import type { Tier } from './traffic';

/** What a scoreboard shows of one layout. */
export interface Score {
  /** What the fullest rank needs of its GPU, in bytes, with its range; and what the GPU has, null where it is not known. */
  readonly totalBytes: number;
  readonly totalInterval: readonly [number, number];
  readonly gpuBytes: number | null;
  /** Seconds of one optimizer step with its range; null where it is not known. */
  readonly seconds: number | null;
  readonly secondsInterval: readonly [number, number] | null;
  /** Bytes that a rank sends in a step. */
  readonly nvlinkBytes: number;
  readonly networkBytes: number;
  /** Share of the step in which a pipeline stage waits for others. */
  readonly bubble: number | null;
  readonly tokensPerSecondPerGpu: number | null;
  /** Operations of the model, without what is computed again, as a share of the peak of the GPUs. */
  readonly mfu: number | null;
}

/** A layout that differs in one choice. */
export interface Neighbour {
  /** The key that changes, such as `parallelism.tp`, and its value before and after. */
  readonly key: string;
  readonly from: string;
  readonly to: string;
  /** The change as edits of the text, for one step of undo. */
  readonly edits: readonly Edit[];
  readonly score: Score;
  /** What the change does, in one sentence. */
  readonly reason: string;
}

/** The estimate of a layout; null where it has errors or lacks what an estimate needs. */
export function estimateOfChecked(checked: Checked): Estimate | null {
  if (!checked.facts || !checked.resolved || hasErrors(checked)) {
    return null;
  }
  const result = estimateOf(checked.facts);
  return result.ok ? result.estimate : null;
}

/** What a scoreboard shows of a layout; null where it has errors or lacks what an estimate needs. */
export function scoreOf(checked: Checked): Score | null {
  const estimate = estimateOfChecked(checked);
  return estimate && scoreFrom(estimate);
}

/** What a scoreboard shows of an estimate. */
export function scoreFrom(estimate: Estimate): Score {
  const fullest = fullestOf(estimate.perStage);
  const { nvlink, network } = sentBy(estimate);
  return {
    totalBytes: fullest?.totalBytes ?? 0,
    totalInterval: fullest?.totalInterval ?? [0, 0],
    gpuBytes: estimate.gpuMemoryBytes,
    seconds: estimate.stepTimeS?.median ?? null,
    secondsInterval: estimate.stepTimeS?.interval ?? null,
    nvlinkBytes: nvlink,
    networkBytes: network,
    bubble: estimate.pipeline?.bubble ?? null,
    tokensPerSecondPerGpu: estimate.throughput?.tokensPerSecondPerGpu ?? null,
    mfu: estimate.throughput?.mfu ?? null,
  };
}

/**
 * The layouts that are one change away: half and twice of a degree or of the micro-batch, another way to recompute, to shard the
 * optimizer or to order the ranks. Those that a rule refuses are left out; empty where the layout itself has no estimate.
 * @param keys only changes of these keys
 */
export function neighbours(checked: Checked, keys?: readonly string[]): readonly Neighbour[] {
  return [...neighbourSteps(checked, keys)].flat();
}

/** As `neighbours`, one change a step: none where a rule refuses it. */
export function* neighbourSteps(checked: Checked, keys?: readonly string[]): Generator<readonly Neighbour[]> {
  const now = estimateOfChecked(checked);
  const { facts } = checked;
  const [module] = facts?.modules ?? [];
  if (now && facts && module && !facts.heterogeneous) {
    for (const change of changesOf(facts, module).filter(({ key }) => keys === undefined || keys.includes(key))) {
      yield neighbourOf(checked, facts, now, change);
    }
  }
}

/** A change of one choice with the keys that it takes. */
interface Change {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly keys: readonly KeyChange[];
}

function neighbourOf(checked: Checked, facts: LayoutFacts, now: Estimate, { keys, ...change }: Change): Neighbour[] {
  const edits = keyEdits(facts, keys);
  const then = edits && estimateOfChecked(check(applyEdits(checked.text, edits), checked.levels));
  return edits && then ? [{ ...change, edits, score: scoreFrom(then), reason: reasonOf(now, then) }] : [];
}

function changesOf(facts: LayoutFacts, module: ModuleFacts): readonly Change[] {
  const { root } = facts;
  const { degrees } = module;
  if (!degrees) {
    return [];
  }
  const { tp, cp, pp, ep, exptTp } = degrees;
  const micro = root.batch.value?.micro_batch_size.value ?? 1;
  const isMoe = module.model.value?.num_experts.written ?? false;
  const isSharded = root.optimizer.value?.use_distributed_optimizer.value ?? false;
  const isPipeline = pp > 1;
  const recomputed = root.recompute.value?.granularity.value ?? 'none';
  return [
    ...degree('tp', tp),
    ...degree('cp', cp),
    ...degree('pp', pp),
    ...(isPipeline ? degree('vpp', virtualSize(facts, module) ?? 1) : []),
    ...(isMoe ? [...degree('ep', ep), ...degree('expt_tp', exptTp)] : []),
    ...halfAndTwice(micro).map((size) => simple('batch', 'micro_batch_size', String(micro), String(size))),
    ...(['none', 'selective', 'full'] as const)
      .filter((granularity) => granularity !== recomputed)
      .map((to) => ({ ...simple('recompute', 'granularity', recomputed, to), keys: recomputeChanges(to) })),
    ...(isSharded ? [] : [simple('optimizer', 'use_distributed_optimizer', 'false', 'true')]),
    ...(isPipeline && (module.dp ?? 1) > 1 ? orderChange(root.parallelism.value?.order.value ?? DEFAULT_ORDER) : []),
  ];

  /** The data-parallel sizes follow; where the file writes them, they are left to be derived. */
  function degree(key: string, value: number): Change[] {
    return halfAndTwice(value).map((size) => {
      const change = simple('parallelism', key, String(value), String(size));
      const alone = key === 'tp' && size === 1 && root.sequence.value?.sequence_parallel.written;
      const sequence = alone ? keyChanges('sequence', { sequence_parallel: false }) : [];
      return {
        ...change,
        keys: [...change.keys, ...keyChanges('parallelism', { dp: null, expt_dp: null }), ...sequence],
      };
    });
  }
}

const halfAndTwice = (value: number): number[] => [value / 2, value * 2].filter((one) => Number.isInteger(one));

function simple(section: KeyChange['section'], key: string, from: string, to: string): Change {
  return { key: `${section}.${key}`, from, to, keys: keyChanges(section, { [key]: to }) };
}

function orderChange(order: string): Change[] {
  const other = order.includes('dp-pp')
    ? order.replace('dp-pp', 'pp-dp')
    : order.includes('pp-dp')
      ? order.replace('pp-dp', 'dp-pp')
      : null;
  return other === null ? [] : [simple('parallelism', 'order', order, other)];
}

/** What a change does beside time and memory, which stand beside it: a group that changes its link, else the largest difference. */
function reasonOf(now: Estimate, then: Estimate): string {
  return linkReason(now, then) ?? largestDifference(scoreFrom(now), scoreFrom(then));
}

/** The group with most traffic of those that take the network now, or no longer; null where none does. */
function linkReason(now: Estimate, then: Estimate): string | null {
  const changed = [...new Set(then.traffic.map(({ group }) => group))].flatMap((group) => {
    const [before, after] = [sentBy(now, group), sentBy(then, group)];
    const leaves = before.network === 0 && before.nvlink > 0 && after.network > 0;
    const returns = before.network > 0 && after.network === 0 && after.nvlink > 0;
    return leaves || returns ? [{ group, bytes: after.nvlink + after.network, leaves }] : [];
  });
  const [largest] = changed.toSorted((a, b) => b.bytes - a.bytes);
  return largest ? `${largest.group} ${largest.leaves ? 'takes the network now' : 'stays on NVLink now'}.` : null;
}

/** Bytes that a rank sends in a step by link, in one group or in all. */
function sentBy({ traffic }: Estimate, group?: string): Readonly<Record<Tier, number>> {
  const sum = { nvlink: 0, network: 0 };
  for (const row of traffic.filter((one) => group === undefined || one.group === group)) {
    sum[row.tier] += row.bytesPerStep;
  }
  return sum;
}

/** Smaller differences are not worth a word, as a share. */
const SMALL = 0.02;

function largestDifference(now: Score, then: Score): string {
  const parts = [
    { words: 'network traffic', change: relative(now.networkBytes, then.networkBytes) },
    { words: 'NVLink traffic', change: relative(now.nvlinkBytes, then.nvlinkBytes) },
    { words: 'pipeline bubble', change: (then.bubble ?? 0) - (now.bubble ?? 0) },
  ];
  const [largest] = parts.toSorted((a, b) => Math.abs(b.change) - Math.abs(a.change));
  if (!largest || Math.abs(largest.change) < SMALL) {
    const held = relative(now.totalBytes, then.totalBytes);
    const words = `Holds ${held > 0 ? 'more' : 'fewer'} activations or states.`;
    return Math.abs(held) < SMALL ? 'Memory and traffic hardly change.' : words;
  }
  return `${largest.change > 0 ? 'More' : 'Less'} ${largest.words}.`;
}

function relative(before: number, after: number): number {
  return before === after ? 0 : (after - before) / Math.max(before, after);
}
