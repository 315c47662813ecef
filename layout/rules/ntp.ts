import type { Edit, Fix, Span } from '../finding';
import { removeField, replaceFix, setKey } from '../format/edit';
import { DEFAULT_ORDER, type NtpKeys } from '../format/keys';
import type { Field, Section } from '../format/spec';
import type { LayoutFacts, ModuleFacts } from '../topology/facts';
import { parallelismDims } from '../topology/generators';
import { activeSlots, conflictingSlots, faultySlots, type NtpShape, spareCount, uniformSpares } from '../topology/ntp';
import { resolveNtp } from '../topology/resolve';
import type { ResolvedNtp } from '../topology/resolved';
import { namedFix } from './factorization';
import { both, countOf } from './numbers';
import type { Report, Rule, RuleDocs } from './rule';

/** Everything that the rules on nonuniform TP read. */
interface Context {
  readonly root: LayoutFacts['root'];
  readonly text: string;
  readonly fields: Section<NtpKeys>;
  readonly keySpan: Span;
  readonly span: Span;
  readonly module: ModuleFacts;
  readonly tp: number;
  readonly ep: number;
  readonly pp: number;
  readonly shape: NtpShape;
  readonly ntp: ResolvedNtp;
}

/** More replicas than this are not written out one by one. */
const MAX_NAMED = 64;

type Found = readonly [code: string, report: Report];

/** The context, or null where nonuniform TP is off or a number that it needs is open. */
function contextOf(facts: LayoutFacts): Context | null {
  const { ntp: section } = facts.root;
  const [module] = facts.modules;
  const fields = section.value;
  const ntp = resolveNtp(facts);
  if (!fields || !ntp || !module?.degrees || module.dp === undefined || !allReadable(fields)) {
    return null;
  }
  const { tp, cp, pp, ep } = module.degrees;
  const shape = { cp, dp: module.dp };
  return {
    root: facts.root,
    text: facts.text,
    fields,
    keySpan: section.keySpan,
    span: section.span,
    module,
    tp,
    ep,
    pp,
    shape,
    ntp,
  };
}

/** Whether every written value could be read; another finding says so where not. */
function allReadable(fields: Section<NtpKeys>): boolean {
  const top: readonly Field<unknown>[] = [fields.tp_base, fields.tp_spares, fields.num_reduced_tp_dp_ranks];
  const lists = [fields.failed_ranks.value ?? [], fields.non_active_ranks_per_dp.value ?? []].flat();
  return [...top, ...lists].every((field) => !field.written || field.value !== undefined);
}

const cache = new WeakMap<LayoutFacts, readonly Found[]>();

/** What is wrong, in stages: a later one assumes what an earlier one has found in order. */
function findings(facts: LayoutFacts): readonly Found[] {
  const known = cache.get(facts);
  if (known) {
    return known;
  }
  const found = staged(facts);
  cache.set(facts, found);
  return found;
}

function staged(facts: LayoutFacts): readonly Found[] {
  if (facts.heterogeneous) {
    return facts.root.ntp.written ? [ofModules(facts)] : [];
  }
  const context = contextOf(facts);
  if (!context) {
    return [];
  }
  if (context.ntp.tpSpares === 0) {
    return [...failedRankReports(context)];
  }
  for (const stage of STAGES) {
    const reports = [...stage(context)];
    if (reports.length > 0) {
      return reports;
    }
  }
  return [...unevenReports(context), ...costReports(context)];
}

/** Each stage assumes what those before it have found in order, so that one mistake is said once. */
const STAGES: readonly ((context: Context) => Iterable<Found>)[] = [
  gridReports,
  settingReports,
  entryReports,
  sliceReports,
  failedRankReports,
  mapReports,
  syncReports,
  expertReports,
];

