import { appendFileSync } from 'node:fs';
import { format } from 'node:util';
import Mocha from 'mocha';
import * as vscode from 'vscode';
import { defineTrusted } from './extension.test';
import { defineUntrusted } from './untrusted.test';

/** Called by the editor: the module that `extensionTestsPath` names. Fails where a test does. */
export async function run(): Promise<void> {
  const { TEST_OUTPUT: output, TEST_SUITE: suite } = process.env;
  const say = (...parts: unknown[]) => {
    // the editor's own log is noisy, so a file carries what the tests have to say
    if (output) {
      appendFileSync(output, `${format(...parts)}\n`);
    } else {
      console.log(...parts);
    }
  };
  Object.assign(Mocha.reporters.Base, { consoleLog: say });
  const mocha = new Mocha({ ui: 'bdd', timeout: 60_000, color: false, reporter: 'spec' });
  mocha.suite.emit('pre-require', globalThis, 'integration', mocha);
  if (suite === 'untrusted') {
    defineUntrusted();
  } else {
    defineTrusted();
  }
  say(`${vscode.env.appName} ${vscode.version}, Node ${process.version}`);
  let passed = 0;
  const failed = await new Promise<number>((done) => {
    mocha.run(done).on('pass', () => {
      passed++;
    });
  });
  say(`${passed} passed, ${failed} failed`);
  if (failed > 0 || passed === 0) {
    throw new Error(`${passed} passed, ${failed} failed`);
  }
}
