// The editor that the tests start ends with them, whatever ends them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

const HARNESS = new URL('../harness/editorServer.mjs', import.meta.url).href;
const STARTER = `
  const { startEditorServer } = await import('${HARNESS}');
  const { data } = await startEditorServer();
  console.log(data);
`;

/** Processes whose command line holds a text. */
function processesWith(text) {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });
}

test('an editor server ends with the process that started it, even where that is killed', async () => {
  const starter = spawn(process.execPath, ['--input-type=module', '--eval', STARTER], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await once(starter.stdout, 'data');
  const data = String(said).trim();
  assert.ok(processesWith(data).length > 0, 'the server runs');
  starter.kill('SIGKILL');
  const end = Date.now() + 30_000;
  while (processesWith(data).length > 0 || existsSync(data)) {
    assert.ok(Date.now() < end, `left: ${processesWith(data).join()} ${existsSync(data) ? data : ''}`);
    await pause(100);
  }
});
