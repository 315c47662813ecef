import {
  code,
  countOf,
  type KeySpec,
  keyFacts,
  type LayoutFacts,
  Markdown,
  type ModuleFacts,
  markdown,
  stagePlanOf,
} from '../layout';

/** The type, default, Megatron-LM argument and versions of a key, in one line of Markdown. */
export function signature(name: string, spec: KeySpec): Markdown {
  const facts = keyFacts(spec).map(([word, text]) => {
    const told = Markdown.trusted(text);
    return word === 'type'
      ? markdown`**${name}**: ${told}`
      : text === 'required'
        ? told
        : markdown`${Markdown.trusted(word)} ${told}`;
  });
  return Markdown.join(facts, ' · ');
}

/** The grid that a path lies in: the module it names, or `parallelism`. */
export function moduleAt({ modules }: LayoutFacts, path: readonly string[]): ModuleFacts | undefined {
  return modules.find(({ name }) =>
    name === null ? path[0] !== 'modules' : path[0] === 'modules' && path[1] === name,
  );
}

/** What follows from the numbers of one grid, a line each. */
export function derivedLines(facts: LayoutFacts, module: ModuleFacts): string[] {
  const { degrees, ranks, rankOffset, dp, exptDp, denseModel } = module;
  if (!degrees || ranks === undefined) {
    return [];
  }
  const span = rankOffset === undefined ? '' : ` (${rankOffset} to ${rankOffset + ranks - 1})`;
  const perStep = microBatches(facts, module);
  const perStage = layersPerStage(facts, module);
  return [
    `${countOf(ranks, 'rank')}${span}`,
    ...(dp === undefined ? [] : [`dp ${dp} (${dp} ${dp === 1 ? 'replica' : 'replicas'} of ${denseModel} ranks)`]),
    ...(exptDp === undefined || degrees.ep === 1
      ? []
      : [`expt_dp ${exptDp} (expt_tp ${degrees.exptTp}, ep ${degrees.ep})`]),
    ...(perStep !== undefined ? [`${countOf(perStep, 'micro-batch')} a step`] : []),
    ...(perStage !== undefined ? [`${countOf(perStage, 'layer')} a stage`] : []),
  ];
}

/** The micro-batches that each replica of a grid runs in one step; undefined where that is open or not whole. */
export function microBatches({ root }: LayoutFacts, { dp, degrees }: ModuleFacts): number | undefined {
  const { micro_batch_size: micro, global_batch_size: global } = root.batch.value ?? {};
  if (!dp || !degrees || !micro?.value || !global?.value) {
    return undefined;
  }
  const count = global.value / (micro.value * dp * degrees.gtpRemat);
  return Number.isInteger(count) ? count : undefined;
}

/** The keys that decide which layers a stage holds. */
const STAGE_KEYS =
  /^(pp|vpp|pipeline_model_parallel_layout|account_for_\w+|hybrid_\w+_pattern|num_layers\w*|[a-z]+_num_layers)$/;

/** The most pipeline ranks whose stages are listed. */
const MAX_RANKS = 16;

/** The layers that each pipeline rank of a grid holds, a line each, for a key that decides them: Markdown. */
export function stageLines(facts: LayoutFacts, module: ModuleFacts, key: string): Markdown[] {
  const plan = STAGE_KEYS.test(key) ? stagePlanOf(facts, module) : undefined;
  const symbols = plan?.pattern?.split('/')[0]?.replaceAll('|', '') ?? '';
  const ranks = new Map<number, Markdown[]>();
  for (const { pp, vpp, layers } of plan?.stages() ?? []) {
    const held = markdown`${plan?.vpp ? markdown`vpp ${vpp}: ` : ''}${layersText(layers, symbols)}`;
    ranks.set(pp, [...(ranks.get(pp) ?? []), held]);
  }
  const lines = [...ranks].map(([pp, stages]) => markdown`- pp ${pp}: ${Markdown.join(stages, '; ')}`);
  const left = lines.length - MAX_RANKS;
  const shown = left > 0 ? [...lines.slice(0, MAX_RANKS), markdown`- ${countOf(left, 'more rank')}`] : lines;
  return lines.length < 2 ? [] : [Markdown.join(shown, '\n')];
}

/** `embedding, t0 to t3 (`M*M-`)`: runs of layers, with the symbols of a hybrid pattern. */
function layersText(layers: readonly string[], symbols: string): Markdown {
  const decoders = layers.filter((layer) => /^t\d/.test(layer));
  const [first, last] = [decoders[0], decoders.at(-1)];
  const run = first === last ? `${first}` : `${first} to ${last}`;
  const from = Number(first?.slice(1));
  const shown = code(symbols.slice(from, from + decoders.length).slice(0, 40));
  const words = layers
    .filter((layer) => layer === first || !decoders.includes(layer))
    .map((layer) =>
      layer !== first ? markdown`${layer}` : shown.source === '' ? markdown`${run}` : markdown`${run} (${shown})`,
    );
  return words.length === 0 ? markdown`no layers` : Markdown.join(words, ', ');
}

/** The layers of each pipeline stage, where all stages have as many; undefined where that is open or not so. */
export function layersPerStage(facts: LayoutFacts, module: ModuleFacts): number | undefined {
  const plan = stagePlanOf(facts, module);
  const perRank = new Map<number, number>();
  for (const { pp, layers } of plan?.stages() ?? []) {
    const decoders = layers.filter((layer) => layer.startsWith('t')).length;
    perRank.set(pp, (perRank.get(pp) ?? 0) + decoders);
  }
  const sizes = new Set(perRank.values());
  const [size] = sizes;
  return sizes.size === 1 ? size : undefined;
}
