// The packaged extension in the browser's own extension host, where there is no Node: it checks, draws, and offers no jobs.
import { beforeAll, describe, expect, test } from 'vitest';
import { showView } from '../grid/controls';
import { testWorkbench } from '../harness/testWorkbench';

describe('as a web extension', () => {
  const workbench = testWorkbench({
    folder: 'examples',
    alone: true,
    vsix: 'parallelism-layout-web.vsix',
    settings: { 'remote.extensionKind': { 'parallelism-layout.parallelism-layout': ['web'] } },
  });

  beforeAll(() => workbench.openFile('mimo-8gpu.layout.yaml'));

  test('findings come and go as one types', async () => {
    await workbench.lens('Show Rank Grid').waitFor();
    expect(await workbench.lens('Run Smoke Job').count()).toBe(0);
    await workbench.typeOver('rank_offset: 4', '4', '6');
    await workbench.squiggles.first().waitFor();
    await workbench.typeOver('rank_offset: 6', '6', '4');
    await workbench.squiggles.first().waitFor({ state: 'detached' });
  });

  test('the ranks are drawn', async () => {
    await workbench.command('Parallelism Layout: Show Rank Grid');
    await showView(workbench.grid, 'Where');
    await workbench.grid.locator('.summary').getByText('8 ranks').waitFor();
    await workbench.screenshot('web');
  });
});
