import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE } from './programs';

/** A fenced block of a page. */
export interface Block {
  readonly language: string;
  /** What stands behind the language, which a reader does not see: `not run: REASON`, `exits 1`, or the file that is shown. */
  readonly info: string;
  readonly text: string;
  /** The line of the page, from 1. */
  readonly line: number;
  /** The place of the text in the page. */
  readonly start: number;
  /** The file that a block is, as its first line names it: `# train.sh`. */
  readonly file: string | null;
}

/** The commands of one `sh` block. */
export interface Command {
  readonly line: number;
  readonly text: string;
  /** The exit status that the page promises. */
  readonly status: number;
  /** Why a test cannot run it; null where it can. */
  readonly notRun: string | null;
  /** The `text` block that follows, or null where the page shows no output. */
  readonly output: Block | null;
}

export interface Outcome {
  readonly status: number;
  /** Standard output and standard error, in the order in which they were written, without empty lines at the end. */
  readonly output: string;
}

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(page, 'utf8');
  return [...text.matchAll(/^```(\w+)(?: ([^\n]*))?\n(.*?)^```$/gms)].map((found) => {
    const [whole, language = '', info = '', body = ''] = found;
    return {
      language,
      info,
      text: body,
      line: text.slice(0, found.index).split('\n').length,
      start: found.index + whole.indexOf('\n') + 1,
      file: /^# ([\w-]+(?:\.[\w-]+)+)\n/.exec(body)?.[1] ?? null,
    };
  });
}

/** The commands of a page, each with the output that the page shows. */
export function commandsOf(blocks: readonly Block[]): Command[] {
  return blocks.flatMap(({ language, info, text, line }, index) => {
    const next = blocks[index + 1];
    const [, notRun = null] = /^not run: (.+)$/.exec(info) ?? [];
    const status = Number(/^exits (\d+)$/.exec(info)?.[1] ?? 0);
    return language === 'sh' ? [{ line, text, status, notRun, output: next?.language === 'text' ? next : null }] : [];
  });
}

/** A folder with the files of a page and the examples, where `parallelism-layout` is the program of a folder. */
export class PageFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'parallelism-layout-page-'));

  /**
   * @param files more files, by name; those of the page win
   * @param program the folder of the unpacked package
   */
  constructor(blocks: readonly Block[], files: Readonly<Record<string, string>>, program: string) {
    cpSync('examples', join(this.path, 'examples'), { recursive: true });
    mkdirSync(join(this.path, '.bin'));
    const path = join(this.path, '.bin', 'parallelism-layout');
    writeFileSync(path, `#!/bin/sh\nexec "${NODE}" "${join(program, 'dist/cli.js')}" "$@"\n`);
    chmodSync(path, 0o755);
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(this.path, name), text);
    }
    for (const { file, text } of blocks) {
      if (file !== null) {
        writeFileSync(join(this.path, file), text);
      }
    }
  }

  /** Runs commands as a person at a shell would; the first that fails ends them. */
  run(commands: string): Promise<Outcome> {
    const env = { ...process.env, NO_COLOR: '1', PATH: `${join(this.path, '.bin')}:${process.env.PATH}` };
    return new Promise((done) => {
      const child = execFile('bash', ['-ec', `exec 2>&1\n${commands}`], { cwd: this.path, env }, (_, output) =>
        done({ status: child.exitCode ?? -1, output: output.trimEnd() }),
      );
      child.stdin?.end();
    });
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
