import { terminalLine, yamlText } from '../escape';
import { derivedFrom, specOf } from '../format/keyPath';
import { FORMAT, type KeyPath } from '../format/keys';
import type { KeySpec, Keys } from '../format/spec';
import { MEGATRON_DEFAULTS } from '../frameworks/megatronDefaults';
import { defaultFfnHiddenSize } from '../topology/feedForward';
import type { LaunchReading, LaunchValue } from './read';
import type { FactPath, FactValue } from './value';

/** A layout as plain data, in the order of the format's keys. */
export interface LayoutData {
  readonly [key: string]: FactValue | LayoutData;
}

/** Degrees that a layout shows even where they are the framework's default. */
const ALWAYS: ReadonlySet<FactPath> = new Set(['parallelism.tp', 'parallelism.cp', 'parallelism.pp', 'parallelism.ep']);

/** Values that a layout omits unless a file gives them: they follow from others. */
const NEVER: ReadonlySet<FactPath> = new Set([
  'parallelism.dp',
  'model.kv_channels',
  'fsdp.data_parallel_shard_degree',
]);

/** Degrees below 1, which no job starts with: a layout has them as they are, and `check` says so. */
function isRefusedDegree(key: FactPath, value: FactValue): boolean {
  return (
    /^(parallelism\.(tp|cp|pp|dp|ep|ulysses)|fsdp\.\w+_degree)$/.test(key) && typeof value === 'number' && value < 1
  );
}

type ValueAt = (key: KeyPath) => FactValue | null | undefined;

/** Defaults that rules judge beside other values: a layout shows them where those are given. */
const JUDGED: { readonly [P in FactPath]?: (valueAt: ValueAt) => boolean } = {
  'model.position_embedding_type': (valueAt) =>
    Number(valueAt('model.mtp_num_layers') ?? 0) > 0 ||
    String(valueAt('model.hybrid_layer_pattern') ?? '').includes('/'),
  'model.add_bias_linear': (valueAt) =>
    valueAt('model.num_experts') !== undefined && valueAt('parallelism.expt_tp') !== 1,
  'model.moe_router_pre_softmax': (valueAt) => valueAt('model.moe_router_topk') === 1,
  'moe.moe_router_load_balancing_type': (valueAt) => valueAt('model.moe_router_topk') === 1,
  'moe.moe_token_dispatcher_type': (valueAt) =>
    (['overlap_moe_expert_parallel_comm', 'moe_shared_expert_overlap'] as const).some(
      (name) => valueAt(`moe.${name}`) === true,
    ),
  'moe.moe_flex_dispatcher_backend': (valueAt) => valueAt('moe.moe_pad_expert_input_to_capacity') === true,
  'model.attention_dropout': isGraphed,
  'model.hidden_dropout': isGraphed,
  'checkpoint.ckpt_format': (valueAt) =>
    valueAt('fsdp.enabled') === true || valueAt('optimizer.overlap_param_gather_with_optimizer_step') === true,
  'optimizer.gradient_accumulation_fusion': (valueAt) => valueAt('fsdp.torch_fsdp2') === true,
  'optimizer.use_precision_aware_optimizer': (valueAt) => valueAt('optimizer.optimizer_cpu_offload') === true,
  'precision.fp8_recipe': (valueAt) =>
    valueAt('optimizer.optimizer_cpu_offload') === true && valueAt('precision.fp8_param_gather') === true,
};

/** Whether CUDA graphs hold what is recomputed. */
function isGraphed(valueAt: ValueAt): boolean {
  const graphs = ['enable_cuda_graph', 'external_cuda_graph', 'cuda_graph_impl'] as const;
  return valueAt('recompute.granularity') === 'selective' && graphs.some((name) => valueAt(`cuda_graph.${name}`));
}

/** What Megatron-LM takes where an option is absent, which is what a layout without the key means. */
const MEGATRON: { readonly [P in FactPath]?: FactValue } = {
  ...MEGATRON_DEFAULTS.values,
  ...MEGATRON_DEFAULTS.withExperts,
};

