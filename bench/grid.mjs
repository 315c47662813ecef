// How fast the rank grid draws, beside plain ways in the same run: `npm run bench:grid` prints tables.
// With `-- --svg` d3 makes an element for each of a million ranks too, within `SVG_LIMIT`; without it that time is extrapolated
// from 131,072 ranks. With `-- --gpu` Chromium draws on the GPU. With `-- --keys` only what a key costs is measured.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import esbuild from 'esbuild';
import { layoutText, startGrid } from '../test/grid/page.ts';

const ROUNDS = 9;
const FRAMES = 120;
/** Frames are measured on so many pages, and the median of their figures is printed: other processes disturb single pages. */
const FRAME_ROUNDS = 5;
/** How long a page rests before its first picture, in milliseconds: the cost of opening it is not counted. */
const REST = 400;
const WINDOW = { width: 1600, height: 900 };
const SIZES = [
  { nodes: 2048, degrees: { tp: 8, pp: 16, cp: 2 } },
  { nodes: 16_384, degrees: { tp: 8, pp: 16, cp: 4 } },
  { nodes: 131_072, degrees: { tp: 8, pp: 32, cp: 4 } },
];

/** Up to how many ranks an element is made for each, and for how long at the most, in milliseconds. */
const MAX_SVG = process.argv.includes('--svg') ? Number.POSITIVE_INFINITY : 131_072;
const SVG_LIMIT = 240_000;

/** Layouts with a model, a batch and a kind of GPU. */
const COSTED = ['dense', 'moe'].map((kind) => [
  `${kind} 64`,
  readFileSync(new URL(`../examples/${kind}-64gpu.layout.yaml`, import.meta.url), 'utf8'),
]);

const sorted = (times) => [...times].sort((a, b) => a - b);
const median = (times) => sorted(times)[times.length >> 1];
const p95 = (times) => sorted(times)[Math.floor(times.length * 0.95)];
const ms = (time) => (time === null ? '-' : time.toFixed(1));
const ratio = (a, b) => (a === null || b === null ? '-' : `1/${(b / a).toFixed(1)}`);
const row = (...cells) => console.log(cells.map((cell) => String(cell).padEnd(16)).join(' '));

/** Runs in the page: from a message to the frame after the one that shows it. */
const firstPicture = (data) =>
  new Promise((resolve) => {
    const start = performance.now();
    window.dispatchEvent(new MessageEvent('message', { data }));
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
  });

/** Runs in the page: the same picture by one call a rank. */
const canvasPicture = (ranks) =>
  new Promise((resolve) => {
    const side = Math.ceil(Math.sqrt(ranks));
    const cell = 700 / side;
    const start = performance.now();
    const canvas = document.createElement('canvas');
    canvas.width = 700;
    canvas.height = 700;
    document.body.replaceChildren(canvas);
    const context = canvas.getContext('2d');
    for (let rank = 0; rank < ranks; rank++) {
      context.fillStyle = `hsl(${rank % 360} 60% 50%)`;
      context.fillRect((rank % side) * cell, Math.floor(rank / side) * cell, cell, cell);
    }
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
  });

/** Runs in the page: the same picture by one element a rank, as d3 is usually used. */
const svgPicture = (ranks) =>
  new Promise((resolve) => {
    const side = Math.ceil(Math.sqrt(ranks));
    const cell = 700 / side;
    const start = performance.now();
    document.body.replaceChildren();
    window.d3
      .select(document.body)
      .append('svg')
      .attr('width', 700)
      .attr('height', 700)
      .selectAll('rect')
      .data(Array.from({ length: ranks }, (_, rank) => rank))
      .join('rect')
      .attr('x', (rank) => (rank % side) * cell)
      .attr('y', (rank) => Math.floor(rank / side) * cell)
      .attr('width', cell)
      .attr('height', cell)
      .attr('fill', (rank) => `hsl(${rank % 360} 60% 50%)`);
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
  });

