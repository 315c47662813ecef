// How right the estimates are, on published measurements: `npm run bench:cost`. Each row is written as a layout file and estimated
// from it, as a user would. Beside it in the same run, a plain formula for memory and two simple ways to choose a layout. It
// prints tables and judges nothing.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { importSource } from '../scripts/source.mts';
import { layoutOf } from './planner/layouts.mjs';

const { check } = await importSource('layout/index.ts');
const { estimateOf, planLayouts } = await importSource('layout/cost/index.ts');

/** The rows of a source that can be estimated, with their estimates. */
function rowsOf(name) {
  const rows = readFileSync(`bench/planner/data/${name}.jsonl`, 'utf8').trim().split('\n').map(JSON.parse);
  return rows.filter(({ suspect }) => !suspect).flatMap(estimated);
}

function estimated(row) {
  const text = layoutOf(row);
  const checked = text === null ? null : check(text);
  if (!checked?.facts || !checked.resolved || checked.diagnostics.some(({ severity }) => severity === 'error')) {
    return [];
  }
  const result = estimateOf(checked.facts);
  return result.ok ? [{ row, text, estimate: result.estimate }] : [];
}

const secondsOf = ({ estimate }) => estimate.stepTimeS.median;
const sorted = (values) => [...values].sort((a, b) => a - b);
const quantile = (values, share) => sorted(values)[Math.floor((values.length - 1) * share)] ?? Number.NaN;
const median = (values) => quantile(values, 0.5);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const isInside = (value, [low, high]) => low <= value && value <= high;
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const relative = (estimate, truth) => Math.abs(estimate / truth - 1);

/** Half of the groups, by which constants may be fitted; the others judge. */
const isFitted = ({ row }) => createHash('sha256').update(String(row.group)).digest()[0] % 2 === 0;
const HALVES = [
  ['all', () => true],
  ['fitted half', isFitted],
  ['other half', (one) => !isFitted(one)],
];

/** Sources by half of which constants were fitted. */
const halvesOf = (name) =>
  ['vtrain', 'nanotron', 'bridge', 'megatron-h200'].includes(name) ? HALVES : HALVES.slice(0, 1);

memoryOfTests();
outOfMemory();
// rows of one node are sums of one layer's profile (planner/README.md): only those of several nodes were timed
const isTimedRun = ({ row }) => !row.id.startsWith('vtrain/single/');
for (const name of ['vtrain', 'nanotron', 'sailor', 'torchtitan', 'megatron-h200']) {
  const rows = timed(name);
  for (const [half, isOfHalf] of halvesOf(name)) {
    ranking(`${name}, ${half}`, rows.filter(isOfHalf));
  }
  if (!rows.every(isTimedRun)) {
    ranking(`${name}, timed runs`, rows.filter(isTimedRun));
  }
}
ownGpt();
for (const name of ['calculon', 'vtrain', 'nanotron', 'bridge', 'mlperf51', 'torchtitan', 'sailor']) {
  const rows = timed(name);
  for (const [half, isOfHalf] of halvesOf(name)) {
    absoluteTime(`${name}, ${half}`, rows.filter(isOfHalf));
  }
}
recipes();

/** Runs that NVIDIA published: how far the estimate is off by kind, and whether `plan --risk` puts their own layout among its first. */
function recipes() {
  const rows = timed('bridge');
  const kinds = {
    'experts on H100': ({ row }) => row.model.num_experts && row.hardware.gpu === 'H100',
    'experts on GB200': ({ row }) => row.model.num_experts && row.hardware.gpu === 'GB200',
    'experts on GB300': ({ row }) => row.model.num_experts && row.hardware.gpu === 'GB300',
    'dense on GB300': ({ row }) => !row.model.num_experts && row.hardware.gpu === 'GB300' && !/LoRA/.test(row.task),
    LoRA: ({ row }) => /LoRA/.test(row.task),
  };
  console.log('\nMegatron Bridge, estimate over measured, median');
  for (const [kind, isOfKind] of Object.entries(kinds)) {
    const of = HALVES.map(([half, isOfHalf]) => {
      const ratios = rows
        .filter(isOfKind)
        .filter(isOfHalf)
        .map((one) => secondsOf(one) / one.row.measured.step_time_s);
      return `${half} ${median(ratios).toFixed(2)} (${ratios.length} rows)`;
    });
    console.log(`  ${kind}: ${of.join(', ')}`);
  }
  const among = rows.filter((one) => {
    const plan = planLayouts(one.text, { wanted: 5, risk: true });
    return plan.ok && secondsOf(one) <= 1.1 * Math.min(...plan.layouts.map(({ seconds }) => seconds));
  });
  console.log(`  own layout within 1.1 of the first of plan --risk: ${among.length} of ${rows.length}`);
}

/** States and peak of Megatron-LM's own functional tests, last stage; the plain formula has no workspace. */
function memoryOfTests() {
  const cases = rowsOf('megatron_golden').map(({ row: { measured, model }, estimate: { perStage } }) => {
    const { statesBytes, workspaceBytes, peakBytes, interval } = perStage.at(-1);
    return {
      hasExperts: Boolean(model.num_experts),
      states: relative(statesBytes, measured.memory_bytes_allocated),
      plain: relative(statesBytes - workspaceBytes, measured.memory_bytes_allocated),
      peak: relative(peakBytes, measured.memory_bytes_peak),
      covered: isInside(measured.memory_bytes_peak, interval),
    };
  });
  console.log("Megatron-LM's functional tests, relative error of memory (target: 3 % of states and peak, each kind)");
  for (const [kind, rows] of [
    ['all', cases],
    ['dense', cases.filter(({ hasExperts }) => !hasExperts)],
    ['experts', cases.filter(({ hasExperts }) => hasExperts)],
  ]) {
    const line = (key) => {
      const errors = rows.map((one) => one[key]);
      return `median ${percent(median(errors))}, 90 % within ${percent(quantile(errors, 0.9))}`;
    };
    console.log(`  ${kind}, ${rows.length} rows`);
    console.log(`    states            ${line('states')}`);
    console.log(`    states, no workspace ${line('plain')}`);
    console.log(`    peak              ${line('peak')}`);
    console.log(`    peak inside the interval: ${percent(mean(rows.map(({ covered }) => Number(covered))))}`);
  }
}

