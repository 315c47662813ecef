// The panel's own page in Chromium, without an editor around it: for screenshots and benchmarks.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import esbuild from 'esbuild';
import { chromium } from 'playwright-core';
import { PANEL } from '../../scripts/bundles.mjs';

const ROOT = new URL('../../', import.meta.url).pathname;

/** The values that VS Code's own themes give the variables that the panel reads. */
export const THEMES = {
  dark: {
    kind: 'vscode-dark',
    variables: {
      'editor-background': '#1f1f1f',
      'editor-foreground': '#cccccc',
      descriptionForeground: '#9d9d9d',
      'panel-border': '#2b2b2b',
      focusBorder: '#0078d4',
      errorForeground: '#f85149',
      'editorWarning-foreground': '#cca700',
      'button-background': '#0078d4',
      'button-foreground': '#ffffff',
      'button-secondaryBackground': '#313131',
      'button-secondaryForeground': '#cccccc',
      'toolbar-hoverBackground': 'rgba(90, 93, 94, 0.31)',
      'input-background': '#313131',
      'input-foreground': '#cccccc',
      'input-border': '#3c3c3c',
      'dropdown-background': '#313131',
      'dropdown-foreground': '#cccccc',
      'dropdown-border': '#3c3c3c',
      'textLink-foreground': '#4daafc',
      'list-hoverBackground': '#2a2d2e',
      'list-activeSelectionBackground': '#04395e',
      'list-activeSelectionForeground': '#ffffff',
      'inputValidation-errorBackground': '#5a1d1d',
      'inputValidation-errorBorder': '#be1100',
    },
  },
  light: {
    kind: 'vscode-light',
    variables: {
      'editor-background': '#ffffff',
      'editor-foreground': '#3b3b3b',
      descriptionForeground: '#3b3b3b',
      'panel-border': '#e5e5e5',
      focusBorder: '#005fb8',
      errorForeground: '#f85149',
      'editorWarning-foreground': '#bf8803',
      'button-background': '#005fb8',
      'button-foreground': '#ffffff',
      'button-secondaryBackground': '#e5e5e5',
      'button-secondaryForeground': '#3b3b3b',
      'toolbar-hoverBackground': 'rgba(184, 184, 184, 0.31)',
      'input-background': '#ffffff',
      'input-foreground': '#3b3b3b',
      'input-border': '#cecece',
      'dropdown-background': '#ffffff',
      'dropdown-foreground': '#3b3b3b',
      'dropdown-border': '#cecece',
      'textLink-foreground': '#005fb8',
      'list-hoverBackground': '#f2f2f2',
      'list-activeSelectionBackground': '#e8e8e8',
      'list-activeSelectionForeground': '#000000',
      'inputValidation-errorBackground': '#f2dede',
      'inputValidation-errorBorder': '#be1100',
    },
  },
  'high-contrast': {
    kind: 'vscode-high-contrast',
    variables: {
      'editor-background': '#000000',
      'editor-foreground': '#ffffff',
      descriptionForeground: 'rgba(255, 255, 255, 0.7)',
      'panel-border': '#6fc3df',
      contrastBorder: '#6fc3df',
      contrastActiveBorder: '#f38518',
      focusBorder: '#f38518',
      errorForeground: '#f48771',
      'editorWarning-foreground': '#ffd370',
      'button-background': '#000000',
      'button-foreground': '#ffffff',
      'button-secondaryForeground': '#ffffff',
      'input-background': '#000000',
      'input-foreground': '#ffffff',
      'input-border': '#6fc3df',
      'dropdown-background': '#000000',
      'dropdown-foreground': '#ffffff',
      'dropdown-border': '#6fc3df',
      'textLink-foreground': '#21a6ff',
      'list-hoverBackground': 'rgba(255, 255, 255, 0.1)',
      'inputValidation-errorBackground': '#000000',
      'inputValidation-errorBorder': '#6fc3df',
    },
  },
  'high-contrast-light': {
    kind: 'vscode-high-contrast vscode-high-contrast-light',
    variables: {
      'editor-background': '#ffffff',
      'editor-foreground': '#292929',
      descriptionForeground: 'rgba(41, 41, 41, 0.7)',
      'panel-border': '#0f4a85',
      contrastBorder: '#0f4a85',
      contrastActiveBorder: '#006bbd',
      focusBorder: '#006bbd',
      errorForeground: '#b5200d',
      'editorWarning-foreground': '#895503',
      'button-background': '#0f4a85',
      'button-foreground': '#ffffff',
      'button-secondaryBackground': '#ffffff',
      'button-secondaryForeground': '#292929',
      'input-background': '#ffffff',
      'input-foreground': '#292929',
      'input-border': '#0f4a85',
      'dropdown-background': '#ffffff',
      'dropdown-foreground': '#292929',
      'dropdown-border': '#0f4a85',
      'textLink-foreground': '#0f4a85',
      'list-hoverBackground': 'rgba(15, 74, 133, 0.1)',
      'list-activeSelectionBackground': 'rgba(15, 74, 133, 0.1)',
      'list-activeSelectionForeground': '#292929',
      'inputValidation-errorBackground': '#ffffff',
      'inputValidation-errorBorder': '#0f4a85',
    },
  },
};