/** Runs in the page: from a message, or another colour, until no frame and no timer is pending. */
const settled = ({ data, colour }) =>
  new Promise((resolve) => {
    const [ask, later, drop] = [window.requestAnimationFrame, window.setTimeout, window.clearTimeout];
    const waiting = new Set();
    let longest = 0;
    const wrapped =
      (plan) =>
      (callback, ...rest) => {
        const id = plan(
          (...all) => {
            waiting.delete(id);
            const begun = performance.now();
            callback(...all);
            longest = Math.max(longest, performance.now() - begun);
            if (waiting.size === 0) {
              Object.assign(window, { requestAnimationFrame: ask, setTimeout: later, clearTimeout: drop });
              ask(() => resolve({ time: performance.now() - start, longest }));
            }
          },
          ...rest,
        );
        waiting.add(id);
        return id;
      };
    window.requestAnimationFrame = wrapped(ask.bind(window));
    window.setTimeout = wrapped(later.bind(window));
    window.clearTimeout = (id) => {
      waiting.delete(id);
      drop(id);
    };
    const start = performance.now();
    if (data) {
      window.dispatchEvent(new MessageEvent('message', { data }));
    } else {
      const picker = document.querySelector('select[aria-label="Colour"]');
      picker.value = colour;
      picker.dispatchEvent(new Event('change'));
    }
    longest = Math.max(longest, performance.now() - start);
  });

/**
 * Runs in the page: the times between frames, and those of our own code in them, while the wheel zooms, the pointer drags
 * and moves, or while nothing happens.
 */
const frameTimes = ({ frames, busy }) =>
  new Promise((resolve) => {
    const canvas = document.querySelector('.frame canvas');
    const times = [];
    const own = [];
    const ask = window.requestAnimationFrame.bind(window);
    let spent = 0;
    window.requestAnimationFrame = (callback) =>
      ask((now) => {
        const start = performance.now();
        callback(now);
        spent += performance.now() - start;
      });
    let last = performance.now();
    const next = (now) => {
      times.push(now - last);
      last = now;
      own.push(spent);
      spent = 0;
      if (times.length > frames) {
        window.requestAnimationFrame = ask;
        resolve({ times: times.slice(1), own: own.slice(1) });
        return;
      }
      if (busy) {
        const i = times.length;
        const at = { clientX: 400 + 3 * i, clientY: 250 + 2 * i, bubbles: true, view: window };
        const deltaY = i % 60 < 30 ? -120 : 120;
        canvas.dispatchEvent(new WheelEvent('wheel', { ...at, deltaY, cancelable: true }));
        canvas.dispatchEvent(new PointerEvent('pointermove', at));
        if (i % 20 === 0) {
          canvas.dispatchEvent(new MouseEvent('mousedown', at));
          window.dispatchEvent(new MouseEvent('mousemove', { ...at, clientX: at.clientX + 40 }));
          window.dispatchEvent(new MouseEvent('mouseup', at));
        }
      }
      ask(next);
    };
    ask(next);
  });

/** Keys that are measured, after a few that are not. */
const KEYS = 60;
const WARM_KEYS = 15;

/** Runs in the page: shows the messages that it was given, one after another, with what the browser lays out for them. */
const show = () => {
  for (const data of window.given) {
    window.dispatchEvent(new MessageEvent('message', { data }));
    document.body.getBoundingClientRect();
  }
};

/** How long the page's thread computed so far: our own code, and the browser's styles and layout for it. Milliseconds. */
async function computed(session) {
  const { metrics } = await session.send('Performance.getMetrics');
  const of = (name) => 1000 * metrics.find((metric) => metric.name === name).value;
  // a layout that a script waits for is not counted as script
  return { own: of('ScriptDuration'), browser: of('RecalcStyleDuration') + of('LayoutDuration') };
}

/**
 * What a key costs while Trade-offs is shown: our own code in the server, in the editor and in the panel, and the browser's
 * layout. Milliseconds of the threads that compute: other processes do not count.
 */
