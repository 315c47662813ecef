import { expect, test } from 'vitest';
import {
  commandFailure,
  listFailures,
  mochaFailures,
  pytestFailures,
  vitestFailures,
} from '../../scripts/failures.mts';

test('failures of Vitest are read, also those that share a message', () => {
  const output = `
 FAIL  |fast| a.test.ts [ a.test.ts ]
Error: at import
 ❯ a.test.ts:2:7
      1| throw

 FAIL  |fast| b.test.ts > each > 1
 FAIL  |fast| b.test.ts > each > 2
AssertionError: expected 1 to be 2

- Expected
+ Received

 ❯ b.test.ts:2:51
`;
  const message = ['AssertionError: expected 1 to be 2', '- Expected', '+ Received'];
  expect(vitestFailures(output)).toEqual([
    { name: '|fast| a.test.ts [ a.test.ts ]', message: ['Error: at import'] },
    { name: '|fast| b.test.ts > each > 1', message },
    { name: '|fast| b.test.ts > each > 2', message },
  ]);
});

test('failures of Mocha are read with the names of their suites', () => {
  const output = `
  outer
    1) one

  0 passing (8ms)
  2 failing

  1) outer
       one:

      AssertionError [ERR_ASSERTION]: Expected values to be loosely deep-equal:

{
  a: 1
}
      at Context.<anonymous> (m.cjs:1:68)

  2) outer
       in
         two: with a colon:
     Error: boom
second
      at Context.<anonymous> (m.cjs:1:132)
`;
  expect(mochaFailures(output)).toEqual([
    {
      name: 'outer > one',
      message: ['AssertionError [ERR_ASSERTION]: Expected values to be loosely deep-equal:', '{', 'a: 1'],
    },
    { name: 'outer > in > two: with a colon', message: ['Error: boom', 'second'] },
  ]);
});

test('failures of pytest are read', () => {
  const output = `
FAILED test/test_a.py::test_a - AssertionError: a long message
ERROR test/test_a.py::test_b
1 failed, 1 error in 0.32s
`;
  expect(pytestFailures(output)).toEqual([
    { name: 'test/test_a.py::test_a', message: ['AssertionError: a long message'] },
    { name: 'test/test_a.py::test_b', message: [] },
  ]);
});

test('a command that fails says why by its errors, or else by its last lines', () => {
  expect(commandFailure('a.ts(1,2): error TS2304: no name\nmore\n', 2)).toEqual({
    name: 'ended with 2',
    message: ['a.ts(1,2): error TS2304: no name'],
  });
  expect(commandFailure('one\n\ntwo\nthree\nfour\n', 1).message).toEqual(['two', 'three', 'four']);
});

test('a summary lists some failures of a suite, and how many more there are', () => {
  const failures = Array.from({ length: 7 }, (_, i) => ({
    name: `test ${i}`,
    message: i === 0 ? ['x'.repeat(300)] : [],
  }));
  expect(listFailures('jobs', failures)).toEqual([
    'FAILED jobs: test 0',
    `       ${'x'.repeat(192)}…`,
    ...['test 1', 'test 2', 'test 3', 'test 4', 'and 2 more'].map((text) => `FAILED jobs: ${text}`),
  ]);
});
