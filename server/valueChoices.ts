import {
  countOf,
  DEFAULT_ORDER,
  divisors,
  GPU_NAMES,
  GROUP_NAMES,
  gcd,
  gibibytes,
  gpuKind,
  type KeySpec,
  type LayoutFacts,
  MODEL_NAMES,
  type ModuleFacts,
  modelText,
  processGroups,
  type ResolvedLayout,
} from '../layout';
import { moduleAt } from './describe';

/** A value that a key could have. */
export interface Choice {
  readonly value: string;
  /** What would follow from it, such as `dp 4`. */
  readonly leadsTo?: string;
}

/**
 * The values that the key at a path could have, given the other numbers of the file.
 * @param facts null where the file cannot be read
 */
export function choicesFor(
  facts: LayoutFacts | null,
  resolved: ResolvedLayout | null,
  path: readonly string[],
  spec: KeySpec,
): Choice[] {
  const key = path.at(-1) ?? '';
  const inner = spec.type === 'list' ? spec.items : spec;
  switch (inner.type) {
    case 'enum':
      return inner.options.map((value: string) =>
        value === inner.default ? { value, leadsTo: 'the default' } : { value },
      );
    case 'either':
      return inner.forms.flatMap((form: KeySpec) =>
        form.type === 'list' ? [] : choicesFor(facts, resolved, path, form),
      );
    case 'boolean':
      return [{ value: 'true' }, { value: 'false' }];
    case 'size':
      return values(['1MiB', '64MiB', '256MiB', '1GiB'], String(inner.default ?? ''));
    case 'duration':
      return values(['30s', '60s', '5m'], String(inner.default ?? ''));
    case 'string':
      return stringChoices(key, resolved);
    case 'integer':
      return facts ? integerChoices(facts, moduleAt(facts, path), path, key) : key === 'layout' ? [{ value: '1' }] : [];
    default:
      return [];
  }
}

function values(all: readonly string[], fallback: string): Choice[] {
  return all.map((value) => (value === fallback ? { value, leadsTo: 'the default' } : { value }));
}

function stringChoices(key: string, resolved: ResolvedLayout | null): Choice[] {
  switch (key) {
    case 'order':
      return ORDERS;
    case 'from':
      return MODEL_NAMES.map((value) => ({ value, leadsTo: modelText(value) }));
    case 'gpu':
      return GPU_NAMES.map((value) => ({ value, leadsTo: `${gibibytes(gpuKind(value)?.memoryBytes ?? 0)} GiB` }));
    case 'sharp_enabled_group':
      return [
        { value: 'dp', leadsTo: 'all data-parallel ranks' },
        { value: 'dp_replica', leadsTo: 'the replicas of a partial distributed optimizer' },
      ];
    case 'high_priority_stream_groups':
      return groupChoices(resolved);
    default:
      return [];
  }
}

const ORDERS: Choice[] = [
  { value: DEFAULT_ORDER, leadsTo: 'the default' },
  { value: 'tp-cp-ep-pp-dp', leadsTo: 'pipeline neighbours nearer than data-parallel ones' },
  { value: 'tp-cp-pp-ep-dp', leadsTo: 'pipeline neighbours nearer than experts' },
];

/** The process groups of this layout with their sizes; all names while the layout is incomplete. */
function groupChoices(resolved: ResolvedLayout | null): Choice[] {
  if (!resolved) {
    return GROUP_NAMES.map((value) => ({ value }));
  }
  const sizes = new Map<string, Choice>();
  for (const { name, count, size } of processGroups({ ...resolved, modules: resolved.modules.slice(0, 8) })) {
    if (!sizes.has(name)) {
      sizes.set(name, { value: name, leadsTo: `${countOf(count, 'group')} of ${countOf(size, 'rank')}` });
    }
  }
  return [...sizes.values()];
}

/** Numbers as choices, each with what follows from it. */
const many = (all: readonly number[], leadsTo: (value: number) => string): Choice[] =>
  all.map((value) => ({ value: String(value), ...(leadsTo(value) !== '' && { leadsTo: leadsTo(value) }) }));