/** Megatron-LM's own GPT on one and two H200 (planner/gpt.py), of which no constant was fitted: every stage's memory, and the time. */
function ownGpt() {
  const rows = rowsOf('megatron-h200');
  const stages = rows.flatMap(({ row, estimate }) =>
    estimate.perStage.map((stage, index) => {
      const ranks = row.measured.memory_bytes_of_ranks;
      return { stage, measured: ranks[(index * ranks.length) / estimate.perStage.length] };
    }),
  );
  const line = (label, errors) => `${label} ${percent(median(errors))}, largest ${percent(Math.max(...errors))}`;
  const states = stages.map(({ stage, measured }) => relative(stage.statesBytes, measured.allocated));
  const peaks = stages.map(({ stage, measured }) => relative(stage.peakBytes, measured.peak));
  const ratios = rows.map((one) => secondsOf(one) / one.row.measured.step_time_s);
  console.log(
    `\nMegatron-LM's own GPT on H200, ${rows.length} layouts, ${stages.length} stages: median error of ${line('states', states)}; of ${line('peaks', peaks)}`,
  );
  console.log(
    `  step time: mean error ${percent(mean(ratios.map((ratio) => Math.abs(ratio - 1))))}, median ratio ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
  );
}

/** Crashes of nanotron's benchmark that memory explains, against runs: at each threshold of what the fullest stage needs. */
function outOfMemory() {
  const cases = rowsOf('nanotron')
    .filter(({ row }) => !row.not_memory)
    .map(({ row, estimate }) => ({
      crashed: row.measured.status !== 'ok',
      peak: Math.max(...estimate.perStage.map(({ totalBytes }) => totalBytes)) / 2 ** 30,
    }));
  console.log(`\nOut of memory, nanotron, ${cases.length} rows (targets: recall .95 at precision .90)`);
  for (const threshold of [40, 45, 50, 55, 60, 70, 80]) {
    const said = cases.filter(({ peak }) => peak > threshold);
    const right = said.filter(({ crashed }) => crashed).length;
    const recall = right / cases.filter(({ crashed }) => crashed).length;
    console.log(`  over ${threshold} GiB: recall ${recall.toFixed(3)}, precision ${(right / said.length).toFixed(3)}`);
  }
}

/** How well layouts of one model, world and batch are put in order, and what the one chosen costs over the best. */
function ranking(label, ranked) {
  const groups = groupedBy(ranked, ({ row }) => row.group);
  groups.delete(null);
  const rows = (pick) => [...groups.values()].filter((group) => group.length >= 2).map((group) => costOf(group, pick));
  const rhos = [...groups.values()].filter((group) => group.length >= 4).map(rankCorrelation);
  console.log(`\nRanking, ${label}, ${groups.size} groups`);
  console.log(
    `  rank correlation: median ${median(rhos).toFixed(3)}, mean ${mean(rhos).toFixed(3)} (${rhos.length} groups of 4 or more)`,
  );
  const line = (label, costs) =>
    console.log(`  ${label}: chosen / best median ${median(costs).toFixed(3)}, mean ${mean(costs).toFixed(3)}`);
  line('estimate', rows(secondsOf));
  line(
    'largest dp',
    rows(({ row }) => -row.layout.dp),
  );
  line(
    'smallest tp, then fewest micro-batches',
    rows(({ row, estimate }) => row.layout.tp * 1e3 + estimate.pipeline.microbatches),
  );
}

function absoluteTime(label, rows) {
  const ratios = rows.map((one) => secondsOf(one) / one.row.measured.step_time_s);
  const inside = rows.filter(({ row, estimate }) => isInside(row.measured.step_time_s, estimate.stepTimeS.interval));
  const errors = ratios.map((ratio) => Math.abs(ratio - 1));
  console.log(
    `\nStep time, ${label}, ${ratios.length} rows: mean error ${percent(mean(errors))}, median error ${percent(median(errors))}, median ratio ${median(ratios).toFixed(2)} (5 % to 95 %: ${quantile(ratios, 0.05).toFixed(2)} to ${quantile(ratios, 0.95).toFixed(2)}), inside the interval ${percent(inside.length / rows.length)}`,
  );
}

function timed(name) {
  return rowsOf(name).filter(({ row, estimate }) => row.measured.step_time_s && estimate.stepTimeS);
}

function costOf(group, pick) {
  const best = Math.min(...group.map(({ row }) => row.measured.step_time_s));
  const chosen = group.reduce((one, other) => (pick(other) < pick(one) ? other : one));
  return chosen.row.measured.step_time_s / best;
}

function rankCorrelation(group) {
  const places = (values) => {
    const order = values.map((value, i) => [value, i]).sort(([a], [b]) => a - b);
    const places = [];
    for (const [place, [, i]] of order.entries()) {
      places[i] = place;
    }
    return places;
  };
  const truth = places(group.map(({ row }) => row.measured.step_time_s));
  const estimate = places(group.map(secondsOf));
  const n = group.length;
  const squares = truth.reduce((sum, place, i) => sum + (place - estimate[i]) ** 2, 0);
  return 1 - (6 * squares) / (n * (n * n - 1));
}

function groupedBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}
