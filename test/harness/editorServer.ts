// Starts the editor's own server (the one that code-server carries) on a free loopback port.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MODULES = fileURLToPath(new URL('../vscode/node_modules', import.meta.url));

/** The folder of the editor's server. */
export const SERVER_ROOT = join(MODULES, 'code-server', 'lib', 'vscode');

/** The script that is the editor's server, run by Node. */
export const SERVER_MAIN = join(SERVER_ROOT, 'out', 'server-main.js');

const TETHER = fileURLToPath(new URL('tether.ts', import.meta.url));

const SETTINGS = {
  'chat.disableAIFeatures': true,
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'files.autoSave': 'off',
  'files.hotExit': 'off',
  'git.enabled': false,
  'remote.autoForwardPorts': false,
  'telemetry.telemetryLevel': 'off',
  // what a terminal shows is text of the page
  'terminal.integrated.gpuAcceleration': 'off',
  'update.mode': 'none',
  'window.commandCenter': false,
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
};

export interface EditorServerOptions {
  readonly settings?: object;
  /** Variables of the server and of its extension hosts. */
  readonly env?: NodeJS.ProcessEnv;
  readonly extensionsDir?: string;
  /** Ask for workspace trust as on a person's machine; by default every workspace is trusted. */
  readonly trust?: boolean;
}

export interface EditorServer {
  readonly port: number;
  /** The folder where it keeps its data. */
  readonly data: string;
  /** Ends the server and every process that it started. */
  readonly stop: () => Promise<void>;
}

/**
 * Writes the settings of the person, and none of the machine: what tests before have set is gone.
 * @param data the folder where a server keeps its data
 */
export function writeSettings(data: string, settings: object): void {
  for (const [whose, content] of Object.entries({ User: { ...SETTINGS, ...settings }, Machine: {} })) {
    mkdirSync(join(data, 'data', whose), { recursive: true });
    writeFileSync(join(data, 'data', whose, 'settings.json'), JSON.stringify(content));
  }
}

/** What a server without trust is told, and what one with trust is. */
const trustSettings = (trust: boolean): object =>
  trust ? { 'security.workspace.trust.startupPrompt': 'never' } : { 'security.workspace.trust.enabled': false };

/**
 * Starts a server with a data folder of its own.
 * @throws Error where the editor is not installed, with what to do
 */
export async function startEditorServer({
  settings = {},
  env = {},
  extensionsDir,
  trust = false,
}: EditorServerOptions = {}): Promise<EditorServer> {
  if (!existsSync(SERVER_MAIN)) {
    throw new Error('The editor is not installed. Run `npm ci --prefix test/vscode && npm run link:editor` first.');
  }
  const data = mkdtempSync(join(tmpdir(), 'parallelism-layout-editor-'));
  writeSettings(data, { ...trustSettings(trust), ...settings });
  const child = spawn(
    process.execPath,
    [
      ...[TETHER, data, SERVER_MAIN],
      ...['--host', '127.0.0.1', '--port', '0', '--without-connection-token', '--accept-server-license-terms'],
      ...[
        '--enable-smoke-test-driver',
        '--server-data-dir',
        data,
        '--reconnection-grace-time',
        '10',
        '--disable-telemetry',
        '--disable-experiments',
      ],
      ...[
        '--disable-getting-started-override',
        '--skip-welcome',
        '--builtin-extensions-dir',
        join(MODULES, '.builtin'),
      ],
      ...(trust ? [] : ['--disable-workspace-trust']),
      ...(extensionsDir ? ['--extensions-dir', extensionsDir] : []),
    ],
    {
      env: { ...process.env, EXTENSIONS_GALLERY: '{"serviceUrl":""}', ...env },
      // its input is what ties the server to this process: it closes even where this process is killed
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    },
  );
  // whatever ends this process, an interrupt included, ends the server and all that it started
  const endAll = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // no process of its group is left
    }
    rmSync(data, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  process.once('exit', endAll);
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = new Promise((done) => child.once('exit', done));
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
      await gone;
      clearTimeout(timer);
    }
    process.off('exit', endAll);
    endAll();
  };
  try {
    return { port: await announcedPort(child), data, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function announcedPort(child: ChildProcess): Promise<number> {
  let log = '';
  return new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`the editor's server did not start in 60 s:\n${log}`)), 60_000);
    const read = (bytes: Buffer) => {
      log = (log + String(bytes)).slice(-20_000);
      const port = /Web UI available at http:\/\/[^:]+:(\d+)/.exec(log)?.[1];
      if (port) {
        clearTimeout(timer);
        done(Number(port));
      }
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('exit', (code) => {
      clearTimeout(timer);
      fail(new Error(`the editor's server ended with ${code}:\n${log}`));
    });
  });
}
