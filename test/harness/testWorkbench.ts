import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import { Workbench, type WorkbenchOptions } from './workbench';

type Options = Omit<WorkbenchOptions, 'editor'> & {
  /** Start an editor's server for these tests alone, instead of using the one of all files. */
  readonly alone?: boolean;
};

/**
 * A workbench for the tests of one `describe`: open before them, closed after them. A test that fails leaves a picture.
 * @param prepare what must be done before it opens
 */
export function testWorkbench({ alone = false, ...options }: Options, prepare?: () => Promise<void>): Workbench {
  const workbench = new Workbench();
  beforeAll(async () => {
    await prepare?.();
    await workbench.open({ ...options, ...(!alone && { editor: inject('editor') }) });
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail' && workbench.isOpen) {
      await workbench.screenshot(`failed-${fileName(task.name)}`);
    }
  });
  afterAll(() => workbench.close());
  return workbench;
}

/** A text as a part of a file's name. */
function fileName(text: string): string {
  return text.toLowerCase().replaceAll(/\W+/g, '-');
}
