import { type SizedDegree, sizedDegrees, sizesOf, smallPrediction } from '../../frameworks';
import type { LayoutFacts } from '../../topology/facts';
import { changeFix, changes, suggestion, worldSizeEdits } from '../fixes';
import { countOf, eitherNumber, nearestDivisors } from '../numbers';
import { writtenRelated } from '../related';
import { inFramework, job, type Report, type Rule } from '../rule';

export const frameworkWorld: Rule = {
  code: 'framework-world',
  severity: 'error',
  title: "The framework's degrees do not multiply to the world",
  effect: 'the framework stops on every rank',
  what: 'The degrees that `launch.family` multiplies to the world do not: for torchtitan `dp_replicate * dp_shard * cp * tp * pp`, for accelerate `dp_replicate * dp_shard * cp * ulysses * tp`, for nanotron and DeepSpeed `tp * cp * dp * pp`. A degree that is left out is 1; the shard degree of torchtitan and `dp` of the others are what the rest leaves.',
  why: 'These frameworks reshape the list of ranks into a mesh of exactly these sizes. Expert parallelism does not count: it is laid over the same ranks.',
  failing: job(8, 'cp: 8', 'launch: {family: torchtitan}', 'fsdp: {data_parallel_shard_degree: 8}'),
  sources: [
    inFramework('pytorch/torchtitan', 'torchtitan/distributed/parallel_dims.py', 'ParallelDims._validate'),
    inFramework('huggingface/accelerate', 'src/accelerate/parallelism_config.py', '_validate_accelerator'),
    inFramework('huggingface/nanotron', 'src/nanotron/parallel/context.py', 'ParallelContext.__init__'),
  ],
  *check(facts) {
    const { framework, root } = facts;
    const ranks = facts.world.size;
    const degrees = framework?.world && sizedDegrees(framework.world, root, ranks);
    if (!framework?.world || !degrees || ranks === undefined) {
      return;
    }
    const small = degrees.find(({ size, field }) => size < 1 && field?.value === size);
    const sizes = sizesOf(degrees);
    const product = degrees.reduce((all, { size }) => all * size, 1);
    if (small?.field) {
      const { degree, size, field } = small;
      yield {
        message: `${degree.name} is ${size}, but must be ${degree.restByMinusOne ? '-1 (what the other degrees leave) or ' : ''}at least 1.`,
        ...changes(degree.name, field, 1),
        predicts: smallPrediction(framework.world, root, ranks, new Map()),
      };
    } else if (product !== ranks && !framework.world.isOpen?.(sizes)) {
      yield productReport(facts, degrees, ranks, framework.world.predicts?.(sizes, ranks) ?? null);
    }
  },
};

function productReport(
  facts: LayoutFacts,
  degrees: readonly SizedDegree[],
  ranks: number,
  predicts: string | null,
): Report {
  // a degree that follows from the others is not at fault
  const given = degrees.filter(({ degree, field }) => field?.written || degree.unwritten !== 'rest');
  const open = degrees.find((one) => !given.includes(one) || (one.degree.restByMinusOne && one.field?.value === -1));
  const counted = given.filter((one) => one !== open && one.size > 1);
  const product = counted.reduce((all, { size }) => all * size, 1);
  const terms = counted.map(({ degree, size }) => `${degree.name} ${size}`).join(' x ') || 'The degrees';
  const culprit = culpritOf(counted, product, ranks);
  const better = culprit ? fitting(culprit, product, ranks, open !== undefined) : [];
  const made = counted.length === 1 ? terms : `${terms} = ${product} ranks`;
  const problem = open
    ? `${counted.length === 1 ? `${terms} does` : `${terms} = ${product}, which does`} not divide ${countOf(ranks, 'rank')}.`
    : `${counted.length === 0 ? 'All degrees are 1' : made}, but the world has ${countOf(ranks, 'rank')}.`;
  const advice = [
    ...(culprit && better.length > 0 ? [`${culprit.degree.name} ${eitherNumber(better)}`] : []),
    `world_size ${product}`,
  ];
  return {
    message: `${problem} Use ${advice.join(', or ')}.`,
    span: culprit?.field?.span ?? facts.world.span,
    related: counted
      .filter((one) => one !== culprit)
      .flatMap(({ degree, field }) => (field ? writtenRelated(degree.name, field) : [])),
    predicts,
    fixes: [
      ...better.map((size) => changeFix(culprit?.degree.name ?? '', culprit?.field, size)),
      suggestion(`Change world_size to ${product}`, worldSizeEdits(facts, product) ?? [null]),
    ],
  };
}

/** The last written degree with which alone the product can be put right. */
function culpritOf(counted: readonly SizedDegree[], product: number, ranks: number): SizedDegree | null {
  const suspects = counted.filter(({ size, field }) => field?.written && ranks % (product / size) === 0);
  return suspects.find(({ degree }) => degree.name.startsWith('dp')) ?? suspects.at(-1) ?? null;
}

/** The sizes of one degree with which the degrees make the world, or, where one is open, divide it. */
function fitting({ size }: SizedDegree, product: number, ranks: number, isOpen: boolean): number[] {
  const share = ranks / (product / size);
  return isOpen ? nearestDivisors(share, size, 3) : [share];
}
