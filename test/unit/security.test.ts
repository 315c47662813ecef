import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { programEnvironment } from '../../jobs/programEnvironment';

/** The source files of some rooms, without their tests. */
const sources = (...folders: readonly string[]) =>
  folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'));

/** Every way in which code of ours starts a process, or has the editor start one. */
const STARTS =
  /(?<!\.)\b(spawn|spawnSync|exec|execSync|execFile|execFileSync|execute)\(|\bnew vscode\.(Process|Shell)Execution\b|createTerminal\(|\bnew LanguageClient\(|'vscode\.git'/;

/** The files that start processes, and what they start: a new one must say here what a workspace can do to it. */
const PLACES: Readonly<Record<string, string>> = {
  'cli/mcp.ts': 'this program, on a text that the client sends',
  'client/grid/lastCommit.ts': 'git, by the extension of the editor, which is off in a workspace that is not trusted',
  'client/jobs/terminal.ts': 'no process: a terminal that shows a log',
  'client/platform/nodeClient.ts': 'the language server, in the folder of the extension',
  'client/platform/web.ts': 'no process: the language server as a worker of the browser',
  'client/tasks.ts': 'this program on layout files, as a task that a person starts',
  'client/verify/commandLine.ts': 'this program on files that a person chooses, in a trusted workspace',
  'jobs/kubernetes/kubectl.ts': 'kubectl on PATH, after a person starts a job on a cluster of the user settings',
  'jobs/local/backend.ts': 'the interpreter of the user settings or on PATH, after a person starts a job',
  'jobs/observeScript.ts':
    'a script that a person names with import --run, or agrees to run in a trusted workspace, with stubs for the programs on its PATH',
  'jobs/slurm/shell.ts': 'sh, or ssh on PATH, after a person starts a job on a cluster of the user settings',
};

test('processes start in known places only', () => {
  const starting = sources('client', 'server', 'jobs', 'cli', 'layout', 'picture').filter((path) => {
    const text = readFileSync(path, 'utf8');
    return /child_process|vscode/.test(text) && STARTS.test(text);
  });
  expect(starting.map((path) => path.replaceAll('\\', '/')).sort()).toEqual(Object.keys(PLACES));
});

test('no process of ours takes modules that NODE_OPTIONS names from the folder of a workspace', () => {
  const places = ['client/platform/nodeClient.ts', 'client/tasks.ts', 'client/verify/commandLine.ts'];
  expect(places.filter((path) => !readFileSync(path, 'utf8').includes("NODE_OPTIONS: ''"))).toEqual([]);
});

test("settings that name a program or a host are the user's own, and ignored without trust", () => {
  const { contributes, capabilities } = JSON.parse(readFileSync('package.json', 'utf8'));
  const sections = [contributes.configuration].flat() as { properties: Record<string, { scope?: string }> }[];
  const machine = sections.flatMap(({ properties }) =>
    Object.entries(properties).flatMap(([key, { scope }]) => (scope === 'machine' ? [key] : [])),
  );
  expect(machine.sort()).toEqual(['parallelismLayout.clusters', 'parallelismLayout.python']);
  expect(capabilities.untrustedWorkspaces).toMatchObject({ supported: 'limited' });
  expect([...capabilities.untrustedWorkspaces.restrictedConfigurations].sort()).toEqual(machine);
});

test.skipIf(process.platform === 'win32')('a program of the current directory is never found on PATH', () => {
  const folder = mkdtempSync(join(tmpdir(), 'path-'));
  const path = process.env.PATH;
  try {
    writeFileSync(join(folder, 'kubectl'), '#!/bin/sh\necho pwned\n', { mode: 0o755 });
    process.env.PATH = ['', '.', 'bin', '/usr/bin', '/bin'].join(delimiter);
    const env = programEnvironment();
    expect(env.PATH).toBe(['/usr/bin', '/bin'].join(delimiter));
    expect(
      execFileSync('sh', ['-c', 'command -v kubectl || echo none'], { cwd: folder, env }).toString(),
    ).not.toContain('./');
  } finally {
    process.env.PATH = path;
    rmSync(folder, { recursive: true });
  }
});

test('only the place that escapes its text shows notifications and progress', () => {
  const calls = /\bwindow\s*\.(show(Information|Warning|Error)Message|withProgress)\b/;
  const callers = sources('client').filter((path) => calls.test(readFileSync(path, 'utf8')));
  expect(callers).toEqual(['client/notifications.ts']);
});

/** Pick lists and lenses show icons for `$(name)`: those without a text of a file say here what they hold. */
const OWN_TEXTS: Readonly<Record<string, string>> = {
  'client/addModel.ts': 'the names of the table of models',
  'client/grid/compareBase.ts': 'the items of client/layoutDocument.ts',
  'client/planLayouts.ts': 'numbers, and keys that a change needs',
};

test('texts of files are escaped in every pick list and lens', () => {
  const shown = sources('client').filter((path) =>
    /showQuickPick\(|new vscode\.CodeLens\(/.test(readFileSync(path, 'utf8')),
  );
  const bare = shown.filter((path) => !readFileSync(path, 'utf8').includes('workbenchText('));
  expect(bare.map((path) => path.replaceAll('\\', '/')).sort()).toEqual(Object.keys(OWN_TEXTS));
});

test('no Markdown of the editor is trusted: a link in it would run commands', () => {
  const trusted = sources('client', 'server').filter((path) =>
    /isTrusted\s*[:=]|supportHtml/.test(readFileSync(path, 'utf8')),
  );
  expect(trusted).toEqual([]);
});

test('one place hands Markdown to an editor, and nothing else makes any by hand', () => {
  const found = sources('server', 'client').flatMap((path) => {
    const text = readFileSync(path, 'utf8');
    const isOwn = path.replaceAll('\\', '/') === 'server/markup.ts';
    const hands = /MarkupKind\.Markdown|MarkdownString\(|kind: 'markdown'/.test(text) && !isOwn;
    // emphasis, code or the target of a link around a value, without the tag that escapes it
    const byHand = /(?<!markdown)`[^`$]*(?:\*\*|\]\(|\\`)\$\{/.test(text) && path.startsWith('server');
    const trusted = /trusted\(`/.test(text);
    return hands || byHand || trusted ? [path] : [];
  });
  expect(found).toEqual([]);
});

test('workflows name the commits of the actions that they run, and the action installs its own revision', () => {
  const used = readdirSync('.github/workflows').flatMap((name) =>
    [...readFileSync(join('.github/workflows', name), 'utf8').matchAll(/uses: (\S+)/g)].map(
      ([, action = '']) => action,
    ),
  );
  expect(used.length).toBeGreaterThan(5);
  expect(used.filter((action) => !/^\.|@[0-9a-f]{40}$/.test(action))).toEqual([]);
  const action = readFileSync('action.yml', 'utf8');
  expect(action).toContain(`LAYOUT_SOURCE: \${{ github.action_path }}\n`);
  // the lock file decides what is installed with it, and nothing of that runs
  expect(action.match(/(?<=^ +)npm .*/gm)).toEqual([
    'npm ci --ignore-scripts --no-audit --no-fund',
    'npm run --silent package -- npm',
    'npm install --global --ignore-scripts --no-audit --no-fund "$LAYOUT_PACKAGE"',
  ]);
});

test('SECURITY.md names tests for every promise, and all of them are there', () => {
  const page = readFileSync('SECURITY.md', 'utf8');
  const promises = [...page.matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) => number);
  const rows = [...page.matchAll(/^\| (\d+) \|.*\| (.+) \|$/gm)];
  expect([...new Set(rows.map(([, number]) => number))]).toEqual(promises);
  const named = rows.flatMap(([, , tests = '']) => [...tests.matchAll(/`([^`]+)`/g)].map(([, path]) => path ?? ''));
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});