/** The values of a number; `module` is the grid that it belongs to, or the model beside that grid. */
function integerChoices(
  facts: LayoutFacts,
  module: ModuleFacts | undefined,
  path: readonly string[],
  key: string,
): Choice[] {
  const { root, world } = facts;
  const replicas = replicasOf(facts);
  switch (key) {
    case 'layout':
      return [{ value: '1' }];
    case 'world_size':
      return worldChoices(facts);
    case 'nodes':
      return nodeChoices(facts);
    case 'gpus_per_node': {
      const ranks = root.world_size.value ?? 0;
      return many([8, 4, 16, 72], (n) => (ranks > 0 && ranks % n === 0 ? `${ranks / n} nodes` : ''));
    }
    case 'gpus_per_nvlink_domain':
      return many([gpusPerNode(facts), 72], () => '');
    case 'micro_batch_size': {
      const global = root.batch.value?.global_batch_size.value;
      const count = (size: number) => (global === undefined ? undefined : global / replicas / size);
      const sizes = [1, 2, 4, 8, 16].filter((size) => Number.isInteger(count(size) ?? 1));
      return many(sizes, (size) => microBatchesAStep(count(size)));
    }
    case 'global_batch_size': {
      const step = (root.batch.value?.micro_batch_size.value ?? 1) * replicas;
      const counts = [1, 2, 4, 8, 16, 32, 64];
      return many(
        counts.map((count) => count * step),
        (size) => microBatchesAStep(size / step),
      );
    }
    default:
      return module ? moduleChoices(facts, module, path, key, world.size) : [];
  }
}

/** The ranks of the cluster or of the modules; where the file has neither, whole replicas on whole nodes. */
function worldChoices(facts: LayoutFacts): Choice[] {
  const { clusterSize } = facts.world;
  const end = endOfModules(facts);
  const known = [
    ...(clusterSize === undefined ? [] : [{ value: String(clusterSize), leadsTo: 'nodes x gpus_per_node' }]),
    ...(end > 0 && end !== clusterSize ? [{ value: String(end), leadsTo: 'the end of the last module' }] : []),
  ];
  return known.length > 0 ? known : wholeWorlds(facts);
}

/** The nodes that the ranks fill; where the file does not say how many ranks there are, those of whole replicas. */
function nodeChoices(facts: LayoutFacts): Choice[] {
  const known = facts.root.world_size.value ?? endOfModules(facts);
  const worlds = known > 0 ? [{ value: String(known) }] : wholeWorlds(facts);
  const perNode = gpusPerNode(facts);
  return worlds
    .map(({ value, leadsTo = '' }) => ({ ranks: Number(value), leadsTo }))
    .filter(({ ranks }) => ranks % perNode === 0)
    .map(({ ranks, leadsTo }) => ({
      value: String(ranks / perNode),
      leadsTo: `${countOf(ranks, 'rank')}${leadsTo && `, ${leadsTo}`}`,
    }));
}

/** The rank behind the last module; 0 in a file without modules. */
function endOfModules({ modules, heterogeneous }: LayoutFacts): number {
  const ends = modules.map(({ rankOffset, ranks }) => (rankOffset ?? 0) + (ranks ?? 0));
  return heterogeneous ? Math.max(0, ...ends) : 0;
}

/** GPUs of a node: eight where the file does not say it. */
const gpusPerNode = ({ root }: LayoutFacts): number => root.cluster.value?.gpus_per_node.value ?? 8;

/** How often the least number of ranks is repeated. */
const REPEATS = [1, 2, 4, 8, 16, 32, 64, 128];

/** More ranks than any job has. */
const MAX_RANKS = 1_048_576;

/** Numbers of ranks that are whole replicas on whole nodes, from the least on; none where there are modules. */
function wholeWorlds(facts: LayoutFacts): Choice[] {
  const [module] = facts.modules;
  if (!module || facts.heterogeneous) {
    return [];
  }
  const dense = product(module, DENSE);
  const least = [dense, product(module, EXPERT)].reduce(leastCommonMultiple, gpusPerNode(facts));
  const worlds = REPEATS.map((times) => times * least).filter((ranks) => ranks <= MAX_RANKS);
  return many(worlds, (ranks) => `dp ${ranks / dense}`);
}