function ofModules({ text, root }: LayoutFacts): Found {
  return [
    'ntp-modules',
    {
      message:
        'Nonuniform TP assumes one grid from rank 0, so it cannot stand beside `modules`. Remove it, or use `parallelism`.',
      span: root.ntp.keySpan,
      related: [{ message: '`modules` stands here', span: root.modules.keySpan }],
      fixes: [{ title: 'Remove `ntp`', edits: [removeField(text, root.ntp)] }],
    },
  ];
}

/** The helper computes ranks of a grid in the order tp, cp, dp, in one stage, without generalized TP. */
function* gridReports({ keySpan, pp, module, root }: Context): Iterable<Found> {
  const related = [{ message: 'nonuniform TP is asked for here', span: keySpan }];
  if (pp > 1) {
    const { span } = module.fields.pp;
    yield [
      'ntp-pipeline',
      {
        message: `With pp ${pp} only the first stage of a reduced replica would be reconfigured; the others would keep groups with ranks that have left. Use pp 1.`,
        span,
        related,
        fixes: [namedFix('pp', span, 1)],
      },
    ];
    return;
  }
  const dims = parallelismDims(root, module)?.dense.filter(({ size }) => size > 1) ?? [];
  const names = dims.map(({ name }) => name);
  const expected = ['tp', 'cp', 'dp'].filter((name) => names.includes(name));
  if (names.join() !== expected.join()) {
    const gtp = names.includes('gtp_remat');
    const order = root.parallelism.value?.order;
    const field = gtp ? shardField(module) : order;
    yield [
      'ntp-grid',
      {
        message: gtp
          ? 'Nonuniform TP knows nothing of generalized TP: it would rebuild the groups of other ranks. Use gtp_remat 1.'
          : `Nonuniform TP takes ranks to lie in the order tp, cp, dp, but here it is ${names.join(', ')}: it would rebuild the groups of other ranks. Use the default order.`,
        span: field?.span ?? keySpan,
        related,
        fixes: gtp || !order?.written ? [] : [replaceFix(order.span, DEFAULT_ORDER)],
      },
    ];
  }
}

function shardField({ fields }: ModuleFacts): Field<number> {
  return fields.num_weight_shards.written ? fields.num_weight_shards : fields.gtp_remat;
}

function* settingReports({ fields, tp, module, ntp, shape }: Context): Iterable<Found> {
  if (ntp.tpBase !== tp) {
    yield [
      'ntp-base',
      {
        message: `tp_base is ${ntp.tpBase}, but tp is ${tp}: the new groups would not be those of the replicas. Write tp_base ${tp}, or leave it out.`,
        span: fields.tp_base.span,
        related: module.fields.tp.written ? [{ message: `tp is ${tp} here`, span: module.fields.tp.span }] : [],
        fixes: [namedFix('tp_base', fields.tp_base.span, tp)],
      },
    ];
  } else if (ntp.tpSpares >= ntp.tpBase) {
    yield [
      'ntp-spares',
      {
        message: `tp_spares ${ntp.tpSpares} leave no active rank of tp ${tp}. Use ${tp - 1} or fewer.`,
        span: fields.tp_spares.span,
        fixes: tp > 1 ? [namedFix('tp_spares', fields.tp_spares.span, tp - 1)] : [],
      },
    ];
  }
  if (ntp.numReducedTpDpRanks > shape.dp) {
    yield [
      'ntp-replica-range',
      {
        message: `num_reduced_tp_dp_ranks is ${ntp.numReducedTpDpRanks}, but there are ${countOf(shape.dp, 'replica')}. Use ${shape.dp} or fewer.`,
        span: fields.num_reduced_tp_dp_ranks.span,
        fixes: [namedFix('num_reduced_tp_dp_ranks', fields.num_reduced_tp_dp_ranks.span, shape.dp)],
      },
    ];
  }
}

