import { after, before } from 'node:test';
import { Workbench } from './workbench.mjs';

/**
 * A workbench for the tests of one `describe`: open before them, closed after them, with a picture of how it looked at the end.
 * @param {object | (() => Promise<object>)} options as of `Workbench.open`; a function where they must be found first
 * @returns {Workbench}
 */
export function testWorkbench(options) {
  const workbench = new Workbench();
  before(async () => workbench.open(typeof options === 'function' ? await options() : options));
  after(async ({ name }) => {
    if (workbench.page) {
      await workbench.screenshot(`end-${fileName(name)}`);
    }
    await workbench.close();
  });
  return workbench;
}

/** A text as a part of a file's name. */
export function fileName(text) {
  return text.toLowerCase().replaceAll(/\W+/g, '-');
}
