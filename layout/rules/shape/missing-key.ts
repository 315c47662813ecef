import { FORMAT_VERSION } from '../../format/keys';
import { type Problem, problemsOf } from '../../format/problems';
import type { ReadLayout } from '../../format/read';
import type { KeySpec } from '../../format/spec';
import { firstLine } from '../../format/tree';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import { insertFix, suggestion } from '../fixes';
import { countOf } from '../numbers';
import type { Report, Rule } from '../rule';
import { isMeant } from './meaning';

export const missingKey: Rule = {
  code: 'missing-key',
  severity: 'error',
  title: 'A required key is missing',
  effect: 'the layout cannot be worked out',
  what: 'A key that the format requires is not there: `layout`; `world_size` or `cluster`; `parallelism` or `modules`; `num_ranks` or `dp` of a module.',
  why: 'Without it the ranks and their groups are not known.',
  failing: `layout: 1
parallelism:
  tp: 2
`,
  *checkShape(read) {
    const { text, problems } = read;
    for (const { start } of problemsOf(problems, 'empty')) {
      yield {
        message: "The file is empty. A layout begins with 'layout: 1'.",
        span: firstLine(text),
        fixes: [suggestion('Insert a small layout', [{ span: { start, end: start }, newText: STARTER }])],
      };
    }
    for (const problem of problemsOf(problems, 'missing-key')) {
      if (!isMeant(read, problem.path, problem.name)) {
        yield requiredReport(read, problem);
      }
    }
  },
  *check(facts) {
    yield* missingWorld(facts);
    yield* missingDegrees(facts);
    for (const module of facts.modules) {
      yield* missingRanks(facts, module);
    }
  },
};

const STARTER = `layout: 1
world_size: 8
parallelism:
  tp: 2
`;

/** A key that its map cannot do without. */
function requiredReport(
  read: ReadLayout,
  { name, spec, map, keySpan, path }: Extract<Problem, { kind: 'missing-key' }>,
): Report {
  const line = `${name}: ${derived(read, path, name) ?? placeholder(name, spec)}`.trim();
  return {
    message: `${name} is missing${path === '' ? '' : ` under ${path}`}. Write '${line}'.`,
    span: path === '' ? firstLine(read.text) : keySpan,
    fixes: [insertFix(read.text, map.span, line)],
  };
}

/** What `world_size` leaves for a key of `cluster`; null for other keys, and where it does not divide. */
function derived({ root }: ReadLayout, path: string, name: string): number | null {
  const cluster = path === 'cluster' ? root?.cluster.value : undefined;
  const other =
    name === 'nodes' ? cluster?.gpus_per_node.value : name === 'gpus_per_node' ? cluster?.nodes.value : undefined;
  const size = other === undefined ? undefined : root?.world_size.value;
  return size === undefined || other === undefined || size % other !== 0 ? null : size / other;
}

function placeholder(name: string, spec: KeySpec): string {
  if (name === 'layout') {
    return String(FORMAT_VERSION);
  }
  if (spec.type === 'integer') {
    return String(spec.default ?? spec.min);
  }
  return spec.type === 'list' ? '[]' : '';
}

function* missingWorld(facts: LayoutFacts): Iterable<Report> {
  const { root, modules } = facts;
  const names = ['world_size', 'cluster'] as const;
  if (names.some((name) => root[name].written)) {
    return;
  }
  const ends = modules.map(({ rankOffset, ranks, denseModel }) => (rankOffset ?? 0) + (ranks ?? denseModel ?? 1));
  const likely = ends.reduce((most, end) => Math.max(most, end), 1);
  yield {
    message: 'The number of ranks is missing. Write world_size, or cluster with nodes and gpus_per_node.',
    span: root.layout.keySpan,
    fixes: [insertBehindLayout(facts, `world_size: ${likely}`)],
  };
}

function* missingDegrees(facts: LayoutFacts): Iterable<Report> {
  const { root, framework } = facts;
  const names = ['parallelism', 'modules'] as const;
  // a framework that lays out the ranks itself needs no degrees
  if (framework?.world || names.some((name) => root[name].written)) {
    return;
  }
  yield {
    message: 'The degrees are missing. Write parallelism for one grid over the world, or modules for one grid each.',
    span: root.layout.keySpan,
    fixes: [insertBehindLayout(facts, 'parallelism: {tp: 1}')],
  };
}

/** Inserts a key of the whole file behind its first line, `layout: 1` where it is written. */
function insertBehindLayout({ text, span, root }: LayoutFacts, line: string) {
  return insertFix(text, { start: span.start, end: root.layout.written ? root.layout.span.end : span.end }, line);
}

function* missingRanks({ text, modules, world }: LayoutFacts, module: ModuleFacts): Iterable<Report> {
  const { own, name, nameSpan, span, denseModel } = module;
  if (!own || own.num_ranks.written || own.dp.written) {
    return;
  }
  const replica = denseModel ?? 1;
  // up to the next module, or to the end of the world
  const start = module.rankOffset ?? 0;
  const ends = [...modules.map(({ rankOffset = 0 }) => rankOffset), world.size ?? 0].filter((end) => end > start);
  const room = Math.min(...ends) - start;
  const ranks = room % replica === 0 ? room : replica;
  yield {
    message: `'${name}' needs num_ranks or dp, and one replica takes ${countOf(replica, 'rank')}. Write num_ranks ${ranks}.`,
    span: nameSpan,
    fixes: [insertFix(text, span, `num_ranks: ${ranks}`)],
  };
}