/** What is wrong with single entries of the map. */
function* entryReports(context: Context): Iterable<Found> {
  const { fields, shape, ntp, text, pp } = context;
  const seen = new Set<string>();
  for (const { value: entry, span } of fields.non_active_ranks_per_dp.value ?? []) {
    const dp = entry?.dp.value;
    const slots = entry?.local_ranks.value;
    if (!entry || dp === undefined || !slots) {
      continue;
    }
    const key = `${dp}/${entry.cp.value}/${entry.pp.value}`;
    if (seen.has(key)) {
      yield [
        'ntp-unapplied-entry',
        {
          message: `Replica dp ${dp} has an entry already; only one of them would be read. Keep one.`,
          span: entry.dp.span,
        },
      ];
      continue;
    }
    seen.add(key);
    const places = [
      ['dp', entry.dp, shape.dp],
      ['cp', entry.cp, shape.cp],
      ['pp', entry.pp, pp],
    ] as const;
    const outside = places.find(([, field, size]) => (field.value ?? 0) >= size);
    if (outside) {
      const [name, field, size] = outside;
      yield [
        'ntp-replica-range',
        {
          message: `${name} ${field.value} is outside the grid, which has ${name} 0 to ${size - 1}.`,
          span: field.span,
          fixes: [namedFix(name, field.span, size - 1)],
        },
      ];
      continue;
    }
    if (dp >= ntp.numReducedTpDpRanks) {
      const count = fields.num_reduced_tp_dp_ranks;
      const edit = setKey(text, context.span, 'num_reduced_tp_dp_ranks', count, dp + 1);
      yield [
        'ntp-unapplied-entry',
        {
          message: `Replica dp ${dp} keeps its full TP group, since only ${countOf(ntp.numReducedTpDpRanks, 'replica')} from dp 0 ${ntp.numReducedTpDpRanks === 1 ? 'is' : 'are'} reduced; yet its ranks count as reduced. Use num_reduced_tp_dp_ranks ${dp + 1}, or drop the entry.`,
          span: entry.dp.span,
          related: count.written
            ? [{ message: `num_reduced_tp_dp_ranks is ${ntp.numReducedTpDpRanks} here`, span: count.span }]
            : [],
          fixes: edit ? [{ title: `Change num_reduced_tp_dp_ranks to ${dp + 1}`, edits: [edit] }] : [],
        },
      ];
      continue;
    }
    yield* slotReports(context, slots, entry.local_ranks.span, span);
  }
}

function* slotReports(
  { ntp }: Context,
  fields: readonly Field<number>[],
  listSpan: Span,
  entrySpan: Span,
): Iterable<Found> {
  const slots = fields.flatMap(({ value }) => value ?? []);
  const wrong = fields.find(({ value }) => value !== undefined && value >= ntp.tpBase);
  const twice = fields.find(({ value }, i) => slots.indexOf(value ?? -1) < i);
  const [[, padded = []] = [0, []]] = uniformSpares(ntp.tpBase, [
    [0, [...new Set(slots.filter((slot) => slot < ntp.tpBase))]],
  ]).nonActive;
  const full = padToCount(padded, ntp);
  const fixes: Fix[] = full ? [replaceFix(listSpan, `[${full.join(', ')}]`)] : [];
  if (wrong) {
    yield [
      'ntp-slot-range',
      {
        message: `The local slot ${wrong.value} is outside 0 to ${ntp.tpBase - 1}; it would be ignored. Name local TP slots, not global ranks.`,
        span: wrong.span,
        fixes,
      },
    ];
  } else if (twice) {
    yield [
      'ntp-slot-range',
      {
        message: `The local slot ${twice.value} is named twice; it would count once. Name each slot once.`,
        span: twice.span,
        fixes,
      },
    ];
  } else if (slots.length !== ntp.tpSpares) {
    yield [
      'ntp-slot-count',
      {
        message: `${countOf(slots.length, 'slot')} named, but tp_spares is ${ntp.tpSpares}: the replica's TP size would differ from what the others assume.${full ? ` Use [${full.join(', ')}].` : ` Use tp_spares ${slots.length} for all replicas.`}`,
        span: listSpan,
        related: [{ message: 'in this entry', span: entrySpan }],
        fixes,
      },
    ];
  }
}