const leastCommonMultiple = (a: number, b: number): number => (a / gcd(a, b)) * b;

const product = (module: ModuleFacts, keys: readonly (keyof ModuleFacts['fields'])[]): number =>
  keys.reduce((size, name) => size * sizeOf(module, name), 1);

/** Replicas between which a batch is divided: the most that a grid has. */
const replicasOf = ({ modules }: LayoutFacts): number =>
  Math.max(1, ...modules.map(({ dp, degrees }) => (dp ?? 0) * (degrees?.gtpRemat ?? 1)));

const microBatchesAStep = (count: number | undefined): string =>
  count === undefined ? '' : `${countOf(count, 'micro-batch')} a step`;

function offsetChoices({ modules }: LayoutFacts, module: ModuleFacts): Choice[] {
  const ends = modules
    .filter((other) => other !== module && other.ranks !== undefined && other.rankOffset !== undefined)
    .map((other) => ({ value: String((other.rankOffset ?? 0) + (other.ranks ?? 0)), leadsTo: `behind ${other.name}` }));
  const all = [...ends.reverse(), { value: '0', leadsTo: 'the first rank' }];
  return all.filter(({ value }, i) => all.findIndex((other) => other.value === value) === i).slice(0, MAX_CHOICES);
}

/** The most choices that are offered. */
const MAX_CHOICES = 24;

function rankChoices({ modules, world }: LayoutFacts, module: ModuleFacts): Choice[] {
  const step = module.denseModel ?? 1;
  const start = module.rankOffset ?? 0;
  const next = modules
    .filter((other) => other !== module && (other.rankOffset ?? 0) > start)
    .reduce((least, other) => Math.min(least, other.rankOffset ?? least), world.size ?? start + step * 8);
  const whole = divisors(Math.max(1, next - start)).filter((ranks) => ranks % step === 0);
  return many(whole.reverse(), (ranks) => `dp ${ranks / step}`);
}

const DENSE = ['tp', 'gtp_remat', 'cp', 'pp'] as const;
const EXPERT = ['expt_tp', 'ep', 'expt_gtp_remat', 'pp'] as const;

/** The values of a key of one grid, or of the model beside it. */
function moduleChoices(
  facts: LayoutFacts,
  module: ModuleFacts,
  path: readonly string[],
  key: string,
  world: number | undefined,
): Choice[] {
  const { degrees, dp } = module;
  const model = module.model.value;
  switch (key) {
    case 'rank_offset':
      return offsetChoices(facts, module);
    case 'num_ranks':
      return rankChoices(facts, module);
    case 'num_weight_shards':
      return shardChoices(module, sizeOf(module, 'tp'), ['cp', 'pp'], 'gtp_remat');
    case 'expt_num_weight_shards':
      return shardChoices(module, sizeOf(module, 'expt_tp'), ['ep', 'pp'], 'expt_gtp_remat');
    case 'vpp':
      return many(
        divisorsOf(perStage(module)).slice(1),
        (n) => `${countOf((perStage(module) ?? 0) / n, 'layer')} a chunk`,
      );
    case 'microbatch_group_size_per_vp_stage':
      return many(
        [1, 2, 4].map((n) => n * (degrees?.pp ?? 1)),
        (n) => `${n / (degrees?.pp ?? 1)} x pp`,
      );
    case 'num_query_groups':
      return many(
        divisorsOf(model?.num_attention_heads.value),
        (n) => `${countOf((model?.num_attention_heads.value ?? 0) / n, 'head')} a group`,
      );
    case 'num_distributed_optimizer_instances':
      return many(divisorsOf(dp), (n) => `${countOf((dp ?? 0) / n, 'replica')} an instance`);
    case 'hierarchical_context_parallel_sizes':
      return many(divisorsOf(degrees?.cp).slice(1), (n) => `${(degrees?.cp ?? 0) / n} for the other levels`);
    case 'tp_base':
      return degrees ? [{ value: String(degrees.tp), leadsTo: 'tp' }] : [];
    case 'tp_spares':
      return many(upTo(degrees?.tp), (n) => `${(degrees?.tp ?? 0) - n} of ${degrees?.tp} slots stay`);
    case 'num_reduced_tp_dp_ranks':
      return many(upTo((dp ?? 0) + 1), (n) => `dp 0 to ${n - 1}`);
    default:
      return path.includes('model') || path.includes('sequence') ? [] : degreeChoices(module, key, world);
  }
}