/** The page's own policy is the panel's: one script and one style sheet, nothing else may run or load. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:";
const ORIGIN = 'http://panel.test';

/** What the tests need of the engine, and the messages that the editor makes with it. */
const ENGINE = `
export * from './layout';
import { check } from './layout';
import { layoutMessage as message } from './client/grid/messages';
export const layoutMessage = (text, title) => message(check(text), title);
export { physicalPlacement } from './picture/physical';
`;

/**
 * Bundles the panel and the engine and starts Chromium.
 * @returns `check` and more of the engine, `open` for a page with the panel in it, and `close`
 */
export async function startGrid() {
  const work = await mkdtemp(join(tmpdir(), 'parallelism-layout-grid-'));
  const common = {
    bundle: true,
    minify: true,
    mainFields: ['module', 'main'],
    logLevel: 'error',
    absWorkingDir: ROOT,
  };
  const stdin = { contents: ENGINE, resolveDir: ROOT, loader: 'ts' };
  await Promise.all([
    esbuild.build({ ...common, ...PANEL, outdir: work }),
    esbuild.build({ ...common, stdin, outfile: join(work, 'engine.mjs'), format: 'esm' }),
  ]);
  const engine = await import(pathToFileURL(join(work, 'engine.mjs')).href);
  const [script, style] = await Promise.all([
    readFile(join(work, 'main.js'), 'utf8'),
    readFile(join(work, 'grid.css'), 'utf8'),
  ]);
  await rm(work, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic', '--no-first-run'],
  });
  const open = async ({ theme = 'dark', width = 1200, height = 760, scale = 1, state = {} } = {}) => {
    const { kind, variables } = THEMES[theme];
    const context = await browser.newContext({ viewport: { width, height }, deviceScaleFactor: scale });
    const page = await context.newPage();
    const errors = [];
    page.on('pageerror', (error) => errors.push(error));
    page.on('console', (message) => message.type() === 'error' && errors.push(new Error(message.text())));
    const css = Object.entries(variables).map(([name, value]) => `--vscode-${name}: ${value};`);
    const root = `:root { --vscode-font-family: system-ui, sans-serif; --vscode-font-size: 13px; ${css.join(' ')} }`;
    const html = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}"><link rel="stylesheet" href="grid.css"></head><body class="${kind}" data-uri="file:///a.layout.yaml"><main id="app"></main><script src="main.js"></script></body></html>`;
    const files = {
      '/': ['text/html', html],
      '/main.js': ['text/javascript', script],
      '/grid.css': ['text/css', root + style],
      '/favicon.ico': ['image/x-icon', ''],
    };
    await page.route(`${ORIGIN}/**`, (route) => {
      const [contentType, body] = files[new URL(route.request().url()).pathname] ?? ['text/plain', ''];
      return route.fulfill({ contentType, body });
    });
    await page.addInitScript((saved) => {
      window.sent = [];
      let state = saved;
      window.acquireVsCodeApi = () => ({
        postMessage: (message) => window.sent.push(message),
        getState: () => state,
        setState: (next) => {
          state = next;
          window.saved = next;
        },
      });
    }, state);
    await page.goto(`${ORIGIN}/`);
    /** Sends a message as the editor does and waits until the answer is on the screen. */
    const send = async (message) => {
      await page.evaluate((data) => window.dispatchEvent(new MessageEvent('message', { data })), message);
      await drawn(page);
    };
    const sendText = (text) => send(engine.layoutMessage(text, 'a.layout.yaml'));
    return { page, errors, send, sendText, close: () => context.close() };
  };
  return { engine, open, close: () => browser.close() };
}

/** Waits until what has happened on a page is drawn. */
export const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** A layout of one grid over nodes of eight GPUs. */
export function layoutText(name, nodes, degrees, rest = '') {
  const keys = Object.entries(degrees).map(([key, size]) => `  ${key}: ${size}\n`);
  return (
    `layout: 1\nname: ${name}\nworld_size: ${nodes * 8}\n\ncluster:\n  nodes: ${nodes}\n  gpus_per_node: 8\n\n` +
    `parallelism:\n${keys.join('')}${rest}`
  );
}
