import { check } from '../check';
import { applyEdits, setKey } from '../format/edit';
import type { Field } from '../format/spec';
import { divisors } from '../rules/numbers';
import type { LayoutFacts } from '../topology/facts';
import { costJobs } from './fromLayout';
import { type Block, type Chunk, type CostDegrees, type CostJob, microbatches, type Recompute } from './job';
import { fullestOf, memoryOf } from './memory';
import { MEGATRON, stepTime } from './time';

/** A layout that fits, with what it costs. */
export interface PlannedLayout {
  readonly degrees: CostDegrees;
  /** Model chunks a stage; 1 without interleaving. */
  readonly vpp: number;
  readonly micro: number;
  readonly recompute: 'none' | 'selective' | 'full';
  /** Seconds of one optimizer step. */
  readonly seconds: number;
  /** What the fullest stage needs of its GPU, in bytes, with its range. */
  readonly totalBytes: number;
  readonly totalInterval: readonly [number, number];
  readonly microbatches: number;
  /** The file with these degrees. */
  readonly text: string;
}

/** Layouts of a model on a machine, the quickest first; or why there are none. */
export type Plan =
  | { readonly ok: true; readonly tried: number; readonly fitting: number; readonly layouts: readonly PlannedLayout[] }
  | { readonly ok: false; readonly reason: string };

/** How many candidates are checked for each layout that is wanted, as the rules may refuse some. */
const TRIED_TEXTS = 4;

const MICRO_BATCHES = [1, 2, 4, 8];
const CONTEXT_SIZES = [1, 2, 4, 8, 16];
const MAX_STAGES = 64;

/**
 * The layouts of the model, world and batch of a file that fit its GPUs, ranked by estimated step time. The file's own degrees
 * do not matter; layouts with errors are left out.
 * @param text a layout file with `parallelism`
 * @param wanted how many layouts are listed
 */
export function planLayouts(text: string, wanted: number): Plan {
  const base = baseOf(text);
  if ('reason' in base) {
    return { ok: false, reason: base.reason };
  }
  const candidates = [...jobsLike(base.job, base.world)];
  const costed = candidates.map(withCost).filter(({ totalInterval }) => totalInterval[1] <= base.memoryBytes);
  const best = quickestOfGrids(costed);
  const layouts: PlannedLayout[] = [];
  for (const { job, ...cost } of best.slice(0, wanted * TRIED_TEXTS)) {
    if (layouts.length === wanted) {
      break;
    }
    const planned = plannedLayout(text, job, cost);
    if (planned) {
      layouts.push(planned);
    }
  }
  return { ok: true, tried: candidates.length, fitting: costed.length, layouts };
}

interface Base {
  readonly job: CostJob;
  readonly world: number;
  readonly memoryBytes: number;
}

/** The job of a file with all degrees 1, which no rule on degrees can refuse. */
function baseOf(text: string): Base | { readonly reason: string } {
  const plain = withSection(text, 'parallelism', ['tp: 1']);
  const { facts } = plain === null ? { facts: null } : check(plain);
  const [made] = facts ? costJobs(facts) : [];
  const world = facts?.world.size;
  if (!facts || !made || world === undefined || facts.heterogeneous) {
    return { reason: 'the file needs `parallelism` (not `modules`) and a `cluster` or `world_size`' };
  }
  if (!made.ok) {
    return { reason: made.reason };
  }
  const { memoryBytes } = made.job.hardware.gpu;
  if (!made.gpuKnown || memoryBytes === 0) {
    return { reason: '`cluster.gpu` names the kind of GPU; without it nothing can be said to fit' };
  }
  return { job: made.job, world, memoryBytes };
}

/** Every combination of degrees that divides the model, the batch and the world. */
function* jobsLike(base: CostJob, world: number): Iterable<CostJob> {
  const { model, hardware, sequence, batch } = base;
  const blocks = base.stages.flat().flatMap((chunk) => chunk.blocks);
  const layers = blocks.length / 2;
  const tensor = divisors(model.numAttentionHeads, hardware.gpusPerNvlinkDomain).filter(
    (tp) => model.numQueryGroups % tp === 0 || tp % model.numQueryGroups === 0,
  );
  const context = CONTEXT_SIZES.filter((cp) => cp === 1 || sequence.length % (2 * cp * 4096) === 0);
  for (const tp of tensor) {
    for (const cp of context) {
      for (const pp of divisors(layers, MAX_STAGES)) {
        const dp = world / (tp * cp * pp);
        if (Number.isInteger(dp)) {
          yield* ofGrid(base, blocks, { tp, cp, pp, dp }, batch.global);
        }
      }
    }
  }
}

function* ofGrid(
  base: CostJob,
  blocks: readonly Block[],
  grid: Pick<CostDegrees, 'tp' | 'cp' | 'pp' | 'dp'>,
  global: number,
): Iterable<CostJob> {
  const { tp, cp, pp, dp } = grid;
  const chunked = divisors(blocks.length / 2 / pp, 8).filter((vpp) => vpp === 1 || pp > 1);
  for (const micro of MICRO_BATCHES.filter((size) => global % (size * dp) === 0)) {
    const count = global / (micro * dp);
    for (const vpp of chunked.filter((size) => size === 1 || count % pp === 0)) {
      const stages = evenStages(blocks, pp, vpp);
      for (const { ep, exptTp } of expertSplits(base, grid)) {
        const exptDp = (tp * cp * dp) / (ep * exptTp);
        for (const granularity of ['none', 'selective', 'full'] as const) {
          yield {
            ...base,
            stages,
            degrees: { tp, cp, pp, dp, ep, exptTp, exptDp },
            batch: { micro, global },
            sequence: { ...base.sequence, sequenceParallel: tp > 1 },
            optimizer: { ...base.optimizer, distributed: true },
            recompute: recomputeOf(granularity),
          };
        }
      }
    }
  }
}