function upTo(end: number | undefined): number[] {
  return Array.from({ length: Math.min(MAX_CHOICES, Math.max(0, (end ?? 0) - 1)) }, (_, i) => i + 1);
}

function divisorsOf(n: number | undefined): number[] {
  return n ? divisors(n) : [];
}

function perStage({ model, degrees }: ModuleFacts): number | undefined {
  const layers = model.value?.num_layers.value;
  return layers && degrees && layers % degrees.pp === 0 ? layers / degrees.pp : undefined;
}

/** The numbers of weight shards that leave whole replicas: multiples of the tensor-parallel size. */
function shardChoices(
  { ranks, fields }: ModuleFacts,
  tp: number,
  others: readonly (keyof ModuleFacts['fields'])[],
  degree: string,
): Choice[] {
  const rest = others.reduce((product, name) => product * (fields[name].value ?? 1), tp);
  const degrees = divisorsOf(ranks && ranks % rest === 0 ? ranks / rest : undefined);
  return many(
    degrees.map((n) => n * tp),
    (n) => `${degree} ${n / tp}`,
  );
}

/** The sizes of one degree that leave whole replicas with the other numbers as they are, with the dp they lead to. */
function degreeChoices(module: ModuleFacts, key: string, world: number | undefined): Choice[] {
  const { fields, own } = module;
  // left out, the tensor-parallel size of the experts is that of `parallelism`
  const follows = key === 'tp' && own === null && !fields.expt_tp.written;
  const others = (keys: readonly (keyof typeof fields)[]) =>
    product(
      module,
      keys.filter((name) => name !== key && !(follows && name === 'expt_tp')),
    );
  const dense = others(DENSE);
  const expert = others(EXPERT);
  const isDense = DENSE.some((name) => name === key);
  const isExpert = follows || EXPERT.some((name) => name === key);
  // a module that says dp in place of num_ranks grows with its degrees
  const grows = own !== null && !own.num_ranks.written && isDense && fields.dp.value !== undefined;
  const ranks = grows
    ? (world ?? 0) - (module.rankOffset ?? 0)
    : own
      ? (own.num_ranks.value ?? module.ranks)
      : module.ranks;
  if (!ranks || ranks < 0) {
    return [];
  }
  if (key === 'dp' || key === 'expt_dp') {
    const model = key === 'dp' ? dense : expert;
    return ranks % model === 0 ? [{ value: String(ranks / model), leadsTo: 'what the ranks give' }] : [];
  }
  if (!isDense && !isExpert) {
    return [];
  }
  const replicas = grows ? (fields.dp.value ?? 1) : 1;
  const fits = (size: number) =>
    (!isDense || ranks % (dense * replicas * size) === 0) && (!isExpert || grows || ranks % (expert * size) === 0);
  const leadsTo = (size: number) =>
    grows
      ? `${dense * replicas * size} ranks`
      : [
          ...(isDense ? [`dp ${ranks / (dense * size)}`] : []),
          ...(isExpert && (!isDense || sizeOf(module, 'ep') > 1) ? [`expt_dp ${ranks / (expert * size)}`] : []),
        ].join(', ');
  return many(divisors(ranks).filter(fits), leadsTo);
}

/** A degree with its default; a number of weight shards counts as the degree that it stands for. */
function sizeOf({ fields, degrees, own }: ModuleFacts, name: keyof ModuleFacts['fields']): number {
  switch (name) {
    case 'gtp_remat':
      return degrees?.gtpRemat ?? fields.gtp_remat.value ?? 1;
    case 'expt_gtp_remat':
      return degrees?.exptGtpRemat ?? fields.expt_gtp_remat.value ?? 1;
    case 'expt_tp':
      // left out, it is that of the dense grid under `parallelism`
      return degrees?.exptTp ?? fields.expt_tp.value ?? (own === null ? (fields.tp.value ?? 1) : 1);
    default:
      return fields[name].value ?? 1;
  }
}
