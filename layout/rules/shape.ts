import type { Fix, Span } from '../diagnostic';
import { appendKey, removeField } from '../format/edit';
import { MAX_DEPTH, MAX_DIAGNOSTICS, MAX_FULL_YAML, MAX_NODES, MAX_STRING, MAX_TEXT } from '../format/limits';
import { LANGUAGE_MODULE } from '../format/names';
import { grouped } from '../format/quantities';
import type { Field } from '../format/spec';
import { type LayoutFacts, MAX_WORLD, type ModuleFacts } from '../topology/facts';
import { replaceFix, suggestion } from './fixes';
import { MIMO_CP } from './mimo';
import { countOf } from './numbers';
import type { Report, Rule } from './rule';
import { shardsBelowOne } from './shards';
import { otherSource } from './source';

const READER = 'the layout format itself';

export const yamlSyntax: Rule = {
  code: 'yaml-syntax',
  severity: 'error',
  title: 'The file is not valid YAML',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'The YAML parser reports an error: wrong indentation, an unclosed bracket or quote, a tab used to indent, a character that no text file has.',
  why: 'Nothing in the file can be trusted until it parses, so nothing else is reported.',
  failing: `layout: 1
world_size: 8
parallelism: {tp: 2
`,
  passing: `layout: 1
world_size: 8
parallelism: {tp: 2}
`,
  sources: [otherSource('YAML 1.2')],
};

const DEEP = MAX_DEPTH + 1;

export const fileTooLarge: Rule = {
  code: 'file-too-large',
  severity: 'error',
  title: 'The file is larger than is read',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: `The file has more than ${grouped(MAX_TEXT)} characters; or more than ${grouped(MAX_FULL_YAML)} and is not plain block YAML throughout (it has an anchor, a tag, a tab, a text or brackets over several lines, or a mistake, at the place of the diagnostic); or it nests more than ${MAX_DEPTH} levels deep; or its aliases stand for more than ${grouped(MAX_NODES)} values; or a text has more than ${grouped(MAX_STRING)} characters; or more than ${grouped(MAX_DIAGNOSTICS)} things are wrong with it.`,
  why: 'Every limit is far beyond any layout. Within them the checker answers at once on every keystroke, whatever the file holds; beyond them nothing is reported but this.',
  failing: `layout: 1
world_size: 8
parallelism: ${'['.repeat(DEEP)}${']'.repeat(DEEP)}
`,
  passing: `layout: 1
world_size: 8
parallelism: {tp: 2}
`,
  sources: [otherSource(READER)],
};

export const duplicateKey: Rule = {
  code: 'duplicate-key',
  severity: 'error',
  title: 'A key stands twice in one map',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'The same key is written twice in one map.',
  why: 'Only one of them would count, and which one depends on the reader. Two modules of one name silently replace each other in Megatron-LM.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 2
  tp: 4
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 4
`,
  sources: [otherSource('YAML 1.2, 3.2.1.1; `create_topology` in examples/mimo/training/topology.py for module names')],
};

export const unknownKey: Rule = {
  code: 'unknown-key',
  severity: 'error',
  title: 'A key that the format does not have',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'A key is misspelt, or stands in the wrong map.',
  why: 'An unknown key has no effect: the degree that its author meant keeps its default.',
  failing: `layout: 1
world_size: 8
parallelism:
  tpp: 2
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
`,
  sources: [otherSource(READER)],
};

export const missingKey: Rule = {
  code: 'missing-key',
  severity: 'error',
  title: 'A required key is missing',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'A key that the format requires is not there: `layout`; `world_size` or `cluster`; `parallelism` or `modules`; `num_ranks` or `dp` of a module.',
  why: 'Without it the layout cannot be worked out.',
  failing: `layout: 1
parallelism:
  tp: 2
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
`,
  sources: [otherSource(READER)],
  *check(facts) {
    yield* missingWorld(facts);
    yield* missingDegrees(facts);
    for (const module of facts.modules) {
      yield* missingRanks(facts, module);
    }
  },
};

function* missingWorld(facts: LayoutFacts): Iterable<Report> {
  const { root, modules } = facts;
  if (root.world_size.written || root.cluster.written) {
    return;
  }
  const ends = modules.map(({ rankOffset, ranks, denseModel }) => (rankOffset ?? 0) + (ranks ?? denseModel ?? 1));
  const likely = ends.reduce((most, end) => Math.max(most, end), 1);
  yield {
    message:
      'The file does not say how many ranks the job has. Write `world_size`, or `cluster` with `nodes` and `gpus_per_node`.',
    span: root.layout.keySpan,
    fixes: insertFixes(facts, `world_size: ${likely}`),
  };
}

function* missingDegrees(facts: LayoutFacts): Iterable<Report> {
  const { root } = facts;
  if (root.parallelism.written || root.modules.written) {
    return;
  }
  yield {
    message:
      'The file has no degrees. Write `parallelism` for one grid over the whole world, or `modules` for one grid each.',
    span: root.layout.keySpan,
    fixes: insertFixes(facts, 'parallelism: {tp: 1}'),
  };
}

/** Inserts a key of the whole file behind `layout: 1`. */
function insertFixes({ text, span, root }: LayoutFacts, line: string): Fix[] {
  const edit = root.layout.written ? appendKey(text, { start: span.start, end: root.layout.span.end }, line) : null;
  return edit ? [suggestion(`Insert \`${line}\``, [edit])] : [];
}

