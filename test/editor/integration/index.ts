import { appendFileSync } from 'node:fs';
import Mocha from 'mocha';
import { defineTrusted } from './extension.test';
import { defineFeatures } from './features.test';
import { defineFolderless } from './folderless.test';
import { defineLaunch } from './launch.test';
import { defineRecord } from './record.test';
import { runTests } from './run';
import { defineSmoke } from './smoke.test';
import { defineUntrusted } from './untrusted.test';
import { defineVerify } from './verify.test';

/** Called by the editor: the module that `extensionTestsPath` names. Fails where a test does. */
export async function run(): Promise<void> {
  const { TEST_OUTPUT: output, TEST_SUITE: suite } = process.env;
  const define = () => {
    if (suite === 'untrusted') {
      defineUntrusted();
    } else {
      defineFolderless();
      defineTrusted();
      defineFeatures();
      defineLaunch();
      defineRecord();
      defineVerify();
      defineSmoke();
    }
  };
  await runTests(Mocha, define, (line) => (output ? appendFileSync(output, `${line}\n`) : console.log(line)));
}
