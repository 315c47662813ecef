import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('SECURITY.md names tests for every promise, and all of them are there', () => {
  const page = readFileSync('SECURITY.md', 'utf8');
  const promises = [...page.matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) => number);
  const rows = [...page.matchAll(/^\| (\d+) \|.*\| (.+) \|$/gm)];
  expect([...new Set(rows.map(([, number]) => number))]).toEqual(promises);
  const named = rows.flatMap(([, , tests = '']) => [...tests.matchAll(/`([^`]+)`/g)].map(([, path]) => path ?? ''));
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});