function recomputeOf(granularity: Recompute['granularity']): Recompute {
  switch (granularity) {
    case 'full':
      return { granularity, layers: null };
    case 'selective':
      return { granularity, modules: ['core_attn'] };
    case 'none':
      return { granularity };
  }
}

function expertSplits(
  { model }: CostJob,
  { tp, cp, dp }: Pick<CostDegrees, 'tp' | 'cp' | 'dp'>,
): { readonly ep: number; readonly exptTp: number }[] {
  if (!model.moe) {
    return [{ ep: 1, exptTp: tp }];
  }
  return divisors(model.moe.numExperts, 256)
    .filter((ep) => (tp * cp * dp) % ep === 0)
    .map((ep) => ({ ep, exptTp: 1 }));
}

/** The same number of layers on every stage and chunk, chunk by chunk over the stages. */
function evenStages(blocks: readonly Block[], pp: number, vpp: number): Chunk[][] {
  const size = blocks.length / (pp * vpp);
  return Array.from({ length: pp }, (_, rank) =>
    Array.from({ length: vpp }, (_, chunk): Chunk => {
      const first = (chunk * pp + rank) * size;
      return {
        blocks: blocks.slice(first, first + size),
        embedding: rank === 0 && chunk === 0,
        loss: rank === pp - 1 && chunk === vpp - 1,
        mtp: 0,
      };
    }),
  );
}

/** Of layouts with the same degrees, the quickest; the quickest first. */
function quickestOfGrids<T extends Cost & { readonly job: CostJob }>(costed: readonly T[]): T[] {
  const quickest = new Map<string, T>();
  for (const one of [...costed].sort((a, b) => a.seconds - b.seconds)) {
    const key = JSON.stringify(one.job.degrees);
    if (!quickest.has(key)) {
      quickest.set(key, one);
    }
  }
  return [...quickest.values()];
}

type Cost = Pick<PlannedLayout, 'seconds' | 'totalBytes' | 'totalInterval'>;

function withCost(job: CostJob): Cost & { readonly job: CostJob } {
  const { totalBytes = 0, totalInterval = [0, 0] } = fullestOf(memoryOf(job)) ?? {};
  return { job, totalBytes, totalInterval, seconds: stepTime(job, MEGATRON).seconds };
}

/** The layout as a file; null where a rule refuses it. */
function plannedLayout(text: string, job: CostJob, cost: Cost): PlannedLayout | null {
  const vpp = job.stages[0]?.length ?? 1;
  const planned = written(text, job, vpp);
  if (planned === null || check(planned).diagnostics.some(({ severity }) => severity === 'error')) {
    return null;
  }
  return {
    degrees: job.degrees,
    vpp,
    micro: job.batch.micro,
    recompute: job.recompute.granularity,
    microbatches: microbatches(job),
    text: planned,
    ...cost,
  };
}

function written(text: string, job: CostJob, vpp: number): string | null {
  const { tp, cp, pp, ep, exptTp } = job.degrees;
  const degrees = [`tp: ${tp}`, `cp: ${cp}`, `pp: ${pp}`, `vpp: ${vpp}`, `ep: ${ep}`].filter(
    (line) => !/: 1$/.test(line),
  );
  const experts = job.model.moe ? [`expt_tp: ${exptTp}`] : [];
  const { granularity } = job.recompute;
  const recompute =
    granularity === 'full'
      ? ['granularity: full', 'method: uniform', 'num_layers: 1']
      : [`granularity: ${granularity}`];
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ['parallelism', degrees.length + experts.length > 0 ? [...degrees, ...experts] : ['tp: 1']],
    ...(granularity === 'none' ? [] : [['recompute', recompute] as const]),
  ];
  const laid = sections.reduce<string | null>((all, [name, lines]) => all && withSection(all, name, lines), text);
  const keys: readonly (readonly [SectionName, string, string])[] = [
    ['batch', 'micro_batch_size', String(job.batch.micro)],
    ['batch', 'global_batch_size', String(job.batch.global)],
    ['optimizer', 'use_distributed_optimizer', 'true'],
    ...(tp > 1 ? [['sequence', 'sequence_parallel', 'true'] as const] : []),
  ];
  return keys.reduce<string | null>((all, [section, key, value]) => all && withKey(all, section, key, value), laid);
}

type SectionName = keyof LayoutFacts['root'];

/** The file with a section in block style, in place of the one it has or at its end; null where it cannot be read. */
function withSection(text: string, name: string, lines: readonly string[]): string | null {
  const { facts } = check(text);
  const field = facts?.root[name as SectionName];
  if (!facts || !field) {
    return null;
  }
  const block = `${name}:\n${lines.map((line) => `  ${line}`).join('\n')}`;
  return field.written
    ? applyEdits(text, [{ span: { start: field.keySpan.start, end: field.span.end }, newText: block }])
    : `${text.trimEnd()}\n${block}\n`;
}

/** The file with one key of a section set, the section's others as they are; null where it cannot be read. */
function withKey(text: string, section: SectionName, key: string, value: string): string | null {
  const field: Field<unknown> | undefined = check(text).facts?.root[section];
  if (!field?.written) {
    return withSection(text, section, [`${key}: ${value}`]);
  }
  const keys = field.value as Readonly<Record<string, Field<unknown>>> | undefined;
  const own = keys?.[key];
  const edit = own ? setKey(text, field.span, key, own, value) : null;
  return edit && applyEdits(text, [edit]);
}
