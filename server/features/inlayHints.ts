import { type InlayHint, InlayHintKind, type Range } from 'vscode-languageserver';
import {
  type Checked,
  countOf,
  type Field,
  gibibytes,
  type LayoutFacts,
  type LineIndex,
  type ModuleFacts,
  type Span,
  scoreOf,
} from '../../layout';
import { DEFAULT_SETTINGS, type HintKind } from '../clientOptions';
import { layersPerStage, microBatches } from '../describe';
import { neededText } from '../scoreText';
import { feature } from './feature';

export const inlayHintFeature = feature({ inlayHintProvider: true }, ({ connection, checked, settings }) => {
  connection.languages.inlayHint.on(({ textDocument, range }) =>
    inlayHints(checked(textDocument.uri), range, settings().hints),
  );
});

/**
 * Numbers that follow from those written, shown behind them: spans, dp, expt_dp, defaults in force.
 * @param shown the kinds that are wanted
 */
export function inlayHints(checked: Checked, range: Range, shown = DEFAULT_SETTINGS.hints): InlayHint[] {
  const { facts, lines } = checked;
  if (!facts) {
    return [];
  }
  const start = lines.offsetAt(range.start);
  const end = lines.offsetAt(range.end);
  const memory = shown.has('memory') ? memoryHint(checked, facts) : [];
  return [...allHints(facts, shown), ...memory]
    .filter(({ offset }) => start <= offset && offset <= end)
    .map((hint) => inlayHint(hint, lines));
}

interface Hint {
  readonly offset: number;
  readonly text: string;
  readonly tooltip: string;
}

function inlayHint({ offset, text, tooltip }: Hint, lines: LineIndex): InlayHint {
  return {
    position: lines.positionAt(offset),
    // set apart from what the file says
    label: `→ ${text}`,
    tooltip,
    kind: InlayHintKind.Type,
    paddingLeft: true,
  };
}

function* allHints(facts: LayoutFacts, shown: ReadonlySet<HintKind>): Iterable<Hint> {
  const { root, world } = facts;
  if (shown.has('derived') && !root.world_size.written && world.size !== undefined) {
    yield headHint(facts.text, root.cluster, `world_size ${world.size}`, 'nodes x gpus_per_node');
  }
  for (const module of facts.modules) {
    yield* spanHint(facts, module, shown);
    if (shown.has('defaults')) {
      yield* defaultHints(module);
    }
    if (shown.has('derived')) {
      yield* derivedHints(facts, module);
    }
  }
  if (shown.has('derived')) {
    yield* batchHint(facts);
  }
}

/** Behind the name of a grid: its ranks, and the data-parallel sizes that follow from its degrees. */
function* spanHint(facts: LayoutFacts, module: ModuleFacts, shown: ReadonlySet<HintKind>): Iterable<Hint> {
  const { name, degrees, ranks, rankOffset, dp, exptDp, fields } = module;
  const span = name !== null && ranks !== undefined && rankOffset !== undefined;
  const parts = [
    ...(shown.has('ranks') && span ? [`ranks ${rankOffset}–${rankOffset + ranks - 1}`] : []),
    ...(shown.has('derived') && dp !== undefined && !fields.dp.written ? [`dp ${dp}`] : []),
    ...(shown.has('derived') && exptDp !== undefined && degrees && degrees.ep > 1 && !fields.expt_dp.written
      ? [`expt_dp ${exptDp}`]
      : []),
  ];
  if (degrees && parts.length > 0) {
    const head = { keySpan: module.nameSpan, span: module.span };
    yield headHint(facts.text, head, parts.join(' · '), 'derived from the degrees of this grid');
  }
}

function* defaultHints({ name, degrees, ranks, fields }: ModuleFacts): Iterable<Hint> {
  if (degrees && ranks !== undefined && degrees.ep > 1 && fields.ep.written && !fields.expt_tp.written) {
    const why = name === null ? 'left out, expt_tp is tp' : 'left out, expt_tp is 1 in a module';
    yield valueHint(fields.ep, `expt_tp ${degrees.exptTp}`, why);
  }
}

function* derivedHints(facts: LayoutFacts, module: ModuleFacts): Iterable<Hint> {
  const { degrees, ranks, fields } = module;
  if (!degrees || ranks === undefined) {
    return;
  }
  if (fields.num_weight_shards.written && !fields.gtp_remat.written) {
    yield valueHint(fields.num_weight_shards, `gtp_remat ${degrees.gtpRemat}`, 'num_weight_shards / tp');
  }
  if (fields.expt_num_weight_shards.written && !fields.expt_gtp_remat.written) {
    const text = `expt_gtp_remat ${degrees.exptGtpRemat}`;
    yield valueHint(fields.expt_num_weight_shards, text, 'expt_num_weight_shards / expt_tp');
  }
  const layers = module.model.value?.num_layers;
  const perStage = layersPerStage(facts, module);
  if (layers && perStage !== undefined && degrees.pp > 1) {
    yield valueHint(layers, `${countOf(perStage, 'layer')}/stage`, 'num_layers / pp');
  }
}

/** The micro-batches of a step, where every grid has the same number of them. */
function* batchHint(facts: LayoutFacts): Iterable<Hint> {
  const counts = new Set(facts.modules.map((module) => microBatches(facts, module)));
  const [count] = counts;
  const field = facts.root.batch.value?.global_batch_size;
  if (counts.size === 1 && count !== undefined && field) {
    yield valueHint(field, `${countOf(count, 'micro-batch')}/step`, 'per data-parallel replica');
  }
}

/** Behind the kind of GPU: the memory that its fullest pipeline stage takes, by estimate. */
function* memoryHint(checked: Checked, { root }: LayoutFacts): Iterable<Hint> {
  const gpu = root.cluster.value?.gpu;
  const score = gpu?.value === undefined ? null : scoreOf(checked);
  if (gpu && score?.gpuBytes) {
    const [low, high] = score.totalInterval.map(gibibytes);
    const tooltip = `estimated need of the fullest pipeline stage with its communicators: ${low} to ${high} GiB`;
    yield valueHint(gpu, neededText(score), tooltip);
  }
}

function valueHint({ span }: Pick<Field<unknown>, 'span'>, text: string, tooltip: string): Hint {
  return { offset: span.end, text, tooltip };
}

/** Behind the colon of a key whose map follows on the next lines, behind the map where it stands on the same line. */
function headHint(text: string, place: { keySpan: Span; span: Span }, label: string, tooltip: string): Hint {
  const { keySpan, span } = place;
  const colon = text.indexOf(':', keySpan.end);
  const isFlow = text[span.start] === '{' || text[span.start] === '*';
  return { offset: isFlow || colon < 0 ? span.end : colon + 1, text: label, tooltip };
}
