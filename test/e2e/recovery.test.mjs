// A language server that dies: it comes back by itself, and where it keeps dying a person is asked.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { processesWith } from '../harness/processes.ts';
import { testWorkbench } from '../harness/testWorkbench.mjs';
import { until } from '../harness/until.ts';

/** How many times the server is started again before a person is asked. */
const RESTARTS = 3;

describe('a language server that dies', () => {
  const workbench = testWorkbench({ folder: 'examples' });

  before(async () => {
    await workbench.openFile('mimo-8gpu.layout.yaml');
    await workbench.typeOver('rank_offset: 4', '4', '6');
    await workbench.squiggles.first().waitFor();
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
    const look = () => processesWith(workbench.folder, 'dist/server.js', '--node-ipc').map(Number).find(good);
    return until(look, Boolean, 'a language server came up');
  }
});