/** Slots padded from the highest healthy ones up to the number of spares; null where there are too many already. */
function padToCount(slots: readonly number[], { tpBase, tpSpares }: ResolvedNtp): number[] | null {
  if (slots.length > tpSpares) {
    return null;
  }
  const padded = [...slots];
  for (let slot = tpBase - 1; slot >= 0 && padded.length < tpSpares; slot--) {
    if (!padded.includes(slot)) {
      padded.push(slot);
    }
  }
  return padded.sort((a, b) => a - b);
}

/** CP slices of one replica that do not agree. */
function* sliceReports({ fields, shape, ntp, keySpan }: Context): Iterable<Found> {
  // replicas that no entry names are alike in all slices
  for (const dp of new Set((ntp.nonActive ?? []).map((entry) => entry.dp))) {
    const replica = Array.from({ length: shape.cp }, (_, cp) => ({ dp, cp, active: activeSlots(ntp, dp, cp, 0) }));
    const odd = replica.find(({ active }) => active.join() !== replica[0]?.active.join());
    if (odd) {
      const entries = fields.non_active_ranks_per_dp.value ?? [];
      const entry =
        entries.find(({ value }) => value?.dp.value === odd.dp && value.cp.value === odd.cp) ??
        entries.find(({ value }) => value?.dp.value === odd.dp);
      yield [
        'ntp-cp-slices',
        {
          message: `Replica dp ${odd.dp} keeps the slots ${both(replica[0]?.active ?? [])} in slice cp 0 but ${both(odd.active)} in slice cp ${odd.cp}. Remove the same slots from every slice: write one entry without cp.`,
          span: entry?.value?.local_ranks.span ?? keySpan,
          predicts:
            'Legacy NTP process-group reconfiguration requires the same active local TP ranks for every CP slice in a DP replica.',
        },
      ];
      return;
    }
  }
}

/** Data-parallel groups in which some ranks wait for others that never come. */
function* syncReports(context: Context): Iterable<Found> {
  const { shape, ntp, fields } = context;
  if (ntp.placement === 'nominal') {
    const hanging = conflictingSlots(ntp, shape);
    const [first] = hanging;
    if (first !== undefined) {
      const tail = Array.from({ length: ntp.tpSpares }, (_, i) => ntp.tpBase - ntp.tpSpares + i);
      const entries = fields.non_active_ranks_per_dp.value ?? [];
      const culprits = entries.filter(({ value }) => slotsOf(value?.local_ranks.value).join() !== tail.join());
      const lists = culprits.flatMap(({ value }) => (value ? [value.local_ranks.span] : []));
      yield [
        'ntp-dp-sync',
        {
          message: `Data-parallel groups are not rebuilt, so those of the local ${hanging.length === 1 ? 'slot' : 'slots'} ${both(hanging)} would hang: some ranks enter the gradient all-reduce while others have left or stay out. Remove the last ${countOf(ntp.tpSpares, 'slot')} (${tail.join(', ')}) of each replica, or use packed placement.`,
          span: lists[0] ?? context.keySpan,
          fixes:
            // a failed rank must not come back
            lists.length > 0 && (fields.failed_ranks.value ?? []).length === 0
              ? [
                  {
                    title: `Remove the slots ${tail.join(', ')} everywhere`,
                    edits: lists.map((span) => ({ span, newText: `[${tail.join(', ')}]` })),
                  },
                ]
              : [],
        },
      ];
    }
  }
}

/** Expert groups are never rebuilt. */
function* expertReports({ ep, module, keySpan, ntp }: Context): Iterable<Found> {
  if (ep > 1 && ntp.placement === 'nominal') {
    const { span } = module.fields.ep;
    yield [
      'ntp-expert-groups',
      {
        message: `Expert groups are not rebuilt: with ep ${ep} ranks that stay keep groups with ranks that have left, and hang in the first MoE layer. Use ep 1.`,
        span,
        related: [{ message: 'nonuniform TP is asked for here', span: keySpan }],
        fixes: [namedFix('ep', span, 1)],
      },
    ];
  }
}

