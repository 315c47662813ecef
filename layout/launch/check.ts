import { type Checked, check, type Diagnostic, type RuleLevels, type Span } from '..';
import { applyEdits } from '../format/edit';
import { layoutYaml } from './importedLayout';
import { keyEdit, yamlText } from './layoutEdits';
import type { LaunchReading } from './read';
import type { FactPath, FactValue } from './value';
import { layoutFileValues } from './writtenValues';

/** What a rule says of the job that a launch file starts, at the offset of the value at fault in that file. */
export interface LaunchDiagnostic {
  readonly diagnostic: Diagnostic;
  readonly offset: number;
  readonly related: readonly { readonly message: string; readonly offset: number }[];
}

/** The rule about what a layout must write: a launch file leaves to others what it does not say. */
const OF_LAYOUTS = 'missing-key';

/** Rules about NVLink domains, which a node of fewer GPUs than this may be a part of: a tray of GB200 NVL72 has 4. */
const OF_DOMAINS: ReadonlySet<string> = new Set(['tp-crosses-nvlink', 'phase-crosses-nvlink']);
const GPUS_OF_A_DOMAIN = 8;

/** Options of frameworks beside Megatron-LM's that replace what a rule judges, by their names with underscores. */
const REPLACED: Readonly<Record<string, readonly string[]>> = {
  // MindSpeed-LLM, mindspeed_llm/features_manager
  num_layer_list: ['pipeline-layers', 'pipeline-split', 'virtual-pipeline-layers'],
  unaligned_linear: ['attention-heads', 'query-groups', 'ffn-shards', 'sequence-divisible'],
  unaligned_split: ['attention-heads', 'query-groups', 'ffn-shards', 'sequence-divisible'],
  moe_tp_extend_ep: ['expert-factorization', 'expert-product', 'experts'],
  tp_2d: ['attention-heads', 'query-groups', 'ffn-shards'],
  // Primus, primus/backends/megatron/patches
  recompute_layer_ids: ['recompute-options'],
  decoder_pipeline_manual_split_list: ['pipeline-layers', 'pipeline-split', 'virtual-pipeline-layers'],
};

/** Values to try for an unknown key: a diagnostic that disappears with one of them is not certain. */
const TRIED: ReadonlyMap<FactPath, readonly FactValue[]> = new Map<FactPath, readonly FactValue[]>([
  ...(['tp', 'cp', 'pp', 'ep', 'expt_tp', 'vpp'] as const).map((name): [FactPath, readonly FactValue[]] => [
    `parallelism.${name}`,
    [1, 2, 4, 8],
  ]),
  ['parallelism.pipeline_model_parallel_layout', ['?']],
  ['model.num_layers_in_first_pipeline_stage', [1]],
  ['model.num_layers_in_last_pipeline_stage', [1]],
  ['parallelism.account_for_embedding_in_pipeline_split', [true]],
  ['model.num_experts', [256]],
  ['batch.micro_batch_size', [1]],
  ['sequence.sequence_parallel', [true, false]],
  ['sequence.max_seq_len', [1_048_576]],
  ['optimizer.overlap_grad_reduce', [true]],
  ['optimizer.use_distributed_optimizer', [true]],
  ['model.untie_embeddings_and_output_weights', [true]],
]);

/**
 * Applies the rules for layouts to the job that a launch file starts: what is certain, at the options that the file itself
 * writes. Nothing is said of a file that does not train, or of values that the file leaves open.
 * @param levels severities other than the rules' own
 */
export function checkLaunch(reading: LaunchReading, levels?: RuleLevels): readonly LaunchDiagnostic[] {
  if (!reading.trains || reading.family === null) {
    return [];
  }
  const checked = check(layoutYaml(reading), levels);
  const replaced = new Set(reading.unmapped.flatMap(({ name }) => REPLACED[plainName(name)] ?? []));
  const perNode = reading.values.find(({ key }) => key === 'cluster.gpus_per_node')?.value;
  const knowsDomain = typeof perNode === 'number' && perNode >= GPUS_OF_A_DOMAIN;
  const judged = checked.diagnostics.filter(
    ({ code, severity }) =>
      severity !== 'information' &&
      code !== OF_LAYOUTS &&
      !replaced.has(code) &&
      (knowsDomain || !OF_DOMAINS.has(code)),
  );
  const placeOf = placesOf(checked, reading);
  const placed = judged.flatMap((diagnostic) => placeDiagnostic(diagnostic, placeOf) ?? []);
  return placed.length === 0 ? placed : placed.filter(({ diagnostic }) => isCertain(diagnostic, checked, reading));
}

/** The name of an option as its framework's parser has it: `--num-layer-list` and `overrides.num_layer_list` are one. */
function plainName(name: string): string {
  return name.replace(/^--/, '').replaceAll('-', '_').split('.').at(-1) ?? '';
}

type PlaceOf = (span: Span) => number | null;

/** Finds the offset in the launch file of the value at a place of its layout; null where the file does not write it. */
function placesOf({ text }: Checked, reading: LaunchReading): PlaceOf {
  const offsets = [...(layoutFileValues('', text) ?? [])].map(([key, { place }]) => ({ key, offset: place.offset }));
  const values = new Map(reading.values.map((value) => [value.key, value]));
  return ({ start, end }) => {
    const key = offsets.find(({ offset }) => offset >= start && offset < Math.max(end, start + 1))?.key;
    const value = key === undefined ? undefined : values.get(key);
    const isOwn = typeof value?.source === 'object' && value.source.file === reading.file;
    return isOwn ? (value.offset ?? null) : null;
  };
}

function placeDiagnostic(diagnostic: Diagnostic, placeOf: PlaceOf): LaunchDiagnostic | null {
  const related = diagnostic.related.flatMap(({ message, span }) => {
    const offset = placeOf(span);
    return offset === null ? [] : [{ message, offset }];
  });
  const offset = placeOf(diagnostic.span) ?? related[0]?.offset;
  return offset === undefined ? null : { diagnostic, offset, related };
}

/** Whether a diagnostic holds for every value that the unknown keys may have. */
function isCertain({ code }: Diagnostic, { text, levels }: Checked, { values }: LaunchReading): boolean {
  const open = values.filter(({ value }) => value === null).map(({ key }) => key);
  return open.every((key) =>
    (TRIED.get(key) ?? []).every((value) => {
      const edit = keyEdit(text, key.split('.'), yamlText(value) ?? JSON.stringify(value));
      const other = edit && check(applyEdits(text, [edit]), levels);
      return !other || other.diagnostics.some((one) => one.code === code);
    }),
  );
}
