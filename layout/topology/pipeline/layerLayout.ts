import { assertThat, fail, modulo, raise, repr, typeRepr } from '../python';

/** What a stage may hold (`LayerType` in megatron/core/transformer/enums.py). */
export type LayerKind = 'embedding' | 'loss' | 'encoder' | 'decoder' | 'mtp';

const KINDS: readonly LayerKind[] = ['embedding', 'loss', 'encoder', 'decoder', 'mtp'];

/** `pipeline_model_parallel_layout` as a file has it: a string, or stages as lists of names; anything that YAML can hold. */
export type LayerLayoutInput = string | readonly unknown[];

/** A pipeline layout, stage by stage. */
export interface LayerLayout {
  readonly pp: number;
  /** Stages a pipeline rank; 1 without interleaving. */
  readonly vpp: number;
  /** The layers of each stage: `stages[vpp stage][pp rank]`. */
  readonly stages: readonly (readonly (readonly LayerKind[])[])[];
}

/** The longest layout that is read once its repetitions are written out, in characters: more layers than any model has. */
export const MAX_LAYOUT = 100_000;

const KIND_OF: Readonly<Record<string, LayerKind>> = { E: 'embedding', L: 'loss', t: 'decoder', m: 'mtp' };

/**
 * Reads a layout string such as `Ettt|(tt|)*29m|L` into stages. Commas go first, so that `t*1,0` is ten layers; then
 * `(...)*n` is written out and then `x*n`, once each (`PipelineParallelLayerLayout.parse_str_to_list` in
 * megatron/core/transformer/pipeline_parallel_layer_layout.py). Only inside `attempt`.
 */
export function parseLayerString(layout: string): LayerKind[][] {
  const text = unrolled(layout);
  return text.split('|').map((stage) =>
    Array.from(stage, (char) => {
      const kind = Object.hasOwn(KIND_OF, char) ? KIND_OF[char] : undefined;
      return (
        kind ??
        raise(
          'AssertionError',
          `Invalid layer character: ${char} (stage=${repr(stage)}, layout_str=${repr(text)}), known layer characters: ['E', 'L', 't', 'm']`,
        )
      );
    }),
  );
}

/** The layout string with its repetitions written out. */
export function unrolled(layout: string): string {
  const plain = layout.replaceAll(',', '');
  // a bracket that nothing closes, or that is not repeated, is taken whole: to look on behind it would cost the square
  const groups = repeated(plain, /\(([^)]*)(?:\)(?:\*(\d+))?|$)/g);
  return repeated(groups, /([^\n])\*(\d+)/gu);
}

function repeated(text: string, pattern: RegExp): string {
  let left = MAX_LAYOUT;
  return text.replace(pattern, (whole, part: string, times: string | undefined) => {
    if (times === undefined || part === '') {
      return whole;
    }
    const count = Number(times);
    left -= part.length * count;
    return left < 0 ? fail('MemoryError', `the layout is longer than ${MAX_LAYOUT} characters`) : part.repeat(count);
  });
}

/**
 * Lays the stages of a layout over `pp` ranks: the k-th stage is of pipeline rank `k mod pp` and virtual stage `k div pp`
 * (`PipelineParallelLayerLayout.__init__`). Only inside `attempt`.
 */
export function readLayerLayout(input: LayerLayoutInput, pp: number): LayerLayout {
  const rows: readonly unknown[] = typeof input === 'string' ? parseLayerString(input) : input;
  if (!rows.every(Array.isArray)) {
    raise(
      'AssertionError',
      `pipeline_model_parallel_layout must be a list of lists, but got [type(row) for row in layout]=[${rows.map(typeRepr).join(', ')}]`,
    );
  }
  assertThat(
    modulo(rows.length, pp) === 0,
    `pipeline_model_parallel_layout must be divisible by pipeline_model_parallel_size (len(layout)=${rows.length}, pipeline_model_parallel_size=${pp})`,
  );
  const vpp = rows.length / pp;
  const kinds: LayerKind[][] = [];
  // Megatron-LM looks at the stages of the first rank first
  for (let rank = 0; rank < pp; rank++) {
    for (let stage = 0; stage < vpp; stage++) {
      const at = stage * pp + rank;
      kinds[at] = ((rows[at] ?? []) as readonly unknown[]).map(kindOf);
    }
  }
  return { pp, vpp, stages: Array.from({ length: vpp }, (_, stage) => kinds.slice(stage * pp, (stage + 1) * pp)) };
}

function kindOf(layer: unknown): LayerKind {
  if (typeof layer !== 'string') {
    return raise(
      'AssertionError',
      `elements in pipeline_model_parallel_layout must be LayerType or str, but got ${typeRepr(layer)}.`,
    );
  }
  const name = layer.trim().toLowerCase();
  return KINDS.find((kind) => kind === name) ?? raise('AssertionError', `${name} is not a valid LayerType`);
}

/** Checks that a layout holds the model's layers (`PipelineParallelLayerLayout.validate_layer_layout`). Only inside `attempt`. */
export function validateLayers({ stages }: LayerLayout, numLayers: number, mtp: number | null): void {
  const all = stages.flat(2);
  const count = (kind: LayerKind) => all.filter((layer) => layer === kind).length;
  const [first, last] = [all[0], all.at(-1)];
  if (first === undefined) {
    fail('IndexError', 'list index out of range');
  }
  assertThat(first === 'embedding', `The first layer must be embedding, but got LayerType.${first}`);
  assertThat(last === 'loss', `The last layer must be loss, but got LayerType.${last}`);
  assertThat(count('embedding') === 1, 'Embedding must be specified exactly once');
  assertThat(count('loss') === 1, 'Loss must be specified exactly once');
  assertThat(
    count('decoder') === numLayers,
    // the missing space is Megatron's
    `Number of decoder layers ${count('decoder')}must match num_layers ${numLayers}`,
  );
  assertThat(count('mtp') === (mtp ?? 0), 'Number of mtp layers in layout must match mtp_num_layers');
  const firstMtp = all.indexOf('mtp');
  assertThat(firstMtp < 0 || !all.includes('decoder', firstMtp), 'decoder layers must be placed before MTP layers');
  assertThat(
    !stages.slice(0, -1).flat(2).includes('mtp'),
    // the message ends here, as the rest of it is not part of the assert
    'Currently we restrict that the MTP should be always in the last ',
  );
  assertThat(
    (stages.at(-1) ?? []).every(
      (stage) => !stage.includes('mtp') || stage.filter((layer) => layer === 'mtp').length === mtp,
    ),
    'All of the MTP layers must be in the same one virtual pipeline stage',
  );
  if (count('encoder') > 0) {
    raise('NotImplementedError', 'Encoder layer is not supported for flexible pipeline layout');
  }
}
