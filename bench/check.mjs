// How fast the engine is, as ratios wherever it can be: `npm run bench:check`. It prints tables and judges nothing.
import { importSource } from '../scripts/source.mts';
import { layoutOfLines } from './layouts.mjs';

const { check, parseTree, processGroups } = await importSource('layout/index.ts');
const { nastyTexts } = await importSource('test/fuzz/nastyTexts.ts');

/** The median time of a task in milliseconds, once it is warm; `budget` milliseconds are spent on it. */
function median(task, budget = 500) {
  const warmUntil = performance.now() + budget / 2;
  do {
    task();
  } while (performance.now() < warmUntil);
  const times = [];
  const until = performance.now() + budget;
  do {
    const start = performance.now();
    task();
    times.push(performance.now() - start);
  } while (performance.now() < until || times.length < 3);
  return times.sort((a, b) => a - b)[times.length >> 1];
}

const ms = (time) => (time < 1 ? time.toFixed(3) : time.toFixed(1));
const ratio = (time, base) => `${(time / base).toFixed(2)} x`;
const count = (n) => n.toLocaleString('en-US');

function table(title, head, rows) {
  const lines = [head, ...rows];
  const widths = head.map((_, i) => Math.max(...lines.map((line) => line[i].length)));
  console.log(`\n${title}`);
  for (const line of lines) {
    console.log(`  ${line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ')}`);
  }
}

/** A homogeneous layout of one shape for any world that 8 divides. */
function layoutOfWorld(ranks) {
  const tp = Math.min(8, ranks);
  const pp = ranks >= 1024 ? 8 : 1;
  const ep = ranks >= 1024 ? 8 : 1;
  return `layout: 1
world_size: ${ranks}
cluster: {nodes: ${ranks / 8}, gpus_per_node: 8}
parallelism:
  tp: ${tp}
  pp: ${pp}
  ep: ${ep}
  expt_tp: 1
`;
}

function resolved(text) {
  const { diagnostics, resolved: layout } = check(text);
  if (!layout) {
    throw new Error(`the benchmark's own layout is wrong: ${diagnostics[0]?.message}`);
  }
  return layout;
}

function checkByLines() {
  const rows = [40, 400, 10_000].map((lines) => {
    const text = layoutOfLines(lines);
    return [count(lines), count(text.length), ms(median(() => parseTree(text))), ms(median(() => check(text)))];
  });
  table('Whole check by the length of the file', ['lines', 'characters', 'parse ms', 'check ms'], rows);
}

function checkByWorld() {
  const times = [8, 1024, 16_384, 131_072, 1_048_576].map((ranks) => {
    const text = layoutOfWorld(ranks);
    return { ranks, time: median(() => check(text)) };
  });
  const base = times[0].time;
  const rows = times.map(({ ranks, time }) => [count(ranks), ms(time), ratio(time, base)]);
  table('Whole check by the size of the world (one file shape)', ['ranks', 'ms', 'to the first'], rows);
}

/** What one would write first: the coordinates of every rank, and a map from all other coordinates to the group. */
function perRank({ axes, offset, size }, names) {
  const groups = new Map();
  for (let rank = offset; rank < offset + size; rank++) {
    let rest = rank - offset;
    const key = [];
    for (const axis of axes) {
      if (!names.includes(axis.name)) {
        key.push(rest % axis.size);
      }
      rest = Math.floor(rest / axis.size);
    }
    const name = key.join();
    const group = groups.get(name);
    if (group) {
      group.push(rank);
    } else {
      groups.set(name, [rank]);
    }
  }
  return groups;
}

/** The least that any enumeration must do: write as many ranks into as many arrays. */
function floorOf(families) {
  for (const { length, lists } of families) {
    const ranks = new Int32Array(length);
    for (let i = 0; i < length; i++) {
      ranks[i] = i;
    }
    const starts = new Int32Array(lists + 1);
    for (let i = 0; i <= lists; i++) {
      starts[i] = i;
    }
  }
}

const DIMS = [['tp'], ['pp'], ['dp'], ['cp'], ['dp', 'cp'], ['tp', 'pp'], ['tp', 'dp', 'cp'], ['tp', 'cp']];

function enumeration() {
  const rows = [1024, 131_072, 1_048_576].map((ranks) => {
    const layout = resolved(layoutOfWorld(ranks));
    const families = processGroups(layout);
    const sizes = families.map((family) => family.all()).map((all) => ({ length: all.ranks.length, lists: all.count }));
    const written = sizes.reduce((sum, { length }) => sum + length, 0);
    const budget = ranks > 200_000 ? 2000 : 500;
    const all = median(() => families.forEach((family) => void family.all()), budget);
    const floor = median(() => floorOf(sizes), budget);
    const single = median(() => {
      for (const family of families) {
        for (let i = 0; i < family.count; i++) {
          family.ranks(i);
        }
      }
    }, budget);
    const grid = gridOf(layout);
    const plain = median(() => DIMS.forEach((names) => void perRank(grid, names)), budget) / (DIMS.length * ranks);
    return [count(ranks), count(written), ms(all), ratio(all, floor), ratio(single, all), ratio(plain, all / written)];
  });
  table(
    'All process groups',
    ['ranks', 'ranks written', 'all() ms', 'to the floor', 'ranks(i) to all()', 'a rank at a time to all()'],
    rows,
  );
}

function gridOf({ modules: [{ dense, rankOffset, numRanks }] }) {
  return { axes: dense, offset: rankOffset, size: numRanks };
}

function groupsOfOneRank() {
  const rows = [1024, 131_072, 1_048_576].map((ranks) => {
    const families = processGroups(resolved(layoutOfWorld(ranks)));
    const rank = ranks - 3;
    const indices = median(() => families.map((family) => family.indicesOf(rank)));
    const small = families.filter(({ size }) => size <= 1024);
    const members = median(() => small.map((family) => family.indicesOf(rank).map((index) => family.ranks(index))));
    return [count(ranks), `${(indices * 1000).toFixed(1)}`, `${(members * 1000).toFixed(1)}`];
  });
  table('All groups of one rank', ['ranks', 'which groups, us', 'their ranks (groups up to 1,024), us'], rows);
}

function nasty() {
  const rows = nastyTexts().map(([name, text]) => {
    const { diagnostics } = check(text);
    return { name, text, diagnostics, time: median(() => check(text), 150) };
  });
  rows.sort((a, b) => b.time - a.time);
  table(
    'Texts made to be slow',
    ['text', 'characters', 'ms', 'diagnostics', 'the first'],
    rows.map(({ name, text, diagnostics, time }) => [
      name,
      count(text.length),
      ms(time),
      count(diagnostics.length),
      diagnostics[0]?.code ?? '',
    ]),
  );
}

checkByLines();
checkByWorld();
enumeration();
groupsOfOneRank();
nasty();
