import { expect, test } from 'vitest';
import { foldTracebacks } from './tracebacks';

const traceback = (label: string, error: string) => [
  `${label}Traceback (most recent call last):`,
  `${label}  File "rank.py", line 5, in run`,
  `${label}    self.create()`,
  `${label}${error}`,
];

test.each([
  ['of no launcher', '', '', ''],
  ['of a local run', '[rank 3] ', '[rank 5] ', '3'],
  ['of srun', '3: ', '15: ', '3'],
])('the lines %s: a traceback is shortened, lines of other ranks between them are not', (_, label, other, rank) => {
  const [head = '', ...rest] = traceback(label, 'RuntimeError: no NCCL');
  const between = other === '' ? [] : [`${other}ready`];
  const folded = foldTracebacks(['started', head, ...between, ...rest, `${label}ended`]);
  expect(folded).toEqual({
    shown: ['started', ...between, `${label}RuntimeError: no NCCL (the report has the traceback)`, `${label}ended`],
    tracebacks: [{ rank, lines: traceback('', 'RuntimeError: no NCCL') }],
  });
});

test('of many tracebacks the first are kept', () => {
  const lines = Array.from({ length: 20 }, (_, rank) => traceback(`[rank ${rank}] `, 'ValueError')).flat();
  const { shown, tracebacks } = foldTracebacks(lines);
  expect(shown).toHaveLength(20);
  expect(tracebacks.map(({ rank }) => rank)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
});
