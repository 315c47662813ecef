import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WorkspaceDiagnosticReport } from 'vscode-languageserver-protocol';
import { ServerProcess } from './client';

const BROKEN = 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n';
const WHOLE = 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n';
const PULLS = { textDocument: { diagnostic: {} } };

let folder: string;
let server: ServerProcess;
const uriOf = (name: string) => pathToFileURL(join(folder, name)).href;
const put = (name: string, text: string) => writeFileSync(join(folder, name), text);
const started = (capabilities = {}, options = {}) =>
  ServerProcess.start(capabilities, options, [pathToFileURL(folder).href]);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'layout-workspace-'));
  mkdirSync(join(folder, 'deep/er'), { recursive: true });
  mkdirSync(join(folder, 'node_modules/x'), { recursive: true });
  put('broken.layout.yaml', BROKEN);
  put('deep/er/broken.layout.yml', BROKEN);
  put('whole.layout.yaml', WHOLE);
  put('other.yaml', BROKEN);
  put('node_modules/x/broken.layout.yaml', BROKEN);
});

afterEach(async () => {
  expect(await server.stop()).toBe(0);
  rmSync(folder, { recursive: true });
});

const report = (previousResultIds: readonly object[] = []) =>
  server.request<WorkspaceDiagnosticReport>('workspace/diagnostic', { previousResultIds });

describe.skipIf(process.platform === 'win32')('files with more problems than there is room for', () => {
  test('hide nothing of other files, and are reported in bounded size', async () => {
    const modules = Array.from(
      { length: 1000 },
      (_, i) => `  m${i}: {tp: 2, num_ranks: ${4096 - 2 * i}, rank_offset: ${i}}\n`,
    );
    for (let file = 0; file < 20; file++) {
      put(`a${file}.layout.yaml`, `layout: 1\nworld_size: 4096\nmodules:\n${modules.join('')}`);
    }
    put('z.layout.yaml', BROKEN);
    symlinkSync('/dev/zero', join(folder, 'device.layout.yaml'));
    execFileSync('mkfifo', [join(folder, 'fifo.layout.yaml')]);
    server = await started(PULLS);
    const { items } = await report();
    expect(JSON.stringify(items).length).toBeLessThan(24 * 2 ** 20);
    const counts = items.map((item) => ('items' in item ? item.items.length : 0));
    expect(items).toHaveLength(24);
    expect(counts.filter((count) => count === 0)).toHaveLength(1);
    const cut = items.flatMap((item) => ('items' in item && item.items.length === 1 ? item.items : []));
    expect(
      cut.filter(({ message }) => /Open this file to see 999 more: the workspace has too many/.test(String(message)))
        .length,
    ).toBeGreaterThan(2);
    expect(items.find(({ uri }) => uri === uriOf('z.layout.yaml'))).toMatchObject({
      items: [{ code: 'dense-factorization' }],
    });
  }, 120_000);
});

