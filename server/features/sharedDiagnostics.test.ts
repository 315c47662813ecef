import { expect, test } from 'vitest';
import type { Connection, Diagnostic, PublishDiagnosticsParams } from 'vscode-languageserver';
import { URI } from '../testing';
import { SharedDiagnostics } from './sharedDiagnostics';

const diagnostic = (message: string): Diagnostic => ({
  message,
  range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } },
});

test('what is sent of a file is what all features say of it, and only after a change', () => {
  const sent: string[][] = [];
  const sendDiagnostics = ({ diagnostics }: PublishDiagnosticsParams) =>
    sent.push(diagnostics.map(({ message }) => String(message)));
  const shared = new SharedDiagnostics({ sendDiagnostics } as unknown as Connection);
  shared.set('drift', URI, []);
  expect(sent).toEqual([]);
  shared.set('drift', URI, [diagnostic('tp differs')]);
  shared.set('check', URI, [diagnostic('tp does not divide')]);
  shared.set('check', URI, [diagnostic('tp does not divide')]);
  shared.set('drift', URI, []);
  shared.set('check', URI, []);
  expect(sent).toEqual([['tp differs'], ['tp differs', 'tp does not divide'], ['tp does not divide'], []]);
});
