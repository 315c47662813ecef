import { LANGUAGE_MODULE } from '../format/names';
import { gcd } from '../grid/arithmetic';
import { bridgeShape } from '../topology/bridge';
import type { LayoutFacts, ModuleFacts } from '../topology/facts';
import { changeFix } from './fixes';
import { divisors, either, nearestMultiples } from './numbers';
import type { Report, Rule } from './rule';
import { otherSource } from './source';

/** What `validate_hetero_grid_args` in examples/mimo/training/args.py says of context parallelism. */
export const MIMO_CP = 'hetero MIMO training currently supports CP=1 only';

/** The language module and the encoders beside it, once all of them are whole. */
interface Mimo {
  readonly language: ModuleFacts;
  readonly encoders: readonly ModuleFacts[];
  readonly colocated: boolean;
}

function mimoOf({ modules, heterogeneous }: LayoutFacts): Mimo | null {
  const language = modules.find(({ name }) => name === LANGUAGE_MODULE);
  const encoders = modules.filter((module) => module !== language);
  const whole = modules.every(({ ranks, rankOffset }) => ranks !== undefined && rankOffset !== undefined);
  if (!heterogeneous || !language || !whole) {
    return null;
  }
  return { language, encoders, colocated: isColocated(modules, language) };
}

/** Whether the language module has encoders, all on the same ranks as itself. */
function isColocated(modules: readonly ModuleFacts[], language: ModuleFacts): boolean {
  return (
    modules.length > 1 &&
    modules.every(({ ranks, rankOffset }) => ranks === language.ranks && rankOffset === language.rankOffset)
  );
}

export const colocatedBridge: Rule = {
  code: 'colocated-bridge',
  severity: 'error',
  title: 'Colocated modules that the bridge cannot join',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'Modules share all their ranks, and one of them has `pp` or `cp` above 1, or the `dp` of an encoder and of the language model do not divide one another.',
  why: 'The bridge hands activations from one grid to the other on the same ranks. Grids with `pp` above 1 are built without a word, and then every rank is both the first and the last stage.',
  failing: `layout: 1
world_size: 6
modules:
  images: {num_ranks: 6, tp: 3}
  language: {num_ranks: 6, tp: 2}
`,
  passing: `layout: 1
world_size: 6
modules:
  images: {num_ranks: 6, tp: 1}
  language: {num_ranks: 6, tp: 2}
`,
  sources: [otherSource('`ColocatedBridgeCommunicator` in megatron/core/models/mimo/comm/colocated_communicator.py')],
  *check(facts) {
    const mimo = mimoOf(facts);
    if (!mimo?.colocated) {
      return;
    }
    const { language, encoders } = mimo;
    const stretched = [...stretchedReports([...encoders, language])];
    yield* stretched;
    for (const encoder of stretched.length > 0 ? [] : encoders) {
      yield* undividedReports(encoder, language);
    }
  },
};

/** `pp` and `cp` above 1. Encoders are the bridge's source, the language model its destination. */
function* stretchedReports(modules: readonly ModuleFacts[]): Iterable<Report> {
  for (const { name, fields, degrees } of modules) {
    const side = name === LANGUAGE_MODULE ? 'dest' : 'src';
    for (const dim of ['pp', 'cp'] as const) {
      const size = degrees?.[dim] ?? 1;
      if (size > 1) {
        yield {
          message: `\`${name}\` shares its ranks with other modules, so its ${dim} must be 1, not ${size}. Use ${dim} 1, or give each module its own ranks.`,
          span: fields[dim].span,
          predicts: `${side} ${dim.toUpperCase()} must be 1 for ColocatedBridgeCommunicator, got ${size}`,
          fixes: [changeFix(dim, fields[dim].span, 1)],
        };
      }
    }
  }
}

function* undividedReports(encoder: ModuleFacts, language: ModuleFacts): Iterable<Report> {
  const { dp: from, fields, ranks, name } = encoder;
  const { dp: to } = language;
  if (from === undefined || to === undefined || ranks === undefined || bridgeShape(from, to)) {
    return;
  }
  const sizes = divisors(ranks)
    .filter((tp) => bridgeShape(ranks / tp, to))
    .sort((a, b) => Math.abs(a - (encoder.degrees?.tp ?? 1)) - Math.abs(b - (encoder.degrees?.tp ?? 1)))
    .slice(0, 3);
  yield {
    message: `\`${name}\` has dp ${from} and \`${language.name}\` dp ${to}; one must divide the other. Use tp ${either([...sizes].sort((a, b) => a - b))} for \`${name}\`.`,
    span: fields.tp.written ? fields.tp.span : encoder.nameSpan,
    related: [{ message: `\`${language.name}\` has dp ${to}`, span: language.nameSpan }],
    predicts: `DP sizes must be evenly divisible: src_dp=${from}, dest_dp=${to}`,
    fixes: fields.tp.written ? sizes.map((tp) => changeFix('tp', fields.tp.span, tp)) : [],
  };
}

