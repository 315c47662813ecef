// How fast the rank grid draws, beside plain ways in the same run: `npm run bench:grid`. It prints tables and judges nothing.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import esbuild from 'esbuild';
import { layoutText, startGrid } from '../test/grid/page.mjs';

const ROUNDS = 5;
const FRAMES = 120;
const WINDOW = { width: 1600, height: 900 };
const SIZES = [
  { nodes: 2048, degrees: { tp: 8, pp: 16, cp: 2 } },
  { nodes: 16_384, degrees: { tp: 8, pp: 16, cp: 4 } },
  { nodes: 131_072, degrees: { tp: 8, pp: 32, cp: 4 } },
];

/** An element a rank takes minutes beyond this. */
const MAX_SVG = 131_072;

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

/** Runs in the page: the frame after the next, where nothing is drawn. */
const emptyPicture = () =>
  new Promise((resolve) => {
    const start = performance.now();
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
  });

/**
 * Runs in the page: the times between frames, and those of our own code in them, while the wheel zooms, the pointer drags
 * and moves, or while nothing happens.
 */
const frameTimes = ({ frames, busy }) =>
  new Promise((resolve) => {
    const canvas = document.querySelector('canvas');
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

async function measured(grid, action, argument, rounds = ROUNDS) {
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const { page, close } = await grid.open({ ...WINDOW, state: { colour: 'dp' } });
    if (action === svgPicture) {
      await page.evaluate(d3);
    }
    times.push(await page.evaluate(action, argument));
    await close();
  }
  return median(times);
}

/** The memory of the process that draws a page, in MB, once its garbage is gone. */
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

const grid = await startGrid();
try {
  const empty = await measured(grid, emptyPicture);
  console.log(`First picture, median ms of ${ROUNDS}; an empty page takes ${ms(empty)}`);
  row('ranks', 'grid', 'fillRect', 'd3 + SVG', 'to fillRect', 'to SVG', 'times empty');
  const messages = SIZES.map(({ nodes, degrees }) =>
    grid.engine.layoutMessage(layoutText('bench', nodes, degrees), 'a'),
  );
  for (const message of messages) {
    const ranks = message.layout.worldSize;
    const own = await measured(grid, firstPicture, message);
    const canvas = await measured(grid, canvasPicture, ranks, 3);
    const svg = ranks <= MAX_SVG ? await measured(grid, svgPicture, ranks, 1) : null;
    row(ranks, ms(own), ms(canvas), ms(svg), ratio(own, canvas), ratio(own, svg), (own / empty).toFixed(1));
  }
  console.log('\nFrames while zooming, panning and hovering, ms; memory of the process beside one of 8 ranks, MB');
  row('ranks', 'median', 'p95', 'idle median', 'own code median', 'own code p95', 'memory added');
  const small = await grid.open({ ...WINDOW, state: { colour: 'dp' } });
  await small.sendText(layoutText('bench', 1, { tp: 2 }));
  const base = await memory(small.page);
  await small.close();
  for (const message of messages) {
    const { page, send, close } = await grid.open({ ...WINDOW, state: { colour: 'dp' } });
    await send(message);
    const idle = await page.evaluate(frameTimes, { frames: FRAMES, busy: false });
    const busy = await page.evaluate(frameTimes, { frames: FRAMES, busy: true });
    const added = (await memory(page)) - base;
    row(
      message.layout.worldSize,
      ...[median(busy.times), p95(busy.times), median(idle.times), median(busy.own), p95(busy.own), added].map(ms),
    );
    await close();
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
