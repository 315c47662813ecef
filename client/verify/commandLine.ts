import { execFile } from 'node:child_process';
import type { Verification } from '../../jobs';
import { isRunReport } from '../../picture/runOutcome';

/** The largest answer that is taken. Bytes. */
const MAX_ANSWER = 64 * 1024 * 1024;

/** What the command line says when it cannot use a layout or the files of a run. */
export class VerifyError extends Error {}

/**
 * Runs `verify` of the command line in a process of its own, with the editor's own Node and no shell.
 * @param cli the command line's bundle
 * @param layout the text of the layout, which goes to standard input
 * @param folder where the command line looks for its configuration
 * @param paths files and folders of a run
 * @param signal kills the process
 * @throws {VerifyError} with what the command line says
 */
export function runVerify(
  cli: string,
  layout: string,
  folder: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<Verification> {
  return new Promise((done, fail) => {
    const child = execFile(
      process.execPath,
      [cli, 'verify', '--format', 'json', '--', '-', ...paths],
      {
        cwd: folder,
        // Node would take modules that NODE_OPTIONS names from the folder of the layout
        env: { ...process.env, NODE_OPTIONS: '', ELECTRON_RUN_AS_NODE: '1' },
        maxBuffer: MAX_ANSWER,
        signal,
        killSignal: 'SIGKILL',
        windowsHide: true,
      },
      (error, stdout, stderr) => {
        const found = error && stdout === '' ? null : verificationIn(stdout);
        if (found) {
          done(found);
        } else {
          fail(new VerifyError(reasonIn(stderr) || (error?.message ?? 'no answer')));
        }
      },
    );
    // a process that has ended does not read its input; its exit status says why
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(layout);
  });
}

/** The answer of the command line; null where it is cut off. */
function verificationIn(text: string): Verification | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRunReport(value) ? (value as Verification) : null;
  } catch {
    return null;
  }
}

/** What the command line complains of, without its own name and that of standard input. */
function reasonIn(stderr: string): string {
  return stderr
    .slice(0, 1000)
    .trim()
    .replaceAll(/^parallelism-layout: (-: )?/gm, '');
}
