import type { Edit, Fix, Related } from '../finding';
import { appendKey, replaceFix, setKey } from '../format/edit';
import { LANGUAGE_MODULE } from '../format/keys';
import { nearest } from '../format/read';
import { gapsBetween, type RankSpan } from '../grid/spans';
import type { LayoutFacts, ModuleFacts } from '../topology/facts';
import { allDivide, worldSizeEdits } from './factorization';
import { both, countOf, pythonString, pythonTuple } from './numbers';
import type { Report, Rule } from './rule';

/** A module whose place in the world is known: ranks `[start, end)`. */
interface Placed {
  readonly module: ModuleFacts;
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** All modules with their places, once each is whole by itself; null before that, to say one thing at a time. */
function placedModules({ modules, heterogeneous, mimoFlags }: LayoutFacts): Placed[] | null {
  // the flags of examples/mimo are placed before the expert grids are looked at
  const whole = mimoFlags ? modules.every(({ dp }) => dp !== undefined) : allDivide(modules);
  if (!heterogeneous || modules.length === 0 || !whole) {
    return null;
  }
  const placed = modules.flatMap((module) =>
    module.name !== null && module.rankOffset !== undefined && module.ranks !== undefined
      ? [{ module, name: module.name, start: module.rankOffset, end: module.rankOffset + module.ranks }]
      : [],
  );
  return placed.length === modules.length ? placed : null;
}

/** The same, with the size of the world. */
function placedInWorld(facts: LayoutFacts): { placed: Placed[]; world: number } | null {
  const placed = placedModules(facts);
  const world = facts.world.size;
  return placed && world !== undefined ? { placed, world } : null;
}

const sameSpan = (a: Placed, b: Placed): boolean => a.start === b.start && a.end === b.end;

const overlaps = (a: Placed, b: Placed): boolean => a.start < b.end && b.start < a.end;

const isColocated = (placed: readonly Placed[]): boolean =>
  placed.every((one) => placed[0] && sameSpan(one, placed[0]));

/** Every pair that overlaps without being equal, the earlier in the file first. Costs O(modules log modules) when few do. */
function clashes(placed: readonly Placed[]): [Placed, Placed][] {
  const sorted = [...placed].sort((a, b) => a.start - b.start || a.end - b.end);
  const order = new Map(placed.map((one, i) => [one, i]));
  const pairs: [Placed, Placed][] = [];
  let widest: Placed | null = null;
  for (const one of sorted) {
    if (widest && overlaps(widest, one)) {
      const pair: [Placed, Placed] = (order.get(widest) ?? 0) < (order.get(one) ?? 0) ? [widest, one] : [one, widest];
      pairs.push(pair);
    }
    if (!widest || one.end > widest.end) {
      widest = one;
    }
  }
  return pairs;
}

/** How examples/mimo/training/topology.py prints the modules' ranges. */
function rangesOf(placed: readonly Placed[]): string {
  return `{${placed.map(({ name, start, end }) => `${pythonString(name)}: ${pythonTuple(start, end)}`).join(', ')}}`;
}

const rangeText = (start: number, end: number): string =>
  end - start === 1 ? `rank ${start}` : `ranks ${start} to ${end - 1}`;

const spanRelated = ({ name, start, end, module }: Placed): Related => ({
  message: `\`${name}\` covers ${rangeText(start, end)}`,
  span: module.nameSpan,
});

export const worldOverflow: Rule = {
  code: 'world-overflow',
  severity: 'error',
  title: 'A module reaches beyond the world',
  what: '`rank_offset + num_ranks` of a module is more than `world_size`.',
  why: 'The ranks beyond the world do not exist. Megatron-LM refuses to build the grid.',
  failing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 6, num_ranks: 4, tp: 2}
`,
  passing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  source: '`HyperCommGrid.__init__` in megatron/core/hyper_comm_grid.py',
  *check(facts) {
    const known = placedInWorld(facts);
    if (!known) {
      return;
    }
    const { placed, world } = known;
    const [last = 0, beforeLast = 0] = placed.map(({ end }) => end).sort((a, b) => b - a);
    for (const one of placed) {
      if (one.end > world) {
        yield overflowReport(facts, one, placed, world, one.end === last ? beforeLast : last);
      }
    }
  },
};

/** @param free the end of the last of the other modules */
function overflowReport(
  facts: LayoutFacts,
  one: Placed,
  placed: readonly Placed[],
  world: number,
  free: number,
): Report {
  const { module, name, start, end } = one;
  const size = end - start;
  const room = world - size;
  const shape = module.degrees
    ? `[${[module.degrees.tp, module.degrees.gtpRemat, module.degrees.cp, module.dp, module.degrees.pp].join(', ')}]`
    : '';
  const whole = worldSizeEdits(facts, end);
  const offset = module.own?.rank_offset;
  return {
    message: `\`${name}\` covers ${rangeText(start, end)}, but the world has ranks 0 to ${world - 1}. ${
      room >= 0
        ? `Use rank_offset ${free + size <= world ? free : room} or less`
        : `Give it ${countOf(world, 'rank')} or fewer`
    }, or world_size ${end}.`,
    span: offset?.written && start > 0 ? offset.span : module.ranksSpan,
    related: [{ message: `the world has ${countOf(world, 'rank')}`, span: facts.world.span }],
    predicts: facts.mimoFlags
      ? flagsCoverPrediction(placed, world)
      : `Grid shape ${shape} is over sized with world size ${world} and rank offset ${start}`,
    fixes: [
      ...(offset?.written && free + size <= world ? [replaceFix(offset.span, String(free))] : []),
      ...shrinkFixes(one, world - start),
      ...(whole ? [{ title: `Change world_size to ${end}`, edits: whole }] : []),
    ],
  };
}

