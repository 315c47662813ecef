import { LANGUAGE_MODULE } from '../../format/names';
import type { Field } from '../../format/spec';
import { memoizeRecent } from '../../memoize';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import { modulo } from '../../topology/python';

/** The sizes of one grid as they are written, also those below 1. */
interface WrittenSizes {
  readonly ranks: number;
  readonly offset: number;
  readonly tp: number;
  readonly remat: number;
  readonly cp: number;
  readonly pp: number;
  readonly exptTp: number;
  readonly exptRemat: number;
  readonly ep: number;
}

/**
 * What Megatron-LM says of degrees below 1, which it divides by before it looks at them: `initialize_model_parallel`, or
 * `ModuleGridSpec` and `HyperCommGrid`. Null where it says nothing, and where Python itself fails, as on a division by 0.
 */
export const degreesBelowOne: (facts: LayoutFacts) => string | null = memoizeRecent((facts) => {
  const small = new Map(facts.read.tooSmall.map(({ path, value }) => [path, value]));
  const all = facts.modules.map((module) => writtenSizes(facts, module, small));
  const grids = all.filter((grid) => grid !== null);
  if (grids.length < all.length || grids.some((grid) => denseOf(grid) * expertOf(grid) === 0)) {
    return null;
  }
  const vpp = facts.root.parallelism.value?.vpp.written ?? false;
  const found = facts.heterogeneous
    ? modulesPrediction(facts, grids)
    : grids.map((grid) => parallelismPrediction(grid, vpp));
  return found.find((message) => message !== null) ?? null;
});

function writtenSizes(
  { world }: LayoutFacts,
  { name, fields, own }: ModuleFacts,
  small: ReadonlyMap<string, number>,
): WrittenSizes | null {
  const section = name === null ? 'parallelism' : `modules.${name}`;
  const numberOf = (key: string, field: Field<number> | undefined, fallback: number): number | undefined =>
    field?.written ? (field.value ?? small.get(`${section}.${key}`)) : fallback;
  const tp = numberOf('tp', fields.tp, 1);
  const exptTp = numberOf('expt_tp', fields.expt_tp, own ? 1 : (tp ?? 1));
  const sizes = {
    ranks: own
      ? own.num_ranks.written
        ? numberOf('num_ranks', own.num_ranks, 1)
        : undefined
      : (world.size ?? small.get('world_size')),
    offset: numberOf('rank_offset', own?.rank_offset, 0),
    tp,
    remat: fields.num_weight_shards.written ? undefined : numberOf('gtp_remat', fields.gtp_remat, 1),
    cp: numberOf('cp', fields.cp, 1),
    pp: numberOf('pp', fields.pp, 1),
    exptTp,
    exptRemat: fields.expt_num_weight_shards.written ? undefined : numberOf('expt_gtp_remat', fields.expt_gtp_remat, 1),
    ep: numberOf('ep', fields.ep, 1),
  };
  return isWhole(sizes) ? sizes : null;
}

function isWhole(sizes: { readonly [K in keyof WrittenSizes]: number | undefined }): sizes is WrittenSizes {
  return Object.values(sizes).every((size) => size !== undefined);
}

const denseOf = ({ tp, remat, cp, pp }: WrittenSizes): number => tp * remat * cp * pp;
const expertOf = ({ exptTp, ep, exptRemat, pp }: WrittenSizes): number => exptTp * ep * exptRemat * pp;

function parallelismPrediction(grid: WrittenSizes, isInterleaved: boolean): string | null {
  const { ranks, pp } = grid;
  const [dense, expert] = [denseOf(grid), expertOf(grid)];
  if (modulo(ranks, dense) !== 0) {
    return `world_size (${ranks}) is not divisible by ${dense}`;
  }
  if (isInterleaved && pp < 2) {
    return 'pipeline-model-parallel size should be greater than 1 with interleaved schedule';
  }
  return modulo(ranks, expert) === 0
    ? null
    : `world_size (${ranks}) is not divisible by expert_tensor_model_pipeline_parallel size (${expert})`;
}

/** The specs are made first, each with its checks; then the grids, in the order of the file. */
function modulesPrediction({ modules, world }: LayoutFacts, grids: readonly WrittenSizes[]): (string | null)[] {
  const hasLanguage = modules.some(({ name }) => name === LANGUAGE_MODULE);
  return [...grids.map(specPrediction), ...(hasLanguage ? grids.map((grid) => gridPrediction(grid, world.size)) : [])];
}

function specPrediction(grid: WrittenSizes): string | null {
  const { ranks } = grid;
  const [dense, expert] = [denseOf(grid), expertOf(grid)];
  if (modulo(ranks, dense) !== 0) {
    return `num_ranks (${ranks}) must be divisible by tp*gtp_remat*cp*pp (${dense})`;
  }
  return modulo(ranks, expert) === 0
    ? null
    : `num_ranks (${ranks}) must be divisible by expt_tp*ep*expt_gtp_remat*pp (${expert})`;
}

function gridPrediction(grid: WrittenSizes, world: number | undefined): string | null {
  const { ranks, offset, tp, remat, cp, pp, exptTp, ep, exptRemat } = grid;
  if (offset < 0) {
    return `rank_offset must be non-negative, got ${offset}`;
  }
  if (world !== undefined && ranks > world - offset) {
    const shape = [tp, remat, cp, ranks / denseOf(grid), pp].join(', ');
    return `Grid shape [${shape}] is over sized with world size ${world} and rank offset ${offset}`;
  }
  const expert = [exptTp, ep, exptRemat, ranks / expertOf(grid), pp];
  return expert.every((size) => size > 0)
    ? null
    : `View 'expert' shape must be positive ints, got [${expert.join(', ')}]`;
}