function* missingRanks(
  { text }: LayoutFacts,
  { own, name, nameSpan, span, denseModel }: ModuleFacts,
): Iterable<Report> {
  if (!own || own.num_ranks.written || own.dp.written) {
    return;
  }
  const ranks = denseModel ?? 1;
  const edit = appendKey(text, span, `num_ranks: ${ranks}`);
  yield {
    message: `\`${name}\` says neither \`num_ranks\` nor \`dp\`; one of them must be known. One replica takes ${countOf(ranks, 'rank')}.`,
    span: nameSpan,
    fixes: edit ? [suggestion(`Insert \`num_ranks: ${ranks}\``, [edit])] : [],
  };
}

export const wrongType: Rule = {
  code: 'wrong-type',
  severity: 'error',
  title: 'A value of the wrong type',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'A value is not the whole number, truth value, text, list or map that its key wants. A number in quotes is a text.',
  why: 'A value that cannot be read has no meaning that one could rely on.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: two
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
`,
  sources: [otherSource(READER)],
};

export const notPositive: Rule = {
  code: 'not-positive',
  severity: 'error',
  title: 'A degree, size or count below 1',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'A degree, size or count is below 1, or an offset, slot or index below 0.',
  why: 'There is no group of no ranks. Megatron-LM mostly divides by the number before it looks at it, so the error that it raises says little.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 0
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 1
`,
  sources: [otherSource(`${READER}; \`HyperCommGrid.__init__\` in megatron/core/hyper_comm_grid.py for offsets`)],
  *check(facts) {
    for (const { path, value, spec, span } of facts.tooSmall) {
      const least = spec.min === 0 ? '0 or more' : `at least ${spec.min}`;
      yield {
        message: `\`${path}\` is ${value}, but must be ${least}.`,
        span,
        predicts: tooSmallPrediction(facts, path, value),
        fixes: [replaceFix(span, String(spec.default ?? spec.min))],
      };
    }
  },
};

/** What Megatron-LM says of a number below the least, where it has a check of its own and does not merely divide by it. */
function tooSmallPrediction(facts: LayoutFacts, path: string, value: number): string | null {
  const { modules, mimoFlags } = facts;
  if (path.endsWith('.rank_offset')) {
    return mimoFlags && modules.length === 1
      ? '--llm-only requires --llm-offset 0 so language ranks cover WORLD_SIZE'
      : `rank_offset must be non-negative, got ${value}`;
  }
  if (mimoFlags && path === `modules.${LANGUAGE_MODULE}.cp`) {
    return MIMO_CP;
  }
  const [, end] = /\.num_layers_in_(first|last)_pipeline_stage$/.exec(path) ?? [];
  if (end !== undefined) {
    return `num_layers_in_${end}_pipeline_stage must be larger than 0`;
  }
  if (path.endsWith('.num_experts') && value < 0) {
    return 'num_moe_experts must be non-negative.';
  }
  return shardsBelowOne(facts, path, value);
}