async function keyTimes({ engine, open }, text) {
  const { page, send, close } = await open({ ...WINDOW, width: 541, state: { view: 'tradeoffs' } });
  try {
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    await send(engine.layoutMessage(text, 'a'));
    const first = engine.tradeoffsMessage(text);
    await send(first);
    const all = [];
    for (let key = 0; key < WARM_KEYS + KEYS; key++) {
      const typed = `${text}# ${key}\n`;
      const [check, checked] = timed(() => engine.check(typed));
      const [neighbours, found] = timed(() => engine.neighbours(checked));
      const [message, layout] = timed(() => engine.layoutMessage(typed, 'a'));
      const given = [layout, { type: 'tradeoffs', neighbours: found, alternatives: null }];
      await page.evaluate((messages) => Object.assign(window, { given: messages }) && null, given);
      const before = await computed(session);
      await page.evaluate(show);
      const after = await computed(session);
      const server = [check, neighbours, Math.max(0, message - check)];
      const panel = after.own - before.own;
      all.push([...server, panel, server.reduce((a, b) => a + b) + panel, after.browser - before.browser]);
    }
    const size = (message) => Math.round(JSON.stringify(message).length / 1024);
    const last = { type: 'tradeoffs', neighbours: engine.neighbours(engine.check(text)), alternatives: null };
    return { times: all.slice(WARM_KEYS), first: size(first), next: size(last) };
  } finally {
    await close();
  }
}

/** What `run` gives, and how long this thread computed for it. Milliseconds. */
function timed(run) {
  const start = process.threadCpuUsage();
  const result = run();
  const { user, system } = process.threadCpuUsage(start);
  return [(user + system) / 1000, result];
}

/** What `run` measures in a panel that has received no message yet. */
async function once(grid, run) {
  const { page, send, close } = await grid.open({ ...WINDOW, state: { colour: 'dp' } });
  try {
    return await run(page, send);
  } finally {
    await close();
  }
}

async function times(rounds, measure) {
  const all = [];
  for (let round = 0; round < rounds; round++) {
    all.push(await measure());
  }
  return all;
}

/** The time of an element a rank in milliseconds; null where it takes too long. */
const svgTime = (grid, ranks) =>
  once(grid, async (page) => {
    await page.evaluate(d3);
    const limit = new Promise((resolve) => setTimeout(resolve, SVG_LIMIT, null).unref());
    return Promise.race([page.evaluate(svgPicture, ranks).catch(() => null), limit]);
  });

/** The memory of the renderer process of a page after a garbage collection, in MB. */
async function memory(page) {
  const browser = await page.context().browser().newBrowserCDPSession();
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { processInfo } = await browser.send('SystemInfo.getProcessInfo');
  const kilobytes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1]));
  await browser.detach();
  return Math.max(...kilobytes) / 1024;
}

const { outputFiles } = await esbuild.build({
  stdin: {
    contents: "import { select } from 'd3-selection'; window.d3 = { select };",
    resolveDir: fileURLToPath(new URL('..', import.meta.url)),
  },
  bundle: true,
  write: false,
  format: 'iife',
});
const d3 = outputFiles[0].text;

/** The first pictures of every size and an empty canvas, in turn: other processes disturb all of them alike. */
async function firstPictures(grid, messages) {
  const all = { empty: [], own: messages.map(() => []) };
  const rested = (run, data) =>
    once(grid, async (page) => {
      await page.waitForTimeout(REST);
      return page.evaluate(run, data);
    });
  for (let round = 0; round < ROUNDS; round++) {
    all.empty.push(await rested(canvasPicture, 0));
    for (const [i, message] of messages.entries()) {
      all.own[i].push(await rested(firstPicture, message));
    }
  }
  return { empty: median(all.empty), own: all.own.map(median) };
}

/** Frames while nothing happens and while a person zooms, pans and hovers: the medians of several pages. */
async function frameRow(grid, messages, extra = () => []) {
  const rounds = await times(FRAME_ROUNDS, () =>
    once(grid, async (page, send) => {
      for (const message of messages) {
        await send(message);
      }
      await page.waitForTimeout(200);
      const idle = await page.evaluate(frameTimes, { frames: FRAMES, busy: false });
      const busy = await page.evaluate(frameTimes, { frames: FRAMES, busy: true });
      const figures = [median(busy.times), p95(busy.times), median(idle.times), median(busy.own), p95(busy.own)];
      return [...figures, ...(await extra(page))];
    }),
  );
  const columns = rounds[0].map((_, column) => median(rounds.map((round) => round[column])));
  row(messages[0].layout.worldSize, ...columns.map(ms));
}