/** Fixes that give a module as many ranks as there is room for, where whole replicas fit. */
function shrinkFixes({ module }: Placed, room: number): Fix[] {
  const { own, denseModel, expertModel } = module;
  if (!own?.num_ranks.written || own.dp.written || denseModel === undefined || expertModel === undefined) {
    return [];
  }
  return room > 0 && room % denseModel === 0 && room % expertModel === 0
    ? [{ title: `Change num_ranks to ${room}`, edits: [{ span: own.num_ranks.span, newText: String(room) }] }]
    : [];
}

export const worldOverlap: Rule = {
  code: 'world-overlap',
  severity: 'error',
  title: 'Two modules share some ranks but not all',
  what: 'The spans `[rank_offset, rank_offset + num_ranks)` of two modules overlap without being equal.',
  why: 'Modules either share all their ranks (colocated) or none. Megatron-LM stops otherwise.',
  failing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 2, num_ranks: 6, tp: 2}
`,
  passing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  source: '`_validate_grid_ranges` as run by `create_topology` in examples/mimo/training/topology.py',
  *check(facts) {
    const placed = fitting(facts);
    if (!placed || isMixed(placed)) {
      return;
    }
    const pairs = clashes(placed).filter(([first, second]) => !sameSpan(first, second));
    // it names every module, so it is made once for all pairs
    const allRanges = pairs.length > 0 ? overlapPrediction(placed) : '';
    for (const [first, second] of pairs) {
      yield overlapReport(facts, first, second, allRanges);
    }
  },
};

/** The placed modules where none reaches beyond the world. */
function fitting(facts: LayoutFacts): Placed[] | null {
  const placed = placedModules(facts);
  const world = facts.world.size;
  return placed && (world === undefined || placed.every(({ end }) => end <= world)) ? placed : null;
}

function overlapReport(facts: LayoutFacts, first: Placed, second: Placed, allRanges: string): Report {
  const start = Math.max(first.start, second.start);
  const end = Math.min(first.end, second.end);
  const [low, high] = first.start <= second.start ? [first, second] : [second, first];
  const offset = high.module.own?.rank_offset;
  return {
    message: `\`${first.name}\` and \`${second.name}\` both have ${rangeText(start, end)}. Start \`${high.name}\` at rank ${low.end}, or let both cover the same ranks.`,
    span: offset?.written ? offset.span : high.module.nameSpan,
    related: [spanRelated(low)],
    predicts: facts.mimoFlags ? flagsOverlapPrediction(start, end) : allRanges,
    fixes: [...moveFixes(facts, high, low.end), ...shrinkFixes(low, high.start - low.start)],
  };
}

function overlapPrediction(placed: readonly Placed[]): string {
  return `Module grids must either fully share ranks or be pairwise disjoint, got ${rangesOf(placed)}`;
}

/** Lists of ranks longer than this are not spelt out: nobody reads them, and a keystroke must not pay for them. */
const MAX_LISTED = 4096;

/** `[0, 1, 2]` as Python prints a list of ranks, or null where it is too long. */
function pythonRanks(spans: readonly { readonly start: number; readonly end: number }[]): string | null {
  const count = spans.reduce((n, { start, end }) => n + end - start, 0);
  return count <= MAX_LISTED
    ? `[${spans.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, i) => start + i)).join(', ')}]`
    : null;
}

