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

test('what a feature says of all files takes the place of what it said, and of nothing else', () => {
  const sent: string[] = [];
  const sendDiagnostics = ({ uri, diagnostics }: PublishDiagnosticsParams) =>
    sent.push([uri, ...diagnostics.map(({ message }) => message)].join(' '));
  const shared = new SharedDiagnostics({ sendDiagnostics } as unknown as Connection);
  shared.setAll('drift', new Map([['a', [diagnostic('tp differs')]]]));
  shared.set('check', 'a', [diagnostic('tp does not divide')]);
  shared.setAll('drift', new Map([['b', [diagnostic('pp differs')]]]));
  shared.setAll('drift');
  expect(sent).toEqual([
    'a tp differs',
    'a tp differs tp does not divide',
    'a tp does not divide',
    'b pp differs',
    'b',
  ]);
});
