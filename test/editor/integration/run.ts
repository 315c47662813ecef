import type MochaClass from 'mocha';
import * as vscode from 'vscode';

/**
 * Runs what `define` defines; fails where a test does, or where there is none.
 * @param say takes what the tests have to tell, line by line
 */
export async function runTests(
  Runner: typeof MochaClass,
  define: () => void,
  say: (line: string) => void,
): Promise<void> {
  // the editor's own log is noisy, so the tests have a way of their own to be heard
  Object.assign(Runner.reporters.Base, { consoleLog: (...parts: unknown[]) => say(format(parts)) });
  const mocha = new Runner({ ui: 'bdd', timeout: 60_000, color: false, reporter: 'spec' });
  mocha.suite.emit('pre-require', globalThis, 'integration', mocha);
  define();
  say(`${vscode.env.appName} ${vscode.version}, ${vscode.env.uiKind === vscode.UIKind.Web ? 'web' : 'desktop'}`);
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

/** The parts of a message as `console.log` writes them: `%s` and `%d` in the first stand for the others. */
function format([first = '', ...others]: unknown[]): string {
  const text = String(first).replaceAll(/%[sd]/g, () => String(others.shift()));
  return [text, ...others.map(String)].join(' ');
}