/** The values that a layout writes: those for which the format has a key, without the format's own defaults. */
export function layoutValues({ values }: LaunchReading): LaunchValue[] {
  const byKey = new Map(values.map((value) => [value.key, value.value]));
  const hasStages = listsStages((key) => byKey.get(key) ?? undefined);
  return values.filter(({ key, value, source }) => {
    const spec = specOf(key);
    const canHold = spec && value !== null && (fits(spec, value) || isRefusedDegree(key, value));
    if (!canHold || (hasStages && key === 'parallelism.vpp')) {
      return false;
    }
    if (key === 'model.num_layers' && hasUnevenStages(byKey)) {
      return false;
    }
    if (
      key.startsWith('cluster.') &&
      typeof byKey.get(key === 'cluster.nodes' ? 'cluster.gpus_per_node' : 'cluster.nodes') !== 'number'
    ) {
      // a cluster needs both
      return false;
    }
    if (source !== 'default' || ALWAYS.has(key) || JUDGED[key]?.((one) => byKey.get(one))) {
      return true;
    }
    const hidden = byKey.get('model.hidden_size');
    const gated = byKey.get('model.gated_linear_unit') === true;
    const origin = derivedFrom(key);
    const isDerived =
      NEVER.has(key) ||
      (origin !== undefined && byKey.get(origin) === value) ||
      // a gated model's width is written out: nobody has it in mind
      (key === 'model.ffn_hidden_size' && !gated && value === defaultFfnHiddenSize(Number(hidden), gated));
    const otherwise = 'default' in spec ? spec.default : MEGATRON[key];
    return !isDerived && otherwise !== value;
  });
}

/** Whether stages are listed: the list then decides the virtual stages, whatever else is given (megatron/training/arguments.py). */
export function listsStages(valueAt: (key: KeyPath) => FactValue | undefined): boolean {
  const pattern = valueAt('model.hybrid_layer_pattern');
  return (
    valueAt('parallelism.pipeline_model_parallel_layout') !== undefined ||
    (typeof pattern === 'string' && pattern.includes('|'))
  );
}

/** Whether something that no key can hold spreads layers over stages that do not divide them. */
function hasUnevenStages(values: ReadonlyMap<FactPath, FactValue | null>): boolean {
  const numberAt = (key: KeyPath) => Number(values.get(key) ?? 1);
  const stages = numberAt('parallelism.pp') * numberAt('parallelism.vpp');
  return (
    values.get('parallelism.pipeline_model_parallel_layout') === null && numberAt('model.num_layers') % stages !== 0
  );
}

/** The layout that a launch file describes. It is incomplete where the file leaves values open. */
export function layoutOf(reading: LaunchReading, files: readonly string[] = [reading.file]): LayoutData {
  const layout = dataOf(layoutValues(reading));
  if (reading.family && 'launch' in FORMAT.keys) {
    layout.launch = {
      family: reading.family,
      ...(reading.engine && { engine: reading.engine }),
      ...(files.length > 0 && { files }),
    };
  }
  return ordered(layout, FORMAT.keys);
}

function dataOf(values: readonly LaunchValue[]): Record<string, FactValue | LayoutData> {
  const layout: Record<string, FactValue | LayoutData> = { layout: 1 };
  for (const { key, value } of values) {
    if (value !== null) {
      setPath(layout, key.split('.'), value);
    }
  }
  return layout;
}

/** A layout of some values as YAML, without comments. */
export function valuesYaml(values: readonly LaunchValue[]): string {
  return `${yamlLines(ordered(dataOf(values), FORMAT.keys), '', 0, new Map()).join('\n')}\n`;
}

/** Whether a value is one that the format's key can hold. */
function fits(spec: KeySpec, value: FactValue): boolean {
  switch (spec.type) {
    case 'integer':
      return typeof value === 'number' && value >= spec.min;
    case 'share':
      return typeof value === 'number' && value >= 0 && value <= 1;
    case 'boolean':
      return typeof value === 'boolean';
    case 'string':
      return typeof value === 'string';
    case 'enum':
      return typeof value === 'string' && spec.options.includes(value);
    case 'any':
      return true;
    case 'either':
      return spec.forms.some((form: KeySpec) => fits(form, value));
    case 'map':
      return (
        isMap(value) &&
        Object.entries(value).every(([key, one]) => {
          const inner = (spec.keys as Keys)[key];
          return inner !== undefined && fits(inner, one);
        })
      );
    case 'list':
      return Array.isArray(value) && value.every((item: FactValue) => fits(spec.items, item));
    default:
      return false;
  }
}

