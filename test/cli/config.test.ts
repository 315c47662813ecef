import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { NODE } from '../harness/programs';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-config-'));
  mkdirSync(join(folder, 'jobs'));
  writeFileSync(join(folder, 'jobs', 'wrong.layout.yaml'), 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The severities that `check` reports with a configuration in the folder above the layout, and how it ends. */
function checked(configuration: string): { severities: string[]; status: number; stderr: string } {
  writeFileSync(join(folder, '.parallelism-layout.yaml'), configuration);
  const args = [resolve('dist/cli.js'), 'check', '--format', 'json', 'jobs/wrong.layout.yaml'];
  const done = (stdout: string, status: number, stderr: string) => ({
    severities: JSON.parse(stdout)[0].findings.map(({ severity }: { severity: string }) => severity),
    status,
    stderr,
  });
  try {
    return done(execFileSync(NODE, args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' }), 0, '');
  } catch (error) {
    const { stdout, status, stderr } = error as { stdout: string; status: number; stderr: string };
    return done(stdout, status, stderr);
  }
}

test('a configuration above the layout lowers a rule, and the exit status follows', () => {
  expect(checked('rules: {dense-factorization: warning}\n')).toEqual({
    severities: ['warning'],
    status: 0,
    stderr: '',
  });
});

test('a configuration switches a rule off', () => {
  expect(checked('rules: {dense-factorization: off}\n').severities).toEqual([]);
});

test.each([
  ['rules: {dense-factorisation: off}\n', 'there is no rule `dense-factorisation`'],
  ['rules: {dense-factorization: never}\n', '`dense-factorization` must be off, information, warning or error'],
  ['rule: {}\n', 'has no key `rule`; it has rules'],
  ['- 1\n', 'must be a map with the key rules'],
  ['rules: [\n', 'Flow sequence in block collection must be sufficiently indented'],
])('%j is refused in words', (configuration, reason) => {
  const { severities, status, stderr } = checked(configuration);
  expect(severities).toEqual(['error']);
  expect(status).toBe(2);
  expect(stderr).toContain(reason);
});
