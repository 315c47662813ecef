// The packaged extension in the browser's own extension host, where there is no Node: it checks, draws, and offers no jobs.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { testWorkbench } from '../harness/testWorkbench.mjs';

describe('as a web extension', () => {
  const workbench = testWorkbench({
    folder: 'examples',
    vsix: 'parallelism-layout-web.vsix',
    settings: { 'remote.extensionKind': { 'parallelism-layout.parallelism-layout': ['web'] } },
  });

  before(() => workbench.openFile('mimo-8gpu.layout.yaml'));

  test('findings come and go as one types', async () => {
    await workbench.lens('Show Rank Grid').waitFor();
    assert.equal(await workbench.lens('Run Smoke Job').count(), 0);
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
