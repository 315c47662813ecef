import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { launchChromium } from '../harness/chromium';

afterEach(() => vi.unstubAllEnvs());

test('a script that is started before the packages are installed says so', () => {
  const folder = mkdtempSync(join(tmpdir(), 'layout-tools-'));
  const start = () =>
    spawnSync(process.execPath, [resolve('scripts/ready.mjs'), 'l10n', '--check'], { cwd: folder, encoding: 'utf8' });
  expect(start()).toMatchObject({ status: 2, stdout: '', stderr: 'Run `npm ci` first.\n' });
  mkdirSync(join(folder, 'node_modules'));
  // the script itself, which finds nothing here
  expect(start().stderr).toContain('package.json');
  rmSync(folder, { recursive: true });
});

test('a browser that is missing is named, with what to do', async () => {
  vi.stubEnv('CHROMIUM', '/nowhere/chromium');
  await expect(launchChromium()).rejects.toThrow(
    'There is no /nowhere/chromium. Install it (apt-get install chromium-headless-shell), or name another in CHROMIUM.',
  );
});