describe('files of the workspace that are not open', () => {
  test('are checked when the server starts, and follow the disk', async () => {
    server = await started();
    expect(await server.diagnostics(uriOf('broken.layout.yaml'), 0)).toHaveLength(1);
    expect(await server.diagnostics(uriOf('deep/er/broken.layout.yml'), 0)).toHaveLength(1);
    put('broken.layout.yaml', WHOLE);
    const emptied = server.nextDiagnostics(uriOf('broken.layout.yaml'));
    await server.changedOnDisk(uriOf('broken.layout.yaml'));
    expect(await emptied).toEqual([]);
    const forgotten = server.nextDiagnostics(uriOf('deep/er/broken.layout.yml'));
    await server.changedOnDisk(uriOf('deep/er/broken.layout.yml'), 3);
    expect(await forgotten).toEqual([]);
    expect(server.publishedUris()).not.toContain(uriOf('other.yaml'));
    expect(server.publishedUris()).not.toContain(uriOf('node_modules/x/broken.layout.yaml'));
  });

  test('have no problems once they are gone, although all that was heard is that they changed', async () => {
    server = await started();
    const uri = uriOf('broken.layout.yaml');
    expect(await server.diagnostics(uri, 0)).toHaveLength(1);
    rmSync(join(folder, 'broken.layout.yaml'));
    const forgotten = server.nextDiagnostics(uri);
    await server.changedOnDisk(uri);
    expect(await forgotten).toEqual([]);
  });

  test('a closed document says again what the disk says', async () => {
    server = await started();
    const uri = uriOf('broken.layout.yaml');
    expect(await server.diagnostics(uri, 0)).toHaveLength(1);
    await server.open(uri, WHOLE);
    expect(await server.diagnostics(uri, 1)).toEqual([]);
    const closed = server.nextDiagnostics(uri);
    await server.close(uri);
    expect(await closed).toHaveLength(1);
  });

  test('can be pulled all at once, and what is known already is not sent again', async () => {
    server = await started(PULLS);
    expect(server.initialized.capabilities.diagnosticProvider).toMatchObject({ workspaceDiagnostics: true });
    const { items } = await report();
    const found = Object.fromEntries(items.map((item) => [item.uri, item.kind === 'full' ? item.items.length : -1]));
    expect(found).toEqual({
      [uriOf('broken.layout.yaml')]: 1,
      [uriOf('deep/er/broken.layout.yml')]: 1,
      [uriOf('whole.layout.yaml')]: 0,
    });
    const again = await report(items.map(({ uri, resultId }) => ({ uri, value: resultId })));
    expect(again.items.map(({ kind }) => kind)).toEqual(['unchanged', 'unchanged', 'unchanged']);
  });

  test('a pull can be cancelled', async () => {
    for (let i = 0; i < 300; i++) {
      put(`many${i}.layout.yaml`, BROKEN);
    }
    server = await started(PULLS);
    const source = server.cancellable<WorkspaceDiagnosticReport>('workspace/diagnostic', { previousResultIds: [] });
    source.cancel();
    await expect(source.answer).rejects.toMatchObject({ code: -32800 });
    expect((await report()).items).toHaveLength(303);
  });

  test('come and go with the folders of the workspace', async () => {
    server = await started({ workspace: { workspaceFolders: true } });
    const uri = uriOf('broken.layout.yaml');
    expect(await server.diagnostics(uri, 0)).toHaveLength(1);
    const change = (event: object) => server.notify('workspace/didChangeWorkspaceFolders', { event });
    const here = [{ uri: pathToFileURL(folder).href, name: 'here' }];
    const gone = server.nextDiagnostics(uri);
    await change({ added: [], removed: here });
    expect(await gone).toEqual([]);
    const back = server.nextDiagnostics(uri);
    await change({ added: here, removed: [] });
    expect(await back).toHaveLength(1);
  });

  test('are left alone where the client asks for that', async () => {
    server = await started(PULLS, { workspaceDiagnostics: false });
    expect(server.initialized.capabilities.diagnosticProvider).toMatchObject({ workspaceDiagnostics: false });
  });
});

test('a pull of an open document that has not changed says so', async () => {
  server = await started(PULLS);
  const { uri } = await server.openMarked(BROKEN);
  const pull = (previousResultId?: string) =>
    server.request<{ kind: string; resultId: string }>('textDocument/diagnostic', {
      textDocument: { uri },
      previousResultId,
    });
  const first = await pull();
  expect(first.kind).toBe('full');
  expect(await pull(first.resultId)).toEqual({ kind: 'unchanged', resultId: first.resultId });
  await server.change(uri, { text: WHOLE });
  expect((await pull(first.resultId)).kind).toBe('full');
});

test('a burst of edits is checked once, and only its last version published', async () => {
  server = await started();
  const { uri } = await server.openMarked(BROKEN);
  await server.diagnostics(uri, 1);
  const before = server.publishedUris().filter((one) => one === uri).length;
  let version = 0;
  for (let i = 0; i < 200; i++) {
    version = await server.change(uri, { text: i % 2 === 0 ? WHOLE : BROKEN });
  }
  expect(await server.diagnostics(uri, version)).toHaveLength(1);
  // the pipe may hand over the burst in a few parts
  expect(server.publishedUris().filter((one) => one === uri).length - before).toBeLessThan(50);
});

test('a check is summed up for a client that asks for that, and for no other', async () => {
  const summaries = async (options: object) => {
    server = await ServerProcess.start({}, options);
    const seen: object[] = [];
    server.connection.onNotification('parallelismLayout/summary', (summary: object) => {
      seen.push(summary);
    });
    const { uri, at } = await server.openMarked(WHOLE);
    await server.diagnostics(uri);
    // what the server sent before it answered has arrived
    await server.request('textDocument/hover', at);
    return seen;
  };
  expect(await summaries({ summaries: true })).toMatchObject([{ ranks: 8, errors: 0, warnings: 0 }]);
  expect(await server.stop()).toBe(0);
  expect(await summaries({})).toEqual([]);
});
