import { expect, test } from 'vitest';
import { DiagnosticSeverity } from 'vscode-languageserver';
import { marked, textAt, URI } from '../testing';
import { diagnosticsOf } from './diagnostics';

test('a diagnostic names its rule, its page, and on a line of its own what Megatron-LM would say', () => {
  const { checked } = marked('layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n');
  const [diagnostic, ...others] = diagnosticsOf(URI, checked);
  expect(others).toEqual([]);
  expect(diagnostic).toMatchObject({
    code: 'dense-factorization',
    severity: DiagnosticSeverity.Error,
    source: 'parallelism-layout',
    codeDescription: { href: expect.stringMatching(/\/rules\/dense-factorization\.md$/) },
  });
  expect(String(diagnostic?.message).split('\n')).toEqual([
    'tp 3 does not divide 8 ranks. Use tp 1, 2 or 4.',
    'Megatron-LM: world_size (8) is not divisible by 3',
  ]);
  expect(diagnostic && textAt(checked.lines, diagnostic.range)).toBe('3');
});

test('other places that take part are in the same file', () => {
  const { checked } = marked(
    'layout: 1\nworld_size: 8\nmodules:\n  language: {tp: 2, num_ranks: 6}\n  images: {tp: 2, num_ranks: 4, rank_offset: 4}\n',
  );
  const related = diagnosticsOf(URI, checked).flatMap(({ relatedInformation = [] }) => relatedInformation);
  expect(related.map(({ location }) => location.uri)).toContain(URI);
});
