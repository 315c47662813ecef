// A person's way through a smoke job in the real workbench, with torchrun: agree to the CPU, and read the result.
import { describe, test } from 'vitest';
import { testWorkbench } from '../harness/testWorkbench';

const LAYOUT = 'two-ranks.layout.yaml';

/** How long a job may take on a machine that does other things too, in milliseconds. */
const PATIENCE = 120_000;

describe('smoke jobs', () => {
  const workbench = testWorkbench({ folder: 'test/fixtures/workspace' });
  const row = (text: string) => workbench.page.locator('.pane-body [role=treeitem]', { hasText: text }).first();

  test('the job runs on the CPU once a person agrees', async () => {
    await workbench.openFile(LAYOUT);
    await workbench.lens('Run Smoke Job').click();
    const dialog = workbench.page.locator('.monaco-dialog-box');
    await dialog.getByText('torch sees no GPU').waitFor();
    await workbench.screenshot('smoke-question');
    await dialog.getByRole('button', { name: "Run, and Don't Ask Again" }).click();
    await workbench.notification('Smoke job of two-ranks on local').waitFor();
    await workbench.screenshot('smoke-progress');
    await workbench.notification('Smoke job of two-ranks passed on local').waitFor({ timeout: PATIENCE });
    await workbench.screenshot('smoke-passed');
    await workbench.waitForLens(LAYOUT, 'Smoke job passed on local');
  });

  test('its result is in the history, in a report and in a log', async () => {
    await workbench.page.getByRole('tab', { name: 'Smoke Jobs' }).click();
    await row('two-ranks').click();
    await row('Process groups').click();
    await row('tp_dp_cp').waitFor();
    await workbench.screenshot('smoke-history');
    await workbench.command('Parallelism Layout: Show Smoke Job Report');
    await workbench.line('# Smoke job of two-ranks: passed').waitFor();
    await workbench.command('Parallelism Layout: Show Smoke Job Log');
    await workbench.page.locator('.terminal-wrapper.active').waitFor();
    await workbench.screenshot('smoke-log');
  });
});
