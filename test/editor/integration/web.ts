import Mocha from 'mocha';
import { defineFeatures } from './features.test';
import { defineLaunch } from './launch.test';
import { runTests } from './run';
import { defineWeb } from './web.test';

/** Called by the editor in the browser: the module that `extensionTestsPath` names. Fails where a test does. */
export async function run(): Promise<void> {
  await runTests(
    Mocha,
    () => {
      defineWeb();
      defineFeatures();
      defineLaunch();
    },
    (line) => console.log(`tests: ${line}`),
  );
}
