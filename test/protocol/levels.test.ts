import { expect, test } from 'vitest';
import type { DocumentDiagnosticReport } from 'vscode-languageserver-protocol';
import { testServer } from './testServer';

const server = testServer({ textDocument: { diagnostic: {} } });
const WRONG = 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 3|\n';

async function severities(uri: string): Promise<(number | undefined)[]> {
  const report = await server.request<DocumentDiagnosticReport>('textDocument/diagnostic', { textDocument: { uri } });
  return report.kind === 'full' ? report.items.map(({ severity }) => severity) : [];
}

test('settings weigh rules otherwise, at once', async () => {
  const { at } = await server.openMarked(WRONG);
  const { uri } = at.textDocument;
  expect(await severities(uri)).toEqual([1]);
  const configure = (rules: Record<string, string>) => server.configure({ rules });
  await configure({ 'dense-factorization': 'warning' });
  expect(await severities(uri)).toEqual([2]);
  await configure({ 'dense-factorization': 'off' });
  expect(await severities(uri)).toEqual([]);
  await configure({});
  expect(await severities(uri)).toEqual([1]);
});

test('an action silences a rule on its line, and says that Megatron-LM still raises', async () => {
  const { at } = await server.openMarked(WRONG);
  const range = { start: at.position, end: at.position };
  const actions = await server.codeActions(at.textDocument.uri, range);
  const ignore = actions.find(({ title }) => title.startsWith('Ignore'));
  expect(ignore?.title).toBe('Ignore dense-factorization on this line (Megatron-LM still raises)');
  expect(Object.values(ignore?.edit?.changes ?? {})).toEqual([
    [
      {
        range: { start: { line: 3, character: 7 }, end: { line: 3, character: 7 } },
        newText: ' # layout-ignore: dense-factorization',
      },
    ],
  ]);
});
