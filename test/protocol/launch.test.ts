import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CodeAction, CodeLens, Diagnostic } from 'vscode-languageserver-protocol';
import { LineIndex } from '../../layout';
import { applied, ServerProcess } from './client';

const LAYOUT = `layout: 1
world_size: 16
launch:
  files: [train.sh]
parallelism:
  tp: 4
  pp: 2
`;

const SCRIPT = `TP=8
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py \\
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size 2 --num-layers \${LAYERS}
`;

let folder: string;
let server: ServerProcess;
const uriOf = (name: string) => pathToFileURL(join(folder, name)).href;
const put = (name: string, text: string) => writeFileSync(join(folder, name), text);
const layout = () => uriOf('jobs/job.layout.yaml');
const script = () => uriOf('jobs/train.sh');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'layout-launch-'));
  mkdirSync(join(folder, 'jobs'));
  put('jobs/train.sh', SCRIPT);
});

afterEach(async () => {
  expect(await server.stop()).toBe(0);
  rmSync(folder, { recursive: true });
});

async function start(capabilities = {}, options = {}): Promise<void> {
  server = await ServerProcess.start(capabilities, options, [pathToFileURL(folder).href]);
}

/** The next published diagnostics of a file that are as wanted. */
async function published(uri: string, isWanted: (found: readonly Diagnostic[]) => boolean): Promise<Diagnostic[]> {
  let found = await server.diagnostics(uri, 0);
  while (!isWanted(found)) {
    found = await server.nextDiagnostics(uri);
  }
  return found;
}

const drift = (found: readonly Diagnostic[]) => found.filter(({ code }) => code === 'launch-drift');
const isDrift = (found: readonly Diagnostic[]) => drift(found).length > 0;
const isClear = (found: readonly Diagnostic[]) => !isDrift(found);
const shown = (text: string, found: readonly Diagnostic[]) => {
  const lines = new LineIndex(text);
  return drift(found).map(
    ({ range, message }) => `${text.slice(lines.offsetAt(range.start), lines.offsetAt(range.end))}: ${message}`,
  );
};

/** The text after an action's edits of one file. */
const changed = (text: string, action: CodeAction | undefined, uri: string) =>
  applied(new LineIndex(text), action?.edit?.changes?.[uri]);

test('a difference is shown on both files and fixed on either', async () => {
  await start();
  await server.open(layout(), LAYOUT);
  const [onLayout, ...others] = drift(await published(layout(), isDrift));
  expect(others).toEqual([]);
  expect(onLayout).toMatchObject({
    severity: 2,
    range: { start: { line: 5, character: 6 }, end: { line: 5, character: 7 } },
    message: 'train.sh says tp 8 (TP, line 1); this layout says tp 4.',
    relatedInformation: [
      {
        message: 'job.layout.yaml says tp 4 (line 6); this file says tp 8.',
        location: { uri: script(), range: { start: { line: 0, character: 3 }, end: { line: 0, character: 4 } } },
      },
    ],
  });
  const [onScript] = await published(script(), isDrift);
  expect(onScript).toMatchObject({
    message: 'job.layout.yaml says tp 4 (line 6); this file says tp 8.',
    relatedInformation: [{ location: { uri: layout() } }],
  });
  const ofScript = 'Change tp to 4 in train.sh, line 1';
  for (const [uri, diagnostic, titles] of [
    [layout(), onLayout, ['Change tp to 8, as train.sh says', ofScript]],
    [script(), onScript, [ofScript, 'Change tp to 8 in job.layout.yaml, as train.sh says']],
  ] as const) {
    const actions = await server.codeActions(uri, diagnostic?.range);
    expect(actions.map(({ title }) => title).filter((title) => title.startsWith('Change tp'))).toEqual(titles);
    const titled = (start: string) => actions.find(({ title }) => title.startsWith(start));
    expect(changed(LAYOUT, titled('Change tp to 8'), layout())).toBe(LAYOUT.replace('tp: 4', 'tp: 8'));
    expect(changed(SCRIPT, titled('Change tp to 4'), script())).toBe(SCRIPT.replace('TP=8', 'TP=4'));
  }
});

test('a layout that is typed into agreement clears both files, at its next version', async () => {
  await start();
  await server.open(layout(), LAYOUT);
  await published(script(), isDrift);
  const range = { start: { line: 5, character: 6 }, end: { line: 5, character: 7 } };
  const version = await server.change(layout(), { range, text: '8' });
  expect(drift(await server.diagnostics(layout(), version))).toEqual([]);
  await published(script(), isClear);
  const again = await server.change(layout(), { range, text: '2' });
  // nothing is read again: the first answer to the change has it
  expect(shown(LAYOUT, await server.diagnostics(layout(), again))).toEqual([
    '4: train.sh says tp 8 (TP, line 1); this layout says tp 2.',
  ]);
  await published(script(), isDrift);
});