const slotsOf = (fields: readonly Field<number>[] | undefined): number[] =>
  (fields ?? []).flatMap(({ value }) => value ?? []).sort((a, b) => a - b);

/** The group code asks the count, the reshard maps the map: they must say the same. */
function* mapReports({ ntp, fields, text, span, keySpan }: Context): Iterable<Found> {
  const written = ntp.nonActive ?? [];
  const named = new Set(written.map((entry) => entry.dp));
  const missing: number[] = [];
  for (let dp = 0; dp < ntp.numReducedTpDpRanks && missing.length < MAX_NAMED; dp++) {
    if (!named.has(dp)) {
      missing.push(dp);
    }
  }
  if (missing.length === 0) {
    return;
  }
  const tail = Array.from({ length: ntp.tpSpares }, (_, i) => ntp.tpBase - ntp.tpSpares + i).join(', ');
  const added = missing.map((dp) => `{dp: ${dp}, local_ranks: [${tail}]}`);
  const shown = missing.length > 4 ? `${missing.slice(0, 4).join(', ')} and others` : both(missing);
  const field = fields.non_active_ranks_per_dp;
  const edit = mapEdit(text, span, field, added);
  yield [
    'ntp-map-incomplete',
    {
      message:
        written.length === 0
          ? `Without non_active_ranks_per_dp the groups are reduced, but the reshard maps treat all replicas as healthy. Write the slots of replica dp ${shown}.`
          : `Replica dp ${shown} is reduced but has no entry: its groups shrink while the reshard maps treat it as healthy. Write an entry.`,
      span: field.written ? field.keySpan : keySpan,
      fixes:
        edit && missing.length < MAX_NAMED
          ? [{ title: `Write the last slots (${tail}) of each replica`, edits: [edit] }]
          : [],
    },
  ];
}

/** The edit that adds entries to the map, in flow style. */
function mapEdit(text: string, map: Span, field: Field<readonly unknown[]>, added: readonly string[]): Edit | null {
  const value = field.value ?? [];
  if (value.length === 0) {
    return setKey(text, map, 'non_active_ranks_per_dp', field, `[${added.join(', ')}]`);
  }
  if (text[field.span.start] === '[') {
    return { span: { start: field.span.start + 1, end: field.span.start + 1 }, newText: `${added.join(', ')}, ` };
  }
  const start = text.lastIndexOf('\n', field.span.start) + 1;
  const indent = text.slice(start, field.span.start);
  return /^[ ]*$/.test(indent)
    ? {
        span: { start: field.span.start, end: field.span.start },
        newText: added.map((entry) => `- ${entry}\n${indent}`).join(''),
      }
    : null;
}

/** Sizes that do not split evenly over the full and the reduced TP size. */
function* unevenReports({ module, ntp }: Context): Iterable<Found> {
  const model = module.model.value;
  const reduced = ntp.tpBase - ntp.tpSpares;
  const sizes = [
    ['num_attention_heads', model?.num_attention_heads],
    ['ffn_hidden_size', model?.ffn_hidden_size],
  ] as const;
  for (const [name, field] of sizes) {
    if (field?.value !== undefined && field.value % reduced !== 0 && field.value % ntp.tpBase === 0) {
      const least = Math.floor(field.value / reduced);
      // `ntp_map` cuts the units into equal chunks and then misses one for the last active slots
      const fails = Math.ceil(field.value / Math.ceil(field.value / reduced)) < reduced;
      yield [
        'ntp-uneven-shards',
        {
          severity: fails ? 'error' : 'warning',
          message: `${name} ${field.value} does not divide among the ${reduced} active slots: some would hold ${least + 1}, others ${least}. ${fails ? 'The reshard maps fail with an IndexError.' : 'The slowest sets the pace.'}`,
          span: field.span,
        },
      ];
    }
  }
}

