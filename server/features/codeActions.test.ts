import { expect, test } from 'vitest';
import { edited, marked, URI } from '../testing';
import { codeActions, isWanted } from './codeActions';

/** The actions at the mark with what each makes of the line. */
function actions(text: string, only?: readonly string[]): string[] {
  const { checked, position } = marked(text);
  const before = checked.text.split('\n');
  return codeActions(URI, checked, { start: position, end: position }, only).map(({ title, edit }) => {
    const after = edited(checked.lines, edit?.changes?.[URI] ?? []).split('\n');
    return `${title}: ${after.find((line, i) => line !== before[i]) ?? ''}`;
  });
}

const WRONG = 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 3|\n';

test('the fixes of a diagnostic, and a comment that silences it', () => {
  expect(actions(WRONG, ['quickfix'])).toEqual([
    'Change tp to 2:   tp: 2',
    'Change tp to 4:   tp: 4',
    'Change tp to 1:   tp: 1',
    'Change world_size to 9: world_size: 9',
    'Change world_size to 6: world_size: 6',
    'Ignore dense-factorization on this line (Megatron-LM still raises):   tp: 3 # layout-ignore: dense-factorization',
  ]);
});

test('nothing where nothing is wrong', () => {
  expect(actions('layout: 1|\nworld_size: 8\n', ['quickfix'])).toEqual([]);
});

test('safe fixes alone are applied together', () => {
  expect(actions('layout: 1\nworld_size: 8\nparalelism:\n  tp: 2|\n', ['source.fixAll'])).toEqual([
    'Fix all unambiguous problems: parallelism:',
  ]);
});

test('a kind is wanted by its name, or by that of a kind above it', () => {
  expect([isWanted('quickfix'), isWanted('source.fixAll', ['source']), isWanted('quickfix', ['source'])]).toEqual([
    true,
    true,
    false,
  ]);
});
