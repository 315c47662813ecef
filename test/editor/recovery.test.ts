// A language server that dies: it comes back by itself, and where it keeps dying a person is asked.
import { beforeAll, describe, expect, test } from 'vitest';
import { processesWith } from '../harness/processes';
import { testWorkbench } from '../harness/testWorkbench';
import { until } from '../harness/until';

/** How many times the server is started again before a person is asked. */
const RESTARTS = 3;

describe('a language server that dies', () => {
  const workbench = testWorkbench({ folder: 'examples', alone: true });

  beforeAll(async () => {
    await workbench.openFile('mimo-8gpu.layout.yaml');
    await workbench.typeOver('rank_offset: 4', '4', '6');
    await workbench.squiggles.first().waitFor();
  });

  test('comes back by itself, with its findings', async () => {
    const first = await serverProcess();
    process.kill(first, 'SIGKILL');
    const second = await serverProcess((pid) => pid !== first);
    expect(second).not.toBe(first);
    await workbench.squiggles.first().waitFor();
    await workbench.typeOver('rank_offset: 6', '6', '4');
    await workbench.squiggles.first().waitFor({ state: 'detached' });
  });

  test('is a matter for a person where it keeps dying, and a click brings it back', async () => {
    const killed = new Set<number>();
    // one restart of the few is spent already
    while (killed.size < RESTARTS) {
      const pid = await serverProcess((one) => !killed.has(one));
      process.kill(pid, 'SIGKILL');
      killed.add(pid);
    }
    const message = workbench.page.locator('.notification-list-item', { hasText: 'keeps crashing' });
    const isAsked = async () => {
      await workbench.command('Notifications: Show Notifications');
      return message.first().isVisible();
    };
    await until(isAsked, Boolean, 'a person is asked');
    await workbench.screenshot('server-keeps-crashing');
    await message.getByRole('button', { name: 'Restart' }).first().click();
    await serverProcess((pid) => !killed.has(pid));
    await workbench.typeOver('rank_offset: 4', '4', '6');
    await workbench.squiggles.first().waitFor();
  });

  /** The process of the language server of this workbench; waits until there is one that is good. */
  async function serverProcess(good = (_pid: number) => true): Promise<number> {
    const look = () => processesWith(workbench.folder, 'dist/server.js', '--node-ipc').map(Number).find(good);
    return (await until(look, Boolean, 'a language server came up')) ?? 0;
  }
});
