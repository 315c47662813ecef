// The panel's own page in Chromium, without an editor around it: for tests, pictures and benchmarks. `npm run build` makes the panel.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { importSource } from '../../scripts/source.mts';
import type { PanelState } from '../../webview/panel/state';
import { launchChromium } from '../harness/chromium.ts';
import { type ThemeName, themeOf } from './themes.ts';

export type Engine = typeof import('./engine');

export interface GridOptions {
  readonly theme?: ThemeName;
  readonly width?: number;
  readonly height?: number;
  /** Pixels of the screen to one of the page. */
  readonly scale?: number;
  /** What a person chose before. */
  readonly state?: unknown;
}

/** A page with the panel in it. */
export interface GridPage {
  readonly page: Page;
  /** Errors and violations of the content security policy on the page. */
  readonly errors: readonly Error[];
  /** Sends a message as the editor does and waits until the answer is on the screen. */
  readonly send: (message: unknown) => Promise<void>;
  readonly sendText: (text: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface Grid {
  readonly engine: Engine;
  readonly open: (options?: GridOptions) => Promise<GridPage>;
  readonly close: () => Promise<void>;
}

declare global {
  interface Window {
    /** What the panel told the editor, and the state that it saved last. */
    sent: { readonly type: string }[];
    saved: PanelState;
    acquireVsCodeApi: () => unknown;
  }
}

const ROOT = resolve(import.meta.dirname, '../..');

/** The page's own policy is the panel's: one script and one style sheet, nothing else may run or load. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:";
const ORIGIN = 'http://panel.test';

/** Bundles the engine and starts Chromium, which draws with the processor unless `gpu` asks for more. */
export async function startGrid({ gpu = false } = {}): Promise<Grid> {
  const [engine, script, style] = await Promise.all([
    importSource<Engine>('test/grid/engine.ts'),
    ...['main.js', 'grid.css'].map((name) => readFile(join(ROOT, 'dist/webview', name), 'utf8')),
  ]);
  const browser = await launchChromium({ gpu });
  const open = async ({
    theme = 'dark',
    width = 1200,
    height = 760,
    scale = 1,
    state: chosen = {},
  }: GridOptions = {}): Promise<GridPage> => {
    const { kind, css } = themeOf(theme);
    // a test of one view says which; most are of pictures of ranks
    const state = { view: 'physical', ...Object(chosen) };
    const context = await browser.newContext({ viewport: { width, height }, deviceScaleFactor: scale });
    const page = await context.newPage();
    const errors: Error[] = [];
    page.on('pageerror', (error) => errors.push(error));
    page.on('console', (message) => message.type() === 'error' && errors.push(new Error(message.text())));
    const html = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}"><link rel="stylesheet" href="grid.css"></head><body class="${kind}" data-uri="file:///a.layout.yaml"><main id="app"></main><script src="main.js"></script></body></html>`;
    const files: Readonly<Record<string, readonly [string, string]>> = {
      '/': ['text/html', html],
      '/main.js': ['text/javascript', script ?? ''],
      '/grid.css': ['text/css', css + style],
      '/favicon.ico': ['image/x-icon', ''],
    };
    await page.route(`${ORIGIN}/**`, (route) => {
      const [contentType, body] = files[new URL(route.request().url()).pathname] ?? ['text/plain', ''];
      return route.fulfill({ contentType, body });
    });
    await page.addInitScript((saved) => {
      window.sent = [];
      let current = saved;
      window.acquireVsCodeApi = () => ({
        postMessage: (message: { type: string }) => window.sent.push(message),
        getState: () => current,
        setState: (next: PanelState) => {
          current = next;
          window.saved = next;
        },
      });
    }, state);
    await page.goto(`${ORIGIN}/`);
    const send = async (message: unknown) => {
      await page.evaluate((data) => window.dispatchEvent(new MessageEvent('message', { data })), message);
      await drawn(page);
    };
    const sendText = (text: string) => send(engine.layoutMessage(text, 'a.layout.yaml'));
    return { page, errors, send, sendText, close: () => context.close() };
  };
  return { engine, open, close: () => browser.close() };
}

/** Waits for two frames of a page. */
export const drawn = (page: Page): Promise<void> =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));

/** A layout of one grid over nodes of eight GPUs. */
export function layoutText(name: string, nodes: number, degrees: Readonly<Record<string, number>>, rest = ''): string {
  const keys = Object.entries(degrees).map(([key, size]) => `  ${key}: ${size}\n`);
  return `layout: 1\nname: ${name}\nworld_size: ${nodes * 8}\n\ncluster:\n  nodes: ${nodes}\n  gpus_per_node: 8\n\nparallelism:\n${keys.join('')}${rest}`;
}