function setPath(target: Record<string, FactValue | LayoutData>, path: readonly string[], value: FactValue): void {
  const [head = '', ...rest] = path;
  if (rest.length === 0) {
    target[head] = value;
    return;
  }
  const before = target[head];
  const inner = isMap(before) ? { ...before } : {};
  setPath(inner, rest, value);
  target[head] = inner;
}

function isMap(value: FactValue | LayoutData | undefined): value is LayoutData {
  return typeof value === 'object' && !Array.isArray(value);
}

function ordered(layout: LayoutData, keys: Keys): LayoutData {
  const sorted = Object.keys(keys).flatMap((key): [string, FactValue | LayoutData][] => {
    const value = layout[key];
    const spec = keys[key];
    if (value === undefined) {
      return [];
    }
    if (!isMap(value) || spec?.type === 'record') {
      return [[key, value]];
    }
    return [[key, spec?.type === 'map' ? ordered(value, spec.keys as Keys) : value]];
  });
  return Object.fromEntries(sorted);
}

/**
 * The layout as YAML; a comment on each value says where it comes from, and a line says of each value that is not known
 * what was looked for.
 * @param nameOf how a file is named in comments
 * @param files the launch files that the layout names; none where it was read from a pipe
 */
export function layoutYaml(
  reading: LaunchReading,
  nameOf: (file: string) => string = (file) => file,
  files: readonly string[] = [nameOf(reading.file)],
): string {
  const layout = layoutOf(reading, files);
  const sources = new Map(layoutValues(reading).map((value) => [value.key, sourceText(value, nameOf)]));
  const unknown = reading.values.filter(({ value, key }) => value === null && specOf(key));
  const isSilent = [...sources.values()].includes('default');
  const defaults = reading.defaults !== null && isSilent ? `; defaults of ${reading.defaults}` : '';
  const lines = [
    ...(reading.family ? [`# Imported from ${comment(nameOf(reading.file))} (${reading.family})${defaults}.`] : []),
    ...reading.notes.map((note) => `# ${comment(note)}`),
    ...unknown.map(({ key, lookedFor }) => `# ${key} is unknown: ${comment(lookedFor ?? '')}`),
    ...yamlLines(layout, '', 0, sources),
    ...unmappedLines(reading),
  ];
  return `${lines.join('\n')}\n`;
}

/** How many options without a key are listed, and how wide their lines are. */
const MAX_UNMAPPED = 200;
const COLUMNS = 110;

/** The options that no key of a layout can hold, as comments: nothing of a launch file is dropped silently. */
function unmappedLines({ unmapped }: LaunchReading): string[] {
  const names = [...new Set(unmapped.map(({ name }) => comment(name)))];
  const more = names.length > MAX_UNMAPPED ? [`and ${names.length - MAX_UNMAPPED} more`] : [];
  const lines: string[] = [];
  let line = '# Layouts have no key for';
  for (const [index, word] of [...names.slice(0, MAX_UNMAPPED), ...more].entries()) {
    const text = `${word}${index === Math.min(names.length, MAX_UNMAPPED + 1) - 1 ? '.' : ','}`;
    if (line.length + text.length >= COLUMNS) {
      lines.push(line);
      line = '#';
    }
    line += ` ${text}`;
  }
  return names.length === 0 ? [] : [...lines, line];
}

function sourceText({ source }: LaunchValue, nameOf: (file: string) => string): string {
  if (typeof source === 'string') {
    return source;
  }
  return source.file.startsWith('--set ') ? source.file : `${nameOf(source.file)}:${source.line}`;
}

function yamlLines(layout: LayoutData, path: string, depth: number, sources: ReadonlyMap<string, string>): string[] {
  return Object.entries(layout).flatMap(([key, value]) => {
    const indent = '  '.repeat(depth);
    const whole = path === '' ? key : `${path}.${key}`;
    const name = valueText(key);
    if (isMap(value)) {
      return [`${indent}${name}:`, ...yamlLines(value, whole, depth + 1, sources)];
    }
    const source = sources.get(whole);
    const text = valueText(value);
    return [`${indent}${name}: ${text}${source === undefined ? '' : `  # ${comment(source)}`}`];
  });
}

/** A value on one line. */
function valueText(value: FactValue): string {
  return yamlText(value, { flow: true }).trimEnd();
}

/** A text on one line, as a YAML comment can hold it. */
function comment(text: string): string {
  return terminalLine(text.slice(0, 400).replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' '));
}