/** What `validate_hetero_grid_args` in examples/mimo/training/args.py says of modules that share ranks. */
function flagsOverlapPrediction(start: number, end: number): string | null {
  const shared = pythonRanks([{ start, end }]);
  return shared && `hetero MIMO expects disjoint module rank spans; spans overlap at ${shared}`;
}

/** What it says of ranks that no module has, or that do not exist; shared ranks come first. */
function flagsCoverPrediction(placed: readonly Placed[], world: number): string | null {
  const [one, other] = placed;
  if (one && other && overlaps(one, other)) {
    return flagsOverlapPrediction(Math.max(one.start, other.start), Math.min(one.end, other.end));
  }
  const covered = pythonRanks([...placed].sort((a, b) => a.start - b.start));
  const all = pythonRanks([{ start: 0, end: world }]);
  if (!covered || !all) {
    return null;
  }
  const [only] = placed;
  if (placed.length > 1 || !only) {
    return `The non-colocated module grids must cover every torchrun rank exactly once; covered=${covered}, world=${all}`;
  }
  return only.start === 0
    ? `--llm-only requires the language grid to cover every torchrun rank exactly once; covered=${covered}, world=${all}`
    : '--llm-only requires --llm-offset 0 so language ranks cover WORLD_SIZE';
}

/** Moves a module to another first rank, alone or with the world growing behind it. */
function moveFixes(facts: LayoutFacts, { module, start, end, name }: Placed, to: number): Fix[] {
  const { own } = module;
  const edit = own && setKey(facts.text, module.span, 'rank_offset', own.rank_offset, to);
  if (!edit) {
    return [];
  }
  const title = `Start \`${name}\` at rank ${to}`;
  const world = end - start + to;
  const grown = worldSizeEdits(facts, world);
  return [
    { title, edits: [edit] },
    ...(grown ? [{ title: `${title} and change world_size to ${world}`, edits: [edit, ...grown] }] : []),
  ];
}

export const worldGap: Rule = {
  code: 'world-gap',
  severity: 'error',
  title: 'Some ranks belong to no module',
  what: 'The modules together do not cover every rank of `[0, world_size)`.',
  why: 'A rank without a module has nothing to run: Megatron-LM stops, and a GPU would stand idle.',
  failing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 2, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  passing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  source: '`create_topology` in examples/mimo/training/topology.py',
  *check(facts) {
    const known = placedInWorld(facts);
    if (!known || known.placed.some(({ end }) => end > known.world) || !isCoherent(known.placed)) {
      return;
    }
    const gaps = gapsBetween(known.placed, known.world);
    if (gaps.length > 0) {
      yield gapReport(facts, known.placed, known.world, gaps);
    }
  },
};

/** Whether the modules are all on one span or pairwise disjoint. */
function isCoherent(placed: readonly Placed[]): boolean {
  return isColocated(placed) || clashes(placed).length === 0;
}

function gapReport(facts: LayoutFacts, placed: readonly Placed[], world: number, gaps: readonly RankSpan[]): Report {
  const missing = gaps.reduce((n, { start, end }) => n + end - start, 0);
  const shown = gaps.slice(0, 4).map(({ start, end }) => rangeText(start, end));
  const more = gaps.length > shown.length ? ` and ${gaps.length - shown.length} more ranges` : '';
  const gap = gaps[0] ?? { start: 0, end: 0 };
  const { start: gapStart, end: gapEnd } = gap;
  const before = placed.find(({ end }) => end === gapStart);
  const after = placed.find(({ start }) => start === gapEnd);
  const mends = [
    ...(before ? [`grow \`${before.name}\` by ${countOf(gapEnd - gapStart, 'rank')}`] : []),
    ...(after ? [`start \`${after.name}\` at rank ${gapStart}`] : []),
    ...(gapEnd === world ? [`use world_size ${gapStart}`] : []),
  ];
  const at = after?.module.own?.rank_offset;
  return {
    message: `No module has ${both(shown)}${more}: ${countOf(missing, 'rank')} of ${world} idle. ${sentenceOf(mends)}`,
    span: at?.written ? at.span : gapEnd === world ? facts.world.span : facts.root.modules.keySpan,
    related: [...(before ? [spanRelated(before)] : []), ...(after ? [spanRelated(after)] : [])],
    predicts: facts.mimoFlags
      ? flagsCoverPrediction(placed, world)
      : `Module grids must partition the world [0, ${world}) with no gaps, got ${rangesOf(placed)}`,
    fixes: gapFixes(facts, placed, world, gap, before, after),
  };
}