test('a lens says whether they match, and what is unknown', async () => {
  put('jobs/same.sh', SCRIPT.replace('TP=8', 'TP=4'));
  await start({}, { commands: { compareLaunchFile: 'compare' } });
  await server.open(layout(), LAYOUT.replace('[train.sh]', '[train.sh, same.sh, none.sh]'));
  const lenses = await server.request<CodeLens[]>('textDocument/codeLens', { textDocument: { uri: layout() } });
  expect(lenses.filter(({ command }) => command?.command === 'compare')).toEqual([
    {
      range: { start: { line: 2, character: 0 }, end: { line: 2, character: 6 } },
      command: { title: '1 difference from train.sh', command: 'compare', arguments: [layout(), script()] },
    },
    {
      range: { start: { line: 2, character: 0 }, end: { line: 2, character: 6 } },
      command: { title: 'matches same.sh', command: 'compare', arguments: [layout(), uriOf('jobs/same.sh')] },
    },
  ]);
});

test('a client is asked to tell of the files, and a change of one that is sourced counts', async () => {
  put('jobs/train.sh', `source env.sh\n${SCRIPT.replace('TP=8\n', '')}`);
  put('jobs/env.sh', 'TP=8\n');
  const asked: unknown[] = [];
  server = new ServerProcess();
  server.connection.onRequest('client/registerCapability', ({ registrations }) => {
    asked.push(...registrations.map(({ registerOptions }: { registerOptions: unknown }) => registerOptions));
  });
  const capabilities = {
    workspace: { didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true } },
  };
  await server.initialize(capabilities, {}, [pathToFileURL(folder).href]);
  await server.open(layout(), LAYOUT);
  expect(shown('TP=8\n', await published(uriOf('jobs/env.sh'), isDrift))).toEqual([
    '8: job.layout.yaml says tp 4 (line 6); this file says tp 8.',
  ]);
  const globs = ['train.sh', 'env.sh'].map((pattern) => ({ globPattern: { baseUri: uriOf('jobs'), pattern } }));
  expect(asked).toEqual(expect.arrayContaining(globs.map((glob) => ({ watchers: expect.arrayContaining([glob]) }))));
  put('jobs/env.sh', 'TP=4\n');
  await server.changedOnDisk(uriOf('jobs/env.sh'));
  await published(uriOf('jobs/env.sh'), isClear);
  await published(layout(), isClear);
});

test('an open launch file counts as the editor has it, and is never checked as a layout', async () => {
  await start();
  await server.open(layout(), LAYOUT);
  await published(script(), isDrift);
  await server.open(script(), SCRIPT, 'shellscript');
  await server.change(script(), { text: SCRIPT.replace('TP=8', 'TP=4') });
  expect(await published(script(), isClear)).toEqual([]);
  await published(layout(), isClear);
  await server.close(script());
  // the disk says 8 as before
  expect(shown(SCRIPT, await published(script(), isDrift))).toEqual([
    '8: job.layout.yaml says tp 4 (line 6); this file says tp 8.',
  ]);
});

test('a client that pulls gets them too, and is asked to pull again once they are known', async () => {
  server = new ServerProcess();
  const refreshed = new Promise<void>((done) => {
    server.connection.onRequest('workspace/diagnostic/refresh', () => done());
  });
  await server.initialize(
    { textDocument: { diagnostic: {} }, workspace: { diagnostics: { refreshSupport: true } } },
    {},
    [pathToFileURL(folder).href],
  );
  await server.open(layout(), LAYOUT);
  const pull = (previousResultId?: string) =>
    server.request<{ resultId: string; kind: string; items: Diagnostic[] }>('textDocument/diagnostic', {
      textDocument: { uri: layout() },
      previousResultId,
    });
  const first = await pull();
  await refreshed;
  const { kind, items, resultId } = await pull(first.resultId);
  expect(kind).toBe('full');
  expect(drift(items)).toHaveLength(1);
  expect(await pull(resultId)).toMatchObject({ kind: 'unchanged' });
});