export const fanOut: Rule = {
  code: 'fan-out',
  severity: 'error',
  title: 'A micro-batch that the encoder cannot share out',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: "For modules on ranks of their own: `micro_batch_size` times the language model's `dp` (and `gtp_remat`) is not divisible by an encoder's `dp`.",
  why: "Each step the encoder's replicas share the samples that the language model consumes. Megatron-LM stops when they do not come out even.",
  failing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
batch: {micro_batch_size: 1, global_batch_size: 8}
`,
  passing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
batch: {micro_batch_size: 2, global_batch_size: 8}
`,
  sources: [otherSource('`validate_hetero_grid_args` in examples/mimo/training/args.py')],
  *check(facts) {
    const mimo = mimoOf(facts);
    const micro = facts.root.batch.value?.micro_batch_size;
    if (!mimo || mimo.colocated || micro?.value === undefined) {
      return;
    }
    const { dp, degrees } = mimo.language;
    for (const { name, dp: encoderDp, nameSpan } of mimo.encoders) {
      const gtp = degrees?.gtpRemat ?? 1;
      if (dp !== undefined && encoderDp !== undefined && (micro.value * dp * gtp) % encoderDp !== 0) {
        const step = encoderDp / gcd(encoderDp, dp * gtp);
        const sizes = nearestMultiples(step, micro.value);
        yield {
          message: `micro_batch_size ${micro.value} x dp ${dp} x gtp_remat ${gtp} of \`${LANGUAGE_MODULE}\` cannot be shared by the ${encoderDp} replicas of \`${name}\`. Use micro_batch_size ${either([...sizes].sort((a, b) => a - b))}.`,
          span: micro.span,
          related: [
            { message: `\`${name}\` has dp ${encoderDp}`, span: nameSpan },
            { message: `\`${LANGUAGE_MODULE}\` has dp ${dp}`, span: mimo.language.nameSpan },
          ],
          predicts: `--micro-batch-size * --llm-dp * GTP must be divisible by --encoder-dp (got ${micro.value} * ${dp} * ${gtp} % ${encoderDp} != 0)`,
          fixes: sizes.map((size) => changeFix('micro_batch_size', micro.span, size)),
        };
      }
    }
  },
};

export const colocatedBatch: Rule = {
  code: 'colocated-batch',
  severity: 'error',
  title: 'A micro-batch that the bridge cannot split',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'For modules that share their ranks: `micro_batch_size` is not divisible by the scale of the bridge, the ratio of the two `dp` sizes.',
  why: 'The bridge splits the batch of the side with fewer replicas among the ranks of the other, and stops when that leaves a rest.',
  failing: `layout: 1
world_size: 4
modules:
  images: {num_ranks: 4, tp: 1}
  language: {num_ranks: 4, tp: 4}
batch: {micro_batch_size: 2, global_batch_size: 8}
`,
  passing: `layout: 1
world_size: 4
modules:
  images: {num_ranks: 4, tp: 1}
  language: {num_ranks: 4, tp: 4}
batch: {micro_batch_size: 4, global_batch_size: 8}
`,
  sources: [
    otherSource(
      '`ColocatedBridgeCommunicator.get_slice_info` in megatron/core/models/mimo/comm/colocated_communicator.py',
    ),
  ],
  *check(facts) {
    const mimo = mimoOf(facts);
    const micro = facts.root.batch.value?.micro_batch_size;
    if (!mimo?.colocated || micro?.value === undefined) {
      return;
    }
    for (const { name, dp } of mimo.encoders) {
      const shape = dp && mimo.language.dp ? bridgeShape(dp, mimo.language.dp) : null;
      if (shape && micro.value % shape.scale !== 0) {
        const sizes = nearestMultiples(shape.scale, micro.value);
        yield {
          message: `micro_batch_size ${micro.value} cannot be split ${shape.scale} ways between \`${name}\` (dp ${dp}) and \`${LANGUAGE_MODULE}\` (dp ${mimo.language.dp}). Use ${either([...sizes].sort((a, b) => a - b))}.`,
          span: micro.span,
          related: [{ message: `\`${LANGUAGE_MODULE}\` has dp ${mimo.language.dp}`, span: mimo.language.nameSpan }],
          predicts: `ColocatedBridgeCommunicator: batch dim size ${micro.value} is not divisible by ${shape.direction} scale=${shape.scale}.`,
          fixes: sizes.map((size) => changeFix('micro_batch_size', micro.span, size)),
        };
      }
    }
  },
};

export const mimoCp: Rule = {
  code: 'mimo-cp',
  severity: 'warning',
  title: 'Context parallelism in a job of modules',
  effect: 'the job runs, but slowly or not as the author thinks',
  what: 'The language module has `cp` above 1 and does not share its ranks with encoders. It is an error in a file that says the sizes by `dp`, as the flags of examples/mimo do.',
  why: 'The grids come up, but the training loop of examples/mimo accepts `cp` 1 only and stops.',
  failing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, cp: 2}
`,
  passing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  sources: [otherSource('`validate_hetero_grid_args` in examples/mimo/training/args.py')],
  *check({ modules, heterogeneous, mimoFlags }) {
    const language = heterogeneous ? modules.find(({ name }) => name === LANGUAGE_MODULE) : undefined;
    // read as it is written: the script looks at it before anything else
    const cp = language?.fields.cp.value ?? 1;
    if (!language || cp === 1 || isColocated(modules, language)) {
      return;
    }
    const { span } = language.fields.cp;
    const tp = language.fields.tp.value ?? 1;
    yield {
      severity: mimoFlags ? 'error' : 'warning',
      message: `cp is ${cp}, but the training loop of examples/mimo accepts cp 1 only. Use cp 1, for instance with tp ${tp * cp}.`,
      span,
      predicts: MIMO_CP,
      fixes: [changeFix('cp', span, 1)],
    };
  },
};