function sentenceOf(mends: readonly string[]): string {
  const text = mends.join(', or ');
  return text === '' ? 'Cover every rank.' : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function gapFixes(
  facts: LayoutFacts,
  placed: readonly Placed[],
  world: number,
  { start: gapStart, end: gapEnd }: RankSpan,
  before: Placed | undefined,
  after: Placed | undefined,
): Fix[] {
  const size = gapEnd - gapStart;
  const grown = before ? growFixes(facts, before, before.end - before.start + size) : [];
  const extended = after ? extendDownFixes(facts, after, gapStart) : [];
  const shifted = after ? shiftFixes(facts, placed, gapEnd, size, world) : [];
  const shrunk = gapEnd === world ? worldSizeEdits(facts, gapStart) : null;
  return [
    ...grown,
    ...extended,
    ...shifted,
    ...(shrunk && gapStart > 0 ? [{ title: `Change world_size to ${gapStart}`, edits: shrunk }] : []),
  ];
}

/** Gives a module more ranks: `num_ranks` and, where it is written, `dp` along with it. */
function growFixes(facts: LayoutFacts, { module, name }: Placed, ranks: number): Fix[] {
  const { own, denseModel } = module;
  if (!own || denseModel === undefined || ranks % denseModel !== 0) {
    return [];
  }
  const edits: (Edit | null)[] = [
    own.num_ranks.written ? setKey(facts.text, own.num_ranks.span, 'num_ranks', own.num_ranks, ranks) : null,
    own.dp.written ? setKey(facts.text, own.dp.span, 'dp', own.dp, ranks / denseModel) : null,
  ];
  return [{ title: `Grow \`${name}\` to ${countOf(ranks, 'rank')}`, edits: edits.filter((edit) => edit !== null) }];
}

/** Starts a module earlier and gives it the ranks in front of it. */
function extendDownFixes(facts: LayoutFacts, after: Placed, to: number): Fix[] {
  const offset = after.module.own?.rank_offset;
  const grow = growFixes(facts, after, after.end - to)[0];
  if (!offset?.written || !grow) {
    return [];
  }
  return [
    {
      title: `Start \`${after.name}\` at rank ${to} and grow it to ${countOf(after.end - to, 'rank')}`,
      edits: [{ span: offset.span, newText: String(to) }, ...grow.edits],
    },
  ];
}

/** Moves every module behind a gap down by its size, and shrinks the world. */
function shiftFixes(facts: LayoutFacts, placed: readonly Placed[], from: number, by: number, world: number): Fix[] {
  const edits: Edit[] = [];
  for (const { module, start } of placed) {
    const offset = module.own?.rank_offset;
    if (start >= from) {
      if (!offset?.written) {
        return [];
      }
      edits.push({ span: offset.span, newText: String(start - by) });
    }
  }
  const shrunk = worldSizeEdits(facts, world - by);
  return shrunk
    ? [{ title: `Close the gap and change world_size to ${world - by}`, edits: [...edits, ...shrunk] }]
    : [];
}

export const mixedColocation: Rule = {
  code: 'mixed-colocation',
  severity: 'error',
  title: 'Some modules share their ranks while others stand apart',
  what: 'Two or more modules have the same span while another has a different one.',
  why: 'A job is either colocated as a whole (all modules on all ranks) or not at all; Megatron-LM has no path for a mixture.',
  failing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  audio: {num_ranks: 4, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  passing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 2, tp: 2}
  audio: {rank_offset: 2, num_ranks: 2, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  source: '`create_topology` in examples/mimo/training/topology.py',
  *check(facts) {
    const placed = fitting(facts);
    if (!placed || !isMixed(placed)) {
      return;
    }
    const shared = clashes(placed).find(([a, b]) => sameSpan(a, b));
    const apart = placed.find((one) => shared && !sameSpan(one, shared[0]));
    if (shared && apart) {
      const [first, second] = shared;
      yield {
        message: `\`${first.name}\` and \`${second.name}\` share ${rangeText(first.start, first.end)} while \`${apart.name}\` has ${rangeText(apart.start, apart.end)}. Give all modules the same ranks, or each its own.`,
        span: second.module.nameSpan,
        related: [spanRelated(first), spanRelated(apart)],
        predicts: overlapPrediction(placed),
        fixes: [],
      };
    }
  },
};

/** Whether two modules share one span while another stands elsewhere. */
function isMixed(placed: readonly Placed[]): boolean {
  return !isColocated(placed) && clashes(placed).some(([a, b]) => sameSpan(a, b));
}

/** How many modules are offered to be the language model: a person chooses from a short list only. */
const MAX_RENAMES = 8;

export const languageModule: Rule = {
  code: 'language-module',
  severity: 'error',
  title: 'No module is called language',
  what: 'Exactly one of `modules` must have the name `language`: the one that the others feed.',
  why: 'Megatron-LM finds the language model by this name and stops where none has it.',
  failing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  llm: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  passing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  source: '`create_topology` in examples/mimo/training/topology.py',
  *check({ text, root, heterogeneous }) {
    const entries = root.modules.value;
    if (!heterogeneous || !entries || entries.some(({ name }) => name === LANGUAGE_MODULE)) {
      return;
    }
    if (entries.length === 0) {
      const edit = appendKey(text, root.modules.span, `${LANGUAGE_MODULE}: {num_ranks: 1}`);
      yield {
        message: `\`modules\` names no module. Add at least one, called \`${LANGUAGE_MODULE}\`.`,
        span: root.modules.keySpan,
        predicts: 'create_topology requires at least one ModuleGridSpec',
        fixes: edit ? [{ title: `Add the module \`${LANGUAGE_MODULE}\``, edits: [edit] }] : [],
      };
      return;
    }
    const names = entries.map(({ name }) => name);
    const likely = nearest(LANGUAGE_MODULE, names) ?? names.find((name) => /ll?m|lang|text|decoder/i.test(name));
    const renames = [...entries].sort((a, b) => Number(b.name === likely) - Number(a.name === likely));
    const hint = likely === undefined ? '' : ` Is it \`${likely}\`?`;
    yield {
      message: `No module is called \`${LANGUAGE_MODULE}\`; exactly one must be.${hint}`,
      span: entries.find(({ name }) => name === likely)?.keySpan ?? root.modules.keySpan,
      predicts: `create_topology requires exactly one spec named '${LANGUAGE_MODULE}' (the language module), got 0`,
      fixes: renames.slice(0, MAX_RENAMES).map(({ name, keySpan }) => ({
        title: `Rename \`${name}\` to \`${LANGUAGE_MODULE}\``,
        edits: [{ span: keySpan, newText: LANGUAGE_MODULE }],
      })),
    };
  },
};

export const worldClusterMismatch: Rule = {
  code: 'world-cluster-mismatch',
  severity: 'error',
  title: 'world_size and cluster disagree',
  what: '`world_size` is not `cluster.nodes * cluster.gpus_per_node`. With packed nonuniform TP the GPUs of the spares may stand idle beside it.',
  why: 'One rank runs on each GPU: too many ranks never start, too few leave GPUs idle, and the launcher waits for both.',
  failing: `layout: 1
world_size: 12
cluster: {nodes: 1, gpus_per_node: 8}
parallelism: {tp: 2}
`,
  passing: `layout: 1
world_size: 8
cluster: {nodes: 1, gpus_per_node: 8}
parallelism: {tp: 2}
`,
  source: 'torchrun starts `--nnodes` x `--nproc-per-node` processes, one a GPU',
  *check({ root, world }) {
    const size = root.world_size.value;
    const cluster = root.cluster.value;
    if (size === undefined || world.clusterSize === undefined || !world.contradicted || !cluster) {
      return;
    }
    const nodes = cluster.nodes.value ?? 1;
    const perNode = cluster.gpus_per_node.value ?? 1;
    yield {
      message: `world_size is ${size}, but ${countOf(nodes, 'node')} x ${countOf(perNode, 'GPU')} = ${world.clusterSize}. Use world_size ${world.clusterSize}${
        size % perNode === 0 ? `, or ${countOf(size / perNode, 'node')}` : ''
      }.`,
      span: root.world_size.span,
      related: [
        { message: `nodes is ${nodes} here`, span: cluster.nodes.span },
        { message: `gpus_per_node is ${perNode} here`, span: cluster.gpus_per_node.span },
      ],
      fixes: [
        {
          title: `Change world_size to ${world.clusterSize}`,
          edits: [{ span: root.world_size.span, newText: String(world.clusterSize) }],
        },
        ...(size % perNode === 0
          ? [
              {
                title: `Change nodes to ${size / perNode}`,
                edits: [{ span: cluster.nodes.span, newText: String(size / perNode) }],
              },
            ]
          : []),
        ...(size % nodes === 0
          ? [
              {
                title: `Change gpus_per_node to ${size / nodes}`,
                edits: [{ span: cluster.gpus_per_node.span, newText: String(size / nodes) }],
              },
            ]
          : []),
      ],
    };
  },
};