const grid = await startGrid({ gpu: process.argv.includes('--gpu') });
try {
  console.log(
    'A key while Trade-offs is shown, ms of computing as median / p95. Our own code: check, neighbours, message and',
  );
  console.log("panel; beside it the browser's layout. The messages of the first key and of the next, KB");
  row('layout', 'check', 'neighbours', 'message', 'panel', 'own code', 'browser', 'first', 'next');
  for (const [name, text] of COSTED) {
    const { times, first, next } = await keyTimes(grid, text);
    const both = (values) => `${ms(median(values))} / ${ms(p95(values))}`;
    const parts = times[0].map((_, part) => times.map((one) => one[part]));
    row(name, ...parts.map(both), first, next);
  }
  if (process.argv.includes('--keys')) {
    await grid.close();
    process.exit();
  }

  const messages = SIZES.map(({ nodes, degrees }) =>
    grid.engine.layoutMessage(layoutText('bench', nodes, degrees), 'a'),
  );
  const { empty, own } = await firstPictures(grid, messages);
  console.log(`First picture, median ms of ${ROUNDS}; an empty canvas takes ${ms(empty)}`);
  row('ranks', 'grid', 'fillRect', 'd3 + SVG', 'to fillRect', 'to SVG', 'times empty');
  let svgRank = 0;
  for (const [i, { layout }] of messages.entries()) {
    const ranks = layout.worldSize;
    const canvas = median(await times(3, () => once(grid, (page) => page.evaluate(canvasPicture, ranks))));
    const measured = ranks <= MAX_SVG ? await svgTime(grid, ranks) : null;
    const svg = measured ?? ranks * svgRank;
    svgRank = svg / ranks;
    const svgText = `${measured === null ? 'about ' : ''}${ms(svg)}`;
    row(ranks, ms(own[i]), ms(canvas), svgText, ratio(own[i], canvas), ratio(own[i], svg), (own[i] / empty).toFixed(1));
  }

  console.log('\nFrames while zooming, panning and hovering, ms; memory of the process beside one of 8 ranks, MB');
  row('ranks', 'median', 'p95', 'idle median', 'own code median', 'own code p95', 'memory added');
  const base = await once(grid, async (page, send) => {
    await send(grid.engine.layoutMessage(layoutText('bench', 1, { tp: 2 }), 'a'));
    return memory(page);
  });
  for (const message of messages) {
    await frameRow(grid, [message], async (page) => [(await memory(page)) - base]);
  }

  console.log(
    '\nOther colours, and another layout beside it: until it is drawn, and the longest that it held up a frame, ms',
  );
  row('ranks', 'colours', 'held up', 'compared', 'held up');
  const compared = SIZES.map(({ nodes, degrees }) => {
    const { layout } = grid.engine.layoutMessage(layoutText('bench', nodes, { ...degrees, pp: degrees.pp / 2 }), 'a');
    return { type: 'base', base: { title: 'before', file: null, layout, problem: null } };
  });
  for (const [i, message] of messages.entries()) {
    const all = await times(3, () =>
      once(grid, async (page, send) => {
        await send(message);
        await page.waitForTimeout(200);
        const colours = await page.evaluate(settled, { colour: 'pp' });
        await page.waitForTimeout(200);
        return [colours, await page.evaluate(settled, { data: compared[i] })];
      }),
    );
    const of = (which, part) => ms(median(all.map((round) => round[which][part])));
    row(message.layout.worldSize, of(0, 'time'), of(0, 'longest'), of(1, 'time'), of(1, 'longest'));
  }

  console.log('\nFrames of two layouts side by side, ms');
  row('ranks', 'median', 'p95', 'idle median', 'own code median', 'own code p95');
  for (const [i, message] of messages.entries()) {
    await frameRow(grid, [message, compared[i]]);
  }

  console.log('\nWhich rank is under the pointer, microseconds an answer');
  for (const { layout } of messages) {
    const placement = grid.engine.physicalPlacement(layout, { width: 1200, height: 800 });
    const { width, height } = placement;
    const answers = 1_000_000;
    let sum = 0;
    const start = performance.now();
    for (let i = 0; i < answers; i++) {
      sum += placement.rankAt((i * 7919) % width, (i * 104_729) % height);
    }
    const each = (1000 * (performance.now() - start)) / answers;
    row(layout.worldSize, each.toFixed(3), sum > 0 ? '' : 'no rank was found');
  }
} finally {
  await grid.close();
}
