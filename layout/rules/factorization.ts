import type { Edit, Fix, Related, Span } from '../finding';
import { replaceFix, setKey } from '../format/edit';
import type { Field } from '../format/spec';
import type { DegreeFields, Degrees, ModuleFacts, SomeGrids } from '../topology/facts';
import { countOf, either, nearestDivisors, nearestMultiples } from './numbers';
import type { Report, Rule } from './rule';

/** One factor of a replica: how it is called, its size, and where the file says it. */
interface Factor {
  readonly name: string;
  readonly size: number;
  readonly field: Field<number>;
}

/** What the dense and the expert factorization have alike. */
interface View {
  readonly factors: readonly Factor[];
  /** Ranks in one replica: the product of the factors. */
  readonly model: number;
  readonly dp: Field<number>;
  readonly dpName: string;
}

/** The factors of the dense grid, or null where one is unusable. */
function denseView({ fields, degrees, denseModel }: ModuleFacts): View | null {
  return degrees && denseModel !== undefined
    ? { factors: denseFactors(fields, degrees), model: denseModel, dp: fields.dp, dpName: 'dp' }
    : null;
}

/** The factors of the expert grid, or null where one is unusable. */
function expertView({ fields, degrees, expertModel }: ModuleFacts): View | null {
  return degrees && expertModel !== undefined
    ? { factors: expertFactors(fields, degrees), model: expertModel, dp: fields.expt_dp, dpName: 'expt_dp' }
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
    { name: 'expt_tp', size: exptTp, field: fields.expt_tp.written ? fields.expt_tp : fields.tp },
    { name: 'ep', size: ep, field: fields.ep },
    { name: 'expt_gtp_remat', size: exptGtpRemat, field: fields.expt_gtp_remat },
    { name: 'pp', size: pp, field: fields.pp },
  ];
}

export const denseFactorization: Rule = {
  code: 'dense-factorization',
  severity: 'error',
  title: 'The ranks do not divide into whole replicas',
  what: 'The number of ranks (`world_size` under `parallelism`, `num_ranks` of a module) is not a multiple of `tp * gtp_remat * cp * pp`, the ranks that one replica of the model takes.',
  why: 'A replica cannot be cut short. Megatron-LM stops every rank with an assertion as soon as the process groups are made, after the job has waited in the queue.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 8
  pp: 3
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 8
  pp: 2
`,
  source:
    '`initialize_model_parallel` in megatron/core/parallel_state.py; `ModuleGridSpec.__post_init__` in examples/mimo/training/topology.py',
  *checkGrids(facts) {
    for (const module of facts.modules) {
      const view = denseView(module);
      if (view && undivided(module, view)) {
        yield factorizationReport(facts, module, view, densePrediction(facts, module));
      }
    }
  },
};

export const expertFactorization: Rule = {
  code: 'expert-factorization',
  severity: 'error',
  title: 'The ranks do not divide into whole expert replicas',
  what: 'The number of ranks is not a multiple of `expt_tp * ep * expt_gtp_remat * pp`. The expert grid covers the same ranks as the dense grid with degrees of its own; `ep` need not divide `dp`, but this product must divide the ranks.',
  why: 'Megatron-LM builds the expert process groups over the same ranks and stops every rank when they do not come out even.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  ep: 3
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  ep: 4
`,
  source:
    '`initialize_model_parallel` in megatron/core/parallel_state.py; `ModuleGridSpec.__post_init__` in examples/mimo/training/topology.py',
  *checkGrids(facts) {
    for (const module of facts.modules) {
      const dense = denseView(module);
      const view = expertView(module);
      // where the dense grid does not divide either, that finding comes first and mostly names the same number
      if (view && dense && !undivided(module, dense) && undivided(module, view)) {
        yield factorizationReport(facts, module, view, expertPrediction(module));
      }
    }
  },
};

export const denseProduct: Rule = {
  code: 'dense-product',
  severity: 'error',
  title: 'A written dp is not what the ranks give',
  what: '`dp` is derived: the ranks divided by `tp * gtp_remat * cp * pp`. The file writes another number.',
  why: 'Megatron-LM never reads `dp`; it would run with the derived size, so batch arithmetic done with the written one is wrong.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 4
  dp: 2
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 4
  dp: 4
`,
  source: '`initialize_model_parallel` in megatron/core/parallel_state.py derives the data-parallel size',
  *checkGrids(facts) {
    for (const module of facts.modules) {
      yield* productReports(facts, module, denseView(module), module.dp);
    }
  },
};

export const expertProduct: Rule = {
  code: 'expert-product',
  severity: 'error',
  title: 'A written expt_dp is not what the ranks give',
  what: '`expt_dp` is derived: the ranks divided by `expt_tp * ep * expt_gtp_remat * pp`. The file writes another number.',
  why: 'Megatron-LM never reads `expt_dp`; it would run with the derived size.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  ep: 4
  expt_dp: 4
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  ep: 4
  expt_dp: 2
`,
  source: '`initialize_model_parallel` in megatron/core/parallel_state.py derives the expert data-parallel size',
  *checkGrids(facts) {
    for (const module of facts.modules) {
      if (module.dp !== undefined) {
        yield* productReports(facts, module, expertView(module), module.exptDp);
      }
    }
  },
};

/** Whether the grids of every module divide: what places modules in the world looks no further otherwise. */
export function allDivide(modules: readonly ModuleFacts[]): boolean {
  return modules.every(({ dp, exptDp }) => dp !== undefined && exptDp !== undefined);
}