export const notAnOption: Rule = {
  code: 'not-an-option',
  severity: 'error',
  title: 'A word that is not one of the choices',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'A key that takes one of a few words has another.',
  why: 'A word that nobody knows selects nothing.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 2
smoke:
  checks: [group]
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
smoke:
  checks: [groups]
`,
  sources: [otherSource(READER)],
};

export const unsupportedVersion: Rule = {
  code: 'unsupported-version',
  severity: 'error',
  title: 'A version of the format that is not known',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`layout` is not 1.',
  why: 'A file of a later version may mean something else by the same keys.',
  failing: `layout: 2
world_size: 8
parallelism:
  tp: 2
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
`,
  sources: [otherSource(READER)],
};

export const numberTooLarge: Rule = {
  code: 'number-too-large',
  severity: 'error',
  title: 'A number beyond any job',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'A number is not exact in 53 bits, or a world has more than 2^31 ranks.',
  why: 'Ranks are counted in 32 bits; arithmetic with a larger number would be wrong without a word.',
  failing: `layout: 1
world_size: 4294967296
parallelism:
  tp: 2
`,
  passing: `layout: 1
world_size: 1048576
parallelism:
  tp: 2
`,
  sources: [otherSource('torch.distributed counts ranks as 32-bit integers')],
  *check({ root, world, modules }) {
    const size = root.world_size.value ?? world.clusterSize;
    if (size !== undefined && size > MAX_WORLD) {
      yield tooLarge(size, world.span);
    }
    for (const { own } of modules) {
      const ranks = own?.num_ranks.value;
      if (own && ranks !== undefined && ranks > MAX_WORLD) {
        yield tooLarge(ranks, own.num_ranks.span);
      }
    }
  },
};

function tooLarge(ranks: number, span: Span): Report {
  return { message: `${countOf(ranks, 'rank')} are more than the 2^31 that a world can have.`, span };
}

export const conflictingKeys: Rule = {
  code: 'conflicting-keys',
  severity: 'error',
  title: 'Two keys that cannot stand together',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`parallelism` stands beside `modules`; or `gtp_remat` and `num_weight_shards` say different things.',
  why: 'A job has one grid over the whole world or one grid a module, not both. Of two numbers of weight shards, Megatron-LM takes `num_weight_shards` and ignores the other without a word.',
  failing: `layout: 1
world_size: 8
parallelism: {tp: 2}
modules:
  language: {num_ranks: 8}
`,
  passing: `layout: 1
world_size: 8
modules:
  language: {num_ranks: 8}
`,
  sources: [
    otherSource(`${READER}; \`resolve_tensor_parallel_weight_shards\` in megatron/core/model_parallel_config.py`),
  ],
  *check({ text, root, modules }) {
    if (root.parallelism.written && root.modules.written) {
      yield {
        message:
          'A file has `parallelism` (one grid over the whole world) or `modules` (one grid each), not both. Remove one.',
        span: root.modules.keySpan,
        related: [{ message: '`parallelism` stands here', span: root.parallelism.keySpan }],
        fixes: [
          suggestion('Remove `parallelism`', [removeField(text, root.parallelism)]),
          suggestion('Remove `modules`', [removeField(text, root.modules)]),
        ],
      };
    }
    for (const { fields, degrees } of modules) {
      yield* shardConflict(text, 'gtp_remat', fields.gtp_remat, fields.num_weight_shards, degrees?.gtpRemat);
      yield* shardConflict(
        text,
        'expt_gtp_remat',
        fields.expt_gtp_remat,
        fields.expt_num_weight_shards,
        degrees?.exptGtpRemat,
      );
    }
  },
};

function* shardConflict(
  text: string,
  name: string,
  degree: Field<number>,
  shards: Field<number>,
  inForce: number | undefined,
): Iterable<Report> {
  if (degree.value === undefined || shards.value === undefined || inForce === undefined || degree.value === inForce) {
    return;
  }
  yield {
    severity: 'warning',
    message: `${name} is ${degree.value}, but ${countOf(shards.value, 'weight shard')} make it ${inForce}, and the shards win. Keep one of the two.`,
    span: degree.span,
    related: [{ message: `${shards.value} weight shards here`, span: shards.span }],
    fixes: [
      suggestion(`Remove \`${name}\``, [removeField(text, degree)]),
      suggestion('Remove the number of weight shards', [removeField(text, shards)]),
      replaceFix(degree.span, String(inForce)),
    ],
  };
}