function* failedRankReports(context: Context): Iterable<Found> {
  const { fields, ntp, shape, tp, text, span } = context;
  const failed = fields.failed_ranks.value ?? [];
  const world = tp * shape.cp * shape.dp * context.pp;
  const outside = failed.find(({ value }) => (value ?? 0) >= world);
  if (outside) {
    yield [
      'ntp-failed-rank',
      { message: `There is no rank ${outside.value} in a world of ${world}.`, span: outside.span },
    ];
    return;
  }
  const active = failed.find(({ value }) => value !== undefined && !leaves(ntp, shape, tp, value));
  if (active) {
    yield [
      'ntp-failed-rank',
      {
        message: `Rank ${active.value} is said to be broken, but is still active. Remove its slot (local ${(active.value ?? 0) % tp} of replica dp ${Math.floor((active.value ?? 0) / (tp * shape.cp))}).`,
        span: active.span,
        fixes: derivedFixes(text, span, fields, slotsOf(failed), tp, shape.cp),
      },
    ];
  }
}

/** Whether a global rank is among the removed slots. */
function leaves(ntp: ResolvedNtp, { cp }: NtpShape, tp: number, rank: number): boolean {
  const slice = Math.floor(rank / tp);
  const dp = Math.floor(slice / cp);
  return ntp.tpSpares > 0 && dp < ntp.numReducedTpDpRanks && !activeSlots(ntp, dp, slice % cp, 0).includes(rank % tp);
}

/** One edit of the three settings that follow from the failed ranks. */
function derivedFixes(
  text: string,
  map: Span,
  fields: Section<NtpKeys>,
  failed: readonly number[],
  tp: number,
  cp: number,
): Fix[] {
  const faulty = faultySlots(failed, tp, cp);
  const last = faulty.at(-1)?.[0] ?? 0;
  const all = Array.from(
    { length: last + 1 },
    (_, dp) => faulty.find(([hit]) => hit === dp) ?? ([dp, []] as [number, number[]]),
  );
  const { tpSpares, nonActive } = uniformSpares(tp, all);
  const tail = Array.from({ length: tpSpares }, (_, i) => tp - tpSpares + i);
  const isTail = nonActive.every(([, slots]) => slots.join() === tail.join());
  const entries = nonActive.map(([dp, slots]) => `{dp: ${dp}, local_ranks: [${slots.join(', ')}]}`).join(', ');
  const edits = [
    setKey(text, map, 'tp_spares', fields.tp_spares, tpSpares),
    setKey(text, map, 'num_reduced_tp_dp_ranks', fields.num_reduced_tp_dp_ranks, last + 1),
    setKey(text, map, 'non_active_ranks_per_dp', fields.non_active_ranks_per_dp, `[${entries}]`),
  ].filter((edit) => edit !== null);
  // several keys appended at one place would overlap: join them
  const joined = joinInsertions(edits);
  return tpSpares < tp
    ? [
        {
          title: isTail
            ? 'Derive the spares from failed_ranks'
            : 'Derive the spares from failed_ranks (needs packed placement)',
          edits: joined,
        },
      ]
    : [];
}

function joinInsertions(edits: readonly Edit[]): Edit[] {
  const result: Edit[] = [];
  for (const edit of edits) {
    const same = result.findIndex(({ span }) => span.start === edit.span.start && span.end === edit.span.end);
    const before = result[same];
    if (before) {
      result[same] = { span: before.span, newText: before.newText + edit.newText };
    } else {
      result.push(edit);
    }
  }
  return result;
}