function undivided(module: ModuleFacts, view: View): boolean {
  return module.ranks !== undefined && module.ranks % view.model !== 0;
}

function densePrediction({ trainingScript }: SomeGrids, { name, ranks, denseModel }: ModuleFacts): string {
  if (trainingScript) {
    return `world size (${ranks}) is not divisible by total_model_size (total_model_size=${denseModel})`;
  }
  return name === null
    ? `world_size (${ranks}) is not divisible by ${denseModel}`
    : `num_ranks (${ranks}) must be divisible by tp*gtp_remat*cp*pp (${denseModel})`;
}

function expertPrediction({ name, ranks, expertModel }: ModuleFacts): string {
  return name === null
    ? `world_size (${ranks}) is not divisible by expert_tensor_model_pipeline_parallel size (${expertModel})`
    : `num_ranks (${ranks}) must be divisible by expt_tp*ep*expt_gtp_remat*pp (${expertModel})`;
}

function factorizationReport(facts: SomeGrids, module: ModuleFacts, view: View, predicts: string): Report {
  const ranks = module.ranks ?? 0;
  const culprit = culpritOf(view, ranks);
  const product = view.factors.map(({ name, size }) => `${name} ${size}`).join(' x ');
  const multiples = nearestMultiples(view.model, ranks);
  // the culprit's other factors divide the ranks, so any divisor of what is left fits
  const better = culprit ? nearestDivisors((ranks * culprit.size) / view.model, culprit.size, 3) : [];
  const mends = [
    ...(better.length > 0 && culprit ? [`${culprit.name} ${either([...better].sort((a, b) => a - b))}`] : []),
    `${module.ranksName} ${either([...multiples].sort((a, b) => a - b))}`,
  ];
  return {
    message: `${countOf(ranks, 'rank')} cannot hold ${product} = ${view.model}-rank replicas. Use ${mends.join(', or ')}.`,
    span: culprit?.field.span ?? module.ranksSpan,
    related: [...(culprit ? [ranksRelated(module)] : []), ...factorsRelated(view, culprit)],
    predicts,
    fixes: [
      ...better.flatMap((size) => (culprit?.field.written ? [namedFix(culprit.name, culprit.field.span, size)] : [])),
      ...rankFixes(facts, module, multiples),
    ],
  };
}

/**
 * The factor that alone spoils the division: without it the others divide the ranks. Null where the number of ranks
 * itself is the likelier culprit.
 */
function culpritOf(view: View, ranks: number): Factor | null {
  const suspects = view.factors.filter(
    ({ size, field }) => size > 1 && field.written && ranks % (view.model / size) === 0,
  );
  const alone = suspects.filter(({ size }) => ranks % size !== 0);
  return (alone.length > 0 ? alone : suspects).at(-1) ?? null;
}

function ranksRelated({ ranksName, ranks, ranksSpan }: ModuleFacts): Related {
  return { message: `${ranksName} is ${ranks} here`, span: ranksSpan };
}

function factorsRelated({ factors }: View, culprit: Factor | null): Related[] {
  return factors
    .filter((factor) => factor !== culprit && factor.field.written && factor.size > 1)
    .map(({ name, size, field }) => ({ message: `${name} is ${size} here`, span: field.span }));
}

function* productReports(
  facts: SomeGrids,
  module: ModuleFacts,
  view: View | null,
  derived: number | undefined,
): Iterable<Report> {
  const written = view?.dp.value;
  if (!view || derived === undefined || written === undefined || written === derived) {
    return;
  }
  const product = view.factors.map(({ name, size }) => `${name} ${size}`).join(' x ');
  yield {
    message: `${view.dpName} is ${written}, but ${countOf(module.ranks ?? 0, 'rank')} / (${product}) = ${derived}. Write ${view.dpName} ${derived}, or leave it out.`,
    span: view.dp.span,
    related: [ranksRelated(module), ...factorsRelated(view, null)],
    fixes: [replaceFix(view.dp.span, String(derived)), ...rankFixes(facts, module, [view.model * written])],
  };
}

/** The fix that changes a named value. */
export function namedFix(name: string, span: Span, value: number): Fix {
  return { title: `Change ${name} to ${value}`, edits: [{ span, newText: String(value) }] };
}

/** Fixes that give the grid another number of ranks; a written `cluster` moves along where whole nodes allow. */
function rankFixes(facts: SomeGrids, module: ModuleFacts, counts: readonly number[]): Fix[] {
  if (module.own) {
    return module.own.num_ranks.written ? counts.map((ranks) => namedFix('num_ranks', module.ranksSpan, ranks)) : [];
  }
  return counts.flatMap((ranks) => {
    const edits = worldSizeEdits(facts, ranks);
    return edits ? [{ title: `Change world_size to ${ranks}`, edits }] : [];
  });
}

/**
 * The edits that make the world `ranks` large: `world_size`, and `cluster.nodes` where a cluster is written.
 * Null where whole nodes cannot make it.
 */
export function worldSizeEdits({ text, root }: SomeGrids, ranks: number): Edit[] | null {
  const cluster = root.cluster.value;
  const perNode = cluster?.gpus_per_node.value;
  const nodes = perNode !== undefined && cluster?.nodes.written ? ranks / perNode : undefined;
  if (nodes !== undefined && !Number.isInteger(nodes)) {
    return null;
  }
  const world = root.world_size.written
    ? setKey(text, root.world_size.span, 'world_size', root.world_size, ranks)
    : null;
  return [
    ...(world ? [world] : []),
    ...(nodes !== undefined && cluster ? [{ span: cluster.nodes.span, newText: String(nodes) }] : []),
  ];
}
