// The packaged extension in the browser's own extension host, where there is no Node: it checks, draws, and offers no jobs.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Workbench } from '../harness/workbench.mjs';

describe('as a web extension', () => {
  let workbench;

  before(async () => {
    workbench = await Workbench.open({
      vsix: 'parallelism-layout.vsix',
      folder: 'examples',
      settings: { 'remote.extensionKind': { 'parallelism-layout.parallelism-layout': ['web'] } },
    });
    await workbench.openFile('mimo-8gpu.layout.yaml');
  });

  after(async () => {
    await workbench?.close();
  });

  test('findings come and go as one types', async () => {
    await workbench.page.locator('.codelens-decoration', { hasText: 'Show Rank Grid' }).waitFor();
    assert.equal(await workbench.page.locator('.codelens-decoration', { hasText: 'Run Smoke Job' }).count(), 0);
    await workbench.typeOver('rank_offset: 4', '4', '6');
    await workbench.squiggles.first().waitFor();
    await workbench.typeOver('rank_offset: 6', '6', '4');
    await workbench.squiggles.first().waitFor({ state: 'detached' });
  });

  test('the ranks are drawn', async () => {
    await workbench.command('Parallelism Layout: Show Rank Grid');
    await workbench.grid.locator('.summary').getByText('8 ranks').waitFor();
    await workbench.screenshot('web');
  });
});
