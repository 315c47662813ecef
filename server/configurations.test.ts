import { describe, expect, test } from 'vitest';
import type { Connection, Diagnostic } from 'vscode-languageserver';
import { CONFIGURATION, type RuleLevels } from '../layout';
import { Configurations } from './configurations';
import { SharedDiagnostics } from './features/sharedDiagnostics';
import type { Files } from './files';

const LAYOUT = 'file:///work/jobs/a.layout.yaml';

/** Configurations over some files, with what was read and sent. */
function over(texts: Record<string, string>) {
  const reads: string[] = [];
  const sent = new Map<string, readonly Diagnostic[]>();
  const files: Files = {
    async *list() {},
    read: async () => null,
    readWithin: async (uri) => {
      reads.push(uri);
      return texts[uri] ?? null;
    },
    normal: (uri) => uri,
  };
  const connection = {
    sendDiagnostics: ({ uri, diagnostics }: { uri: string; diagnostics: Diagnostic[] }) => sent.set(uri, diagnostics),
  } as unknown as Connection;
  return { configurations: new Configurations(connection, new SharedDiagnostics(connection), files), reads, sent };
}

const at = (folder: string) => `file:///${folder}${CONFIGURATION}`;
const shown = (levels: RuleLevels) => Object.fromEntries(levels);

async function levels(configurations: Configurations, uri = LAYOUT) {
  await configurations.ready(uri);
  return shown(configurations.levels(uri));
}

describe('the configuration of a layout', () => {
  test('is the nearest one in its folder or above', async () => {
    const { configurations } = over({
      [at('work/')]: 'rules: {dense-factorization: off}',
      [at('')]: 'rules: {tp-crosses-nvlink: off}',
    });
    expect(await levels(configurations)).toEqual({ 'dense-factorization': 'off' });
    expect(await levels(configurations, 'file:///other/a.layout.yaml')).toEqual({ 'tp-crosses-nvlink': 'off' });
  });

  test('is looked for no further than the repository', async () => {
    for (const name of ['.git/HEAD', '.git']) {
      const { configurations } = over({ [`file:///work/${name}`]: '', [at('')]: 'rules: {tp-crosses-nvlink: off}' });
      expect(await levels(configurations)).toEqual({});
    }
  });

  test('is looked for once a folder, however many layouts ask', async () => {
    const { configurations, reads } = over({});
    await Promise.all([levels(configurations), levels(configurations, 'file:///work/jobs/b.layout.yaml')]);
    await levels(configurations, 'file:///work/c.layout.yaml');
    const configurationsRead = reads.filter((uri) => !uri.includes('/.git'));
    expect(configurationsRead.toSorted()).toEqual([at(''), at('work/'), at('work/jobs/')]);
    expect(new Set(reads).size).toBe(reads.length);
  });

  test('is looked for up to the folder of the workspace on other file systems than the disk', async () => {
    const { configurations, reads } = over({});
    const remote = 'vscode-vfs://github/owner/repo';
    configurations.changeFolders([{ uri: remote, name: 'repo' }], []);
    await levels(configurations, `${remote}/jobs/a.layout.yaml`);
    expect(reads).toEqual([`${remote}/jobs/${CONFIGURATION}`, `${remote}/${CONFIGURATION}`]);
  });

  test('lies under the settings, which are in force before it is read', async () => {
    const { configurations } = over({ [at('work/')]: 'rules: {dense-factorization: off, tp-crosses-nvlink: error}' });
    configurations.setSettings(new Map([['dense-factorization', 'warning']]));
    expect(configurations.isKnown(LAYOUT)).toBe(false);
    expect(shown(configurations.levels(LAYOUT))).toEqual({ 'dense-factorization': 'warning' });
    expect(await levels(configurations)).toEqual({ 'dense-factorization': 'warning', 'tp-crosses-nvlink': 'error' });
  });

  test('is read again once it has changed', async () => {
    const texts: Record<string, string> = { [at('work/')]: 'rules: {dense-factorization: off}' };
    const { configurations } = over(texts);
    const changes: number[] = [];
    configurations.onDidChange(() => changes.push(1));
    await levels(configurations);
    texts[at('work/jobs/')] = 'rules: {dense-factorization: error}';
    configurations.changedOnDisk('file:///work/jobs/other.yaml');
    expect([await levels(configurations), changes.length]).toEqual([{ 'dense-factorization': 'off' }, 0]);
    configurations.changedOnDisk(at('work/jobs/'));
    expect([await levels(configurations), changes.length]).toEqual([{ 'dense-factorization': 'error' }, 1]);
  });

  test('says what is wrong with it, in it, and no longer once that is put right', async () => {
    const texts: Record<string, string> = { [at('work/')]: 'rules: {no-rule: off}' };
    const { configurations, sent } = over(texts);
    await levels(configurations);
    expect(sent.get(at('work/'))?.map(({ message }) => message)).toEqual([
      `${CONFIGURATION}: there is no rule 'no-rule'`,
    ]);
    texts[at('work/')] = '';
    configurations.changedOnDisk(at('work/'));
    await levels(configurations);
    expect(sent.get(at('work/'))).toEqual([]);
  });

  test('of a layout that is nowhere saved yet is that of the settings', async () => {
    const { configurations, reads } = over({ [at('')]: 'rules: {dense-factorization: off}' });
    expect(await levels(configurations, 'untitled:/work/a.layout.yaml')).toEqual({});
    expect(reads).toEqual([]);
  });
});
