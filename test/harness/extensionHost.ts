// Runs a test module inside the editor's real extension host, with a page in Chromium as the window.
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from './chromium.ts';
import { type EditorServer, startEditorServer } from './editorServer.ts';

const TIMEOUT = 600_000;

/** Makes the editor run the extension in its web host, although there is a server that could. */
const IN_WEB = { 'remote.extensionKind': { 'parallelism-layout.parallelism-layout': ['web'] } };

/** The prefix of the tests' lines on the console. */
const PREFIX = 'tests: ';

export interface HostedTests {
  /** The folder of the extension. */
  readonly extension: string;
  /** The module whose `run` holds the tests. */
  readonly tests: string;
  /** The folder or workspace that is opened. */
  readonly workspace: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly trust?: boolean;
  /** The extension and its tests run in the browser's own extension host, as on a page without a server. */
  readonly web?: boolean;
  /** Takes the output of the tests, which is printed otherwise. */
  readonly report?: (output: string) => void;
}

/** Gives the exit code of the tests. */
export async function runInExtensionHost(hosted: HostedTests): Promise<number> {
  const { extension, tests, workspace, env, trust = false, web = false, report } = hosted;
  const work = mkdtempSync(join(tmpdir(), 'parallelism-layout-host-'));
  const output = join(work, 'tests.txt');
  const log = process.env.EDITOR_LOG ?? join(work, 'editor.log');
  writeFileSync(output, '');
  writeFileSync(log, '');
  let server: EditorServer | undefined;
  let browser: Browser | undefined;
  try {
    server = await startEditorServer({
      settings: web ? IN_WEB : {},
      trust,
      env: { TEST_OUTPUT: output, ...env },
    });
    browser = await launchChromium();
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const ended = exitCode(page, log, output);
    const authority = `127.0.0.1:${server.port}`;
    const remote = (path: string) => `vscode-remote://${authority}${resolve(path)}`;
    const url = new URL(`http://${authority}/`);
    url.searchParams.set(workspace.endsWith('.code-workspace') ? 'workspace' : 'folder', resolve(workspace));
    url.searchParams.set(
      'payload',
      JSON.stringify([
        ['extensionDevelopmentPath', remote(extension)],
        ['extensionTestsPath', remote(tests)],
        ['skipWelcome', 'true'],
      ]),
    );
    // a busy machine may take longer to load the window than the driver waits by default
    await page.goto(url.href, { waitUntil: 'commit', timeout: TIMEOUT });
    const code = await ended;
    if (code !== 0) {
      const errors = readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('[error]'));
      console.error(errors.slice(-30).join('\n'));
    }
    return code;
  } finally {
    await browser?.close();
    await server?.stop();
    (report ?? ((text: string) => process.stdout.write(text)))(readFileSync(output, 'utf8'));
    rmSync(work, { recursive: true, force: true });
  }
}

/** The workbench reports the end of the tests through functions that the page offers it. */
function exitCode(page: Page, log: string, output: string): Promise<number> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`the tests did not end within ${TIMEOUT / 1000} s`)), TIMEOUT);
    page.exposeFunction('codeAutomationLog', (type: string, args: unknown[]) => {
      const text = args.map(String).join(' ');
      // a worker writes no files, so its tests write to the console
      if (text.startsWith(PREFIX)) {
        appendFileSync(output, `${text.slice(PREFIX.length)}\n`);
      }
      appendFileSync(log, `[${type}] ${text}\n`);
    });
    page.exposeFunction('codeAutomationExit', (code: number) => {
      clearTimeout(timer);
      done(code);
    });
    page.on('crash', () => fail(new Error('the page crashed')));
  });
}