/** What the choice costs, against dropping the replicas that are hit. */
function* costReports({ ntp, shape, keySpan, tp }: Context): Iterable<Found> {
  const hit = Math.min(ntp.numReducedTpDpRanks, shape.dp);
  const gpus = tp * shape.cp * shape.dp;
  const idle = spareCount(ntp, shape);
  const kept = 100 * (1 - (hit * (ntp.tpSpares / ntp.tpBase)) / shape.dp);
  const dropped = 100 * (1 - hit / shape.dp);
  const active = activeSlots(ntp, 0, 0, 0).length;
  yield [
    'ntp-cost',
    {
      severity: 'information',
      message: `${countOf(hit, 'replica')} of ${shape.dp} run with tp ${active} in place of ${ntp.tpBase}: ${idle} of ${gpus} GPUs idle, about ${kept.toFixed(1)} % of compute kept; dropping the replicas would keep ${dropped.toFixed(1)} %.`,
      span: keySpan,
    },
  ];
}

const SOURCE = '`initialize_nonuniform_tp_process_groups` and `ntp_map` in megatron/core/distributed/nonuniform_tp.py';

/** A file of two replicas of tp 4 with the given settings of `ntp`. */
const example = (settings: string, degrees = 'tp: 4', world = 8, more = ''): string => `layout: 1
world_size: ${world}
parallelism: {${degrees}}
${more}ntp: {${settings}}
`;

const WHOLE = 'tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]';

function ntpRule(
  code: string,
  severity: Rule['severity'],
  docs: Omit<RuleDocs, 'source' | 'passing'> & { passing?: string },
): Rule {
  return {
    code,
    severity,
    source: SOURCE,
    passing: example(WHOLE),
    ...docs,
    *check(facts) {
      for (const [found, report] of findings(facts)) {
        if (found === code) {
          yield report;
        }
      }
    },
  };
}

