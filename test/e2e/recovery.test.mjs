// A language server that dies: it comes back by itself, and where it keeps dying a person is asked.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Workbench } from '../harness/workbench.mjs';

/** How many times the server is started again before a person is asked. */
const RESTARTS = 3;

describe('a language server that dies', () => {
  let workbench;

  before(async () => {
    workbench = await Workbench.open({ vsix: 'parallelism-layout.vsix', folder: 'examples' });
    await workbench.openFile('mimo-8gpu.layout.yaml');
    await workbench.typeOver('rank_offset: 4', '4', '6');
    await workbench.squiggles.first().waitFor();
  });

  after(async () => {
    await workbench?.close();
  });

  test('comes back by itself, with its findings', async () => {
    const first = await serverProcess();
    process.kill(first, 'SIGKILL');
    const second = await serverProcess((pid) => pid !== first);
    assert.notEqual(second, first);
    await workbench.squiggles.first().waitFor();
    await workbench.typeOver('rank_offset: 6', '6', '4');
    await workbench.squiggles.first().waitFor({ state: 'detached' });
  });

  test('is a matter for a person where it keeps dying, and a click brings it back', async () => {
    let last = 0;
    // one restart of the few is spent already
    for (let i = 1; i <= RESTARTS; i++) {
      last = await serverProcess((pid) => pid !== last);
      process.kill(last, 'SIGKILL');
    }
    const message = workbench.page.locator('.notification-list-item', { hasText: 'keeps ending' });
    await workbench.command('Notifications: Show Notifications');
    await message.first().waitFor();
    await workbench.screenshot('server-keeps-ending');
    await message.getByRole('button', { name: 'Restart' }).first().click();
    await serverProcess((pid) => pid !== last);
    await workbench.typeOver('rank_offset: 4', '4', '6');
    await workbench.squiggles.first().waitFor();
  });

  /** The process of the language server of this workbench; waits until there is one that is good. */
  async function serverProcess(good = () => true) {
    const end = Date.now() + 30_000;
    for (;;) {
      const found = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && isServer(pid) && good(Number(pid)));
      if (found.length > 0) {
        return Number(found[0]);
      }
      assert.ok(Date.now() < end, 'no language server came up');
      await pause(50);
    }
  }

  function isServer(pid) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return command.includes(workbench.folder) && command.includes('dist/server.js') && command.includes('--node-ipc');
    } catch {
      return false;
    }
  }
});