test('nothing outside the workspace folder is read, and no device or pipe', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'layout-outside-'));
  writeFileSync(join(outside, 'train.sh'), SCRIPT);
  symlinkSync(join(outside, 'train.sh'), join(folder, 'jobs/link.sh'));
  symlinkSync(outside, join(folder, 'jobs/linked'));
  symlinkSync('/dev/zero', join(folder, 'jobs/zero.sh'));
  execFileSync('mkfifo', [join(folder, 'jobs/pipe.sh')]);
  put('jobs/large.sh', `${SCRIPT}#${'x'.repeat(5 * 2 ** 20)}`);
  put('jobs/binary.sh', `${SCRIPT}\0`);
  put('jobs/notes.sh', 'echo hello\n');
  symlinkSync(join(folder, 'jobs/train.sh'), join(folder, 'jobs/inside.sh'));
  const names = ['link.sh', 'linked/train.sh', 'zero.sh', 'pipe.sh', 'large.sh', 'binary.sh', '../../train.sh'];
  const files = [...names, join(outside, 'train.sh'), 'absent.sh', 'job.layout.yaml', 'notes.sh', 'inside.sh'];
  await start();
  const text = LAYOUT.replace('[train.sh]', JSON.stringify(files));
  await server.open(layout(), text);
  const found = await published(layout(), (all) => drift(all).length === files.length);
  const unread = 'it is missing, too large, no text, or outside the workspace folder';
  expect(drift(found).map(({ message }) => message)).toEqual(
    [
      ...files.slice(0, -2).map((name) => `This layout is not compared with ${name}: ${unread}.`),
      'This layout is not compared with notes.sh: it starts no training job that can be read.',
      'train.sh says tp 8 (TP, line 1); this layout says tp 4.',
    ].map((message) => message.replace(/^train.sh/, 'inside.sh')),
  );
  rmSync(outside, { recursive: true });
});

test('launch files are checked themselves where the setting asks for it', async () => {
  const capabilities = { textDocument: { synchronization: { dynamicRegistration: true } } };
  server = new ServerProcess();
  const asked = new Promise<unknown>((done) => {
    server.connection.onRequest('client/registerCapability', ({ registrations }) => done(registrations[0]));
  });
  await server.initialize(capabilities, {}, [pathToFileURL(folder).href]);
  const set = (checkLaunchFiles: boolean) => server.configure({ checkLaunchFiles });
  await set(true);
  expect(await asked).toMatchObject({
    method: 'textDocument/didOpen',
    registerOptions: { documentSelector: [{ language: 'shellscript' }, { language: 'yaml' }] },
  });
  const text = SCRIPT.replace('TP=8', 'TP=3');
  await server.open(script(), text, 'shellscript');
  const found = await published(script(), ({ length }) => length > 0);
  const lines = new LineIndex(text);
  expect(
    found.map(({ code, range }) => [code, text.slice(lines.offsetAt(range.start), lines.offsetAt(range.end))]),
  ).toEqual([['dense-factorization', '3']]);
  await set(false);
  await published(script(), ({ length }) => length === 0);
  await set(true);
  await published(script(), ({ length }) => length > 0);
  await server.change(script(), { text: SCRIPT });
  await published(script(), ({ length }) => length === 0);
});

test('differences go when the layout is closed', async () => {
  await start();
  await server.open(layout(), LAYOUT);
  await published(script(), isDrift);
  await server.close(layout());
  await published(script(), isClear);
});

test('a layout that is not open is compared too, and again when its launch file changes on the disk', async () => {
  put('jobs/job.layout.yaml', LAYOUT);
  await start({}, { workspaceDiagnostics: true });
  expect(shown(LAYOUT, await published(layout(), isDrift))).toEqual([
    '4: train.sh says tp 8 (TP, line 1); this layout says tp 4.',
  ]);
  put('jobs/train.sh', SCRIPT.replace('TP=8', 'TP=4'));
  await server.changedOnDisk(script());
  await published(layout(), isClear);
});

test('a comment of the layout silences a difference on both files, and is offered as a quick fix', async () => {
  await start();
  await server.open(layout(), LAYOUT);
  const [found] = drift(await published(layout(), isDrift));
  await published(script(), isDrift);
  const actions = await server.codeActions(layout(), found?.range);
  const ignore = actions.find(({ title }) => title === 'Ignore launch-drift on this line');
  expect(Object.values(ignore?.edit?.changes ?? {})[0]?.[0]?.newText).toBe(' # layout-ignore: launch-drift');
  const text = LAYOUT.replace('tp: 4', 'tp: 4 # layout-ignore: launch-drift');
  await server.change(layout(), { text });
  expect(await published(layout(), isClear)).toEqual([]);
  await published(script(), isClear);
});