export const NTP_RULES: readonly Rule[] = [
  ntpRule('ntp-modules', 'error', {
    title: 'Nonuniform TP beside modules',
    what: '`ntp` stands in a file of `modules`.',
    why: 'The helper computes ranks of one grid that begins at rank 0; with several grids it would rebuild the groups of other ranks.',
    failing: 'layout: 1\nworld_size: 8\nmodules: {language: {num_ranks: 8, tp: 4}}\nntp: {tp_spares: 1}\n',
    passing: 'layout: 1\nworld_size: 8\nmodules: {language: {num_ranks: 8, tp: 4}}\n',
  }),
  ntpRule('ntp-pipeline', 'error', {
    title: 'Nonuniform TP with a pipeline',
    what: '`tp_spares` is above 0 and `pp` above 1.',
    why: 'Only the first stage of a reduced replica is reconfigured; later stages keep pipeline groups with ranks that have left.',
    failing: example(WHOLE, 'tp: 4, pp: 2', 16),
  }),
  ntpRule('ntp-grid', 'error', {
    title: 'Nonuniform TP on a grid that it does not know',
    what: '`order` does not put `tp`, `cp` and `dp` in that order, or generalized TP is used.',
    why: 'The helper computes global ranks from the places in the default order; in another one it rebuilds the groups of other ranks.',
    failing: example(WHOLE, 'tp: 4, order: dp-tp-cp-ep-pp'),
  }),
  ntpRule('ntp-base', 'error', {
    title: 'A tp_base that is not tp',
    what: '`tp_base` differs from `tp`.',
    why: 'Nothing compares them. The new groups would be cut from other ranks than the replicas have.',
    failing: example('tp_base: 8, tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]'),
  }),
  ntpRule('ntp-spares', 'error', {
    title: 'Spares that leave no active rank',
    what: '`tp_spares` is not less than `tp_base`.',
    why: 'A replica without an active rank has no group: torch refuses the empty list on every rank.',
    failing: example('tp_spares: 4, non_active_ranks_per_dp: [{dp: 0, local_ranks: [0, 1, 2, 3]}]'),
  }),
  ntpRule('ntp-replica-range', 'error', {
    title: 'A replica that does not exist',
    what: '`dp`, `cp` or `pp` of an entry is outside the grid, or `num_reduced_tp_dp_ranks` is more than `dp`.',
    why: 'Groups would be asked for outside the world, or entries silently ignored.',
    failing: example('tp_spares: 1, num_reduced_tp_dp_ranks: 3, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]'),
  }),
  ntpRule('ntp-unapplied-entry', 'error', {
    title: 'An entry for a replica that is not reduced',
    what: 'An entry names a replica at or beyond `num_reduced_tp_dp_ranks`.',
    why: 'Its groups stay full, with the broken GPUs in them, while the reshard maps treat it as reduced.',
    failing: example('tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}, {dp: 1, local_ranks: [3]}]'),
  }),
  ntpRule('ntp-slot-range', 'error', {
    title: 'A local slot outside the replica, or twice',
    what: 'A slot of `local_ranks` is not in `[0, tp_base)`, or is named twice.',
    why: 'Slots outside are ignored and repeated ones count once, so the replica keeps more ranks than the others assume.',
    failing: example('tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}]'),
  }),
  ntpRule('ntp-slot-count', 'error', {
    title: 'Another number of slots than tp_spares',
    what: 'An entry does not name exactly `tp_spares` slots.',
    why: 'All reduced replicas must have one TP size: the reshard maps and the gradient all-reduce count on it.',
    failing: example('tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]'),
    passing: example('tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [2, 3]}]'),
  }),
  ntpRule('ntp-cp-slices', 'error', {
    title: 'CP slices of a replica that differ',
    what: 'The active slots of a replica are not the same in all its context-parallel slices.',
    why: 'Context-parallel groups join equal slots; Megatron-LM stops.',
    failing: example(
      'tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, cp: 0, local_ranks: [3]}, {dp: 0, cp: 1, local_ranks: [2]}]',
      'tp: 4, cp: 2',
      16,
    ),
  }),
  ntpRule('ntp-map-incomplete', 'error', {
    title: 'A reduced replica without an entry',
    what: 'A replica below `num_reduced_tp_dp_ranks` has no entry in `non_active_ranks_per_dp`, or there is no map at all.',
    why: 'The group code goes by the count, the reshard maps by the map alone: parameters are resharded as if the replica were whole.',
    failing: example('tp_spares: 1'),
  }),
  ntpRule('ntp-dp-sync', 'error', {
    title: 'Spares for which data-parallel groups hang',
    what: 'The removed slots are not the last `tp_spares` of each reduced replica (nominal placement).',
    why: 'Data-parallel groups are never rebuilt: some ranks enter the gradient all-reduce while another member has left or does not come.',
    failing: example('tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [1]}]'),
  }),
  ntpRule('ntp-expert-groups', 'error', {
    title: 'Nonuniform TP with expert parallelism',
    what: '`tp_spares` is above 0 and `ep` above 1.',
    why: 'Expert groups are never rebuilt, so ranks that stay wait in them for ranks that have left.',
    failing: example(WHOLE, 'tp: 4, ep: 2, expt_tp: 1'),
  }),
  ntpRule('ntp-uneven-shards', 'warning', {
    title: 'Sizes that the active slots do not share evenly',
    what: '`num_attention_heads` or `ffn_hidden_size` is not a multiple of `tp_base - tp_spares`.',
    why: 'Some active ranks hold more than others; each step waits for the slowest.',
    failing: example(WHOLE, 'tp: 4', 8, 'model: {num_attention_heads: 16}\n'),
    passing: example(WHOLE, 'tp: 4', 8, 'model: {num_attention_heads: 24}\n'),
  }),
  ntpRule('ntp-failed-rank', 'error', {
    title: 'A failed rank that is still active',
    what: 'A rank of `failed_ranks` is not among the removed slots.',
    why: 'The job would wait for a broken GPU.',
    failing: example('failed_ranks: [3]'),
    passing: example(`failed_ranks: [3], ${WHOLE}`),
  }),
  ntpRule('ntp-cost', 'information', {
    title: 'What nonuniform TP costs',
    what: '`tp_spares` is above 0.',
    why: 'Going on with fewer ranks keeps more of the job than dropping a whole replica, but the spare GPUs idle.',
    failing: example(WHOLE),
    passing: example('tp_spares: 0'),
  }),
];
