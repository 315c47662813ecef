import { expect, test } from 'vitest';
import type { Connection, Diagnostic } from 'vscode-languageserver';
import { Configurations } from '../configurations';
import { Documents } from '../documents';
import type { Files } from '../files';
import { SharedDiagnostics } from './sharedDiagnostics';
import { Workspace } from './workspaceDiagnostics';

const FOLDER = 'file:///jobs';
const NAMES = ['a', 'b', 'c'].map((name) => `${FOLDER}/${name}.layout.yaml`);

const files: Files = {
  async *list() {
    yield* NAMES;
  },
  read: async () => 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n',
  readWithin: async () => null,
  normal: (uri) => uri,
};

test('a layout that the server fails on says so, and hides no other', async () => {
  const sent = new Map<string, readonly Diagnostic[]>();
  const connection = {
    sendDiagnostics: ({ uri, diagnostics }: { uri: string; diagnostics: Diagnostic[] }) => sent.set(uri, diagnostics),
  } as unknown as Connection;
  const documents = new Documents(new Configurations(connection, new SharedDiagnostics(connection), files));
  const workspace = new Workspace(connection, documents, files, true, async (uri) => {
    if (uri === NAMES[1]) {
      throw new RangeError('Maximum call stack size exceeded');
    }
    return { diagnostics: [], dependencies: [] };
  });
  await workspace.changeFolders([{ uri: FOLDER, name: 'jobs' }], []);
  expect([...sent].map(([uri, diagnostics]) => [uri, diagnostics.map(({ code, message }) => code ?? message)])).toEqual(
    [
      [NAMES[0], ['dense-factorization']],
      [NAMES[1], ['This file cannot be checked: Maximum call stack size exceeded']],
      [NAMES[2], ['dense-factorization']],
    ],
  );
});
