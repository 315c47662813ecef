// What a person sees while writing a layout, in the real workbench with the packaged extension, with pictures of it; also where the
// language server dies: it comes back by itself, and where it keeps dying a person is asked.
import { beforeAll, describe, expect, test } from 'vitest';
import { processesWith } from '../harness/processes';
import { testWorkbench } from '../harness/testWorkbench';
import { until } from '../harness/until';

const EXAMPLE = 'mimo-8gpu.layout.yaml';

/** How many times the server is started again before a person is asked. */
const RESTARTS = 3;

describe('writing', () => {
  const workbench = testWorkbench({ folder: 'examples', alone: true });

  beforeAll(() => workbench.openFile(EXAMPLE));

  test('hints and lenses show what follows from the numbers', async () => {
    const { page } = workbench;
    await page.locator('.codelens-decoration', { hasText: 'Show Rank Grid' }).waitFor();
    await page
      .locator('.codelens-decoration', { hasText: /4 ranks, \d+ process groups/ })
      .first()
      .waitFor();
    await workbench.line('ranks 4–7').waitFor();
    await workbench.screenshot('hints');
  });

  test('hover says what a key means', async () => {
    await workbench.line('pp: 2').locator('span', { hasText: 'pp' }).last().hover();
    const hover = workbench.page.locator('.monaco-hover:not(.hidden) .hover-contents');
    await hover.first().waitFor();
    expect(await hover.first().textContent()).toMatch(/--pipeline-model-parallel-size/);
    await workbench.screenshot('hover');
    await workbench.page.keyboard.press('Escape');
  });

  test('completion offers values that fit, and says what they make', async () => {
    const { page } = workbench;
    await workbench.typeOver('pp: 2', '2', '');
    const widget = page.locator('.suggest-widget.visible');
    await workbench.press('Control+Space', widget.locator('.monaco-list-row'));
    await widget.locator('.monaco-list-row', { hasText: '2' }).first().waitFor();
    await workbench.screenshot('completion-values');
    await page.keyboard.press('Escape');
    await page.keyboard.type('2');
    await page.keyboard.press('Enter');
    await workbench.press('Control+Space', widget.locator('.monaco-list-row'));
    await widget.locator('.monaco-list-row', { hasText: 'expt_tp' }).first().waitFor();
    await workbench.screenshot('completion-keys');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+Z');
  });

  test('the status bar tells the ranks and the findings', async () => {
    const { page } = workbench;
    await workbench.typeOver('rank_offset: 4', '4', '6');
    await workbench.squiggles.first().waitFor();
    await workbench.problem('world has ranks 0 to 7');
    const status = page.locator('[id="status.languageStatus"]');
    await status.hover();
    const entry = page.locator('.hover-language-status', { hasText: '8 ranks' });
    await entry.first().waitFor();
    expect(await entry.first().textContent()).toMatch(/1 error/);
    await workbench.screenshot('problems');
  });

  test('a language server that dies comes back by itself, with its findings', async () => {
    const first = await serverProcess();
    process.kill(first, 'SIGKILL');
    const second = await serverProcess((pid) => pid !== first);
    expect(second).not.toBe(first);
    await workbench.squiggles.first().waitFor();
    await workbench.typeOver('rank_offset: 6', '6', '4');
    await workbench.squiggles.first().waitFor({ state: 'detached' });
  });

  test('one that keeps dying is a matter for a person, and a click brings it back', async () => {
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

  test('the walkthrough opens and leads to a layout', async () => {
    const { page } = workbench;
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+J');
    await workbench.command('Parallelism Layout: Get Started');
    const steps = page.locator('.gettingStartedContainer');
    await steps.getByRole('heading', { name: 'Write a layout' }).waitFor();
    const picture = page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
    await picture.getByText('A layout is a file').waitFor();
    await workbench.screenshot('walkthrough');
    await steps.getByText('Look at the ranks').click();
    await picture.locator('text', { hasText: '4 pipeline stages of 2 nodes each' }).waitFor();
    await workbench.screenshot('walkthrough-grid');
    await steps.getByText('See a mistake, and fix it').click();
    await steps.getByRole('button', { name: 'Open a Sample with a Mistake' }).click();
    await workbench.line('pp: 3').waitFor();
    await workbench.squiggles.first().waitFor();
  });

  /** The process of the language server of this workbench; waits until there is one that is good. */
  async function serverProcess(good = (_pid: number) => true): Promise<number> {
    const look = () => processesWith(workbench.folder, 'dist/server.js', '--node-ipc').map(Number).find(good);
    return (await until(look, Boolean, 'a language server came up')) ?? 0;
  }
});
