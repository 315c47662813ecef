import { expect, test } from 'vitest';
import { applyAllFixes, applySafeFixes, bringsNoError, check, levelsOfSettings, soundFixes } from '.';

const TEXT = 'layout: 1\nworld_size: 16\nparallelism: {tp: 3, dp: 2}\n';

test('safe fixes are applied one after the other, suggestions are not', () => {
  expect(applySafeFixes(check('layout: 1\nwrold_size: 8\nparallelism: {tp: "2"}\n'))).toEqual({
    text: 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n',
    fixes: [
      { code: 'unknown-key', title: 'Rename to world_size', line: 2 },
      { code: 'wrong-type', title: 'Change to 2', line: 3 },
    ],
  });
  expect(applySafeFixes(check('layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n')).text).toContain('tp: 3');
});

test('a fix that brings an error is left out', () => {
  expect([...soundFixes(check(TEXT)).values()].flat()).toEqual([]);
});

test('where the first fix does not hold, the next one is applied', () => {
  const text =
    'layout: 1\nworld_size: 8\nparallelism: {pp: 2}\nfsdp: {torch_fsdp2: true}\noptimizer: {use_distributed_optimizer: true}\n';
  expect(applyAllFixes(check(text)).text).toBe(text.replace('torch_fsdp2: true', ''));
});

test('a fix is judged with the severities of the file', () => {
  const levels = levelsOfSettings({ 'dense-product': 'off' });
  const checked = check(TEXT, levels);
  expect([...soundFixes(checked).values()].flat().map(({ title }) => title)).toContain('Change tp to 4');
});

test.each([
  ['a flag with a wrong number', 'parallelism: {tensor_model_parallel_size: 3}', 'parallelism: {tp: 3}'],
  ['a number in quotes', 'parallelism: {tp: "3"}', 'parallelism: {tp: 3}'],
  ['a wrong indentation', 'parallelism:\n  tp: 3\n cp: 2', 'parallelism:\n  tp: 3\n  cp: 2'],
])('a safe fix may show the errors behind the one that it fixes: %s', (_, wrong, right) => {
  expect(applySafeFixes(check(`layout: 1\nworld_size: 8\n${wrong}\n`)).text).toBe(
    `layout: 1\nworld_size: 8\n${right}\n`,
  );
});

test('no work is done beyond the limit', () => {
  const checked = check('layout: 1\nworld_size: 8\nparallelism: {tpp: 2}\n');
  expect([...soundFixes(checked, checked.diagnostics, 0).values()]).toEqual([[]]);
  expect(applySafeFixes(checked, 0).text).toBe(checked.text);
});

test('edits that leave an error as it was bring none', () => {
  const text = 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n';
  const at = text.indexOf('3');
  const change = (newText: string) => [{ span: { start: at, end: at + 1 }, newText }];
  expect(bringsNoError(check(text), change('5'))).toBe(true);
  expect(bringsNoError(check(text), change('5, x: 1'))).toBe(false);
});
