import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { NODE } from './programs';

/** A fenced block of a page. */
export interface Block {
  readonly language: string;
  readonly text: string;
  /** The line of the page, from 1. */
  readonly line: number;
  /** The file that a block is, as its first line names it: `# train.sh`. */
  readonly file: string | null;
}

/** The commands of one `sh` block. */
export interface Command {
  readonly line: number;
  readonly text: string;
  /** The `text` block that follows, or null where the page shows no output. */
  readonly output: string | null;
}

export interface Outcome {
  readonly status: number;
  /** Standard output and standard error, in the order in which they were written, without empty lines at the end. */
  readonly output: string;
}

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(page, 'utf8');
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', body = ''], index, all) => ({
    language,
    text: body,
    line: text.slice(0, all[index]?.index).split('\n').length,
    file: /^# ([\w-]+(?:\.[\w-]+)+)\n/.exec(body)?.[1] ?? null,
  }));
}

/** The commands of a page, each with the output that the page shows. */
export function commandsOf(blocks: readonly Block[]): Command[] {
  return blocks.flatMap(({ language, text, line }, index) => {
    const next = blocks[index + 1];
    return language === 'sh' ? [{ line, text, output: next?.language === 'text' ? next.text.trimEnd() : null }] : [];
  });
}

/** A folder with the files of a page, where `parallelism-layout` is the built command line. */
export class PageFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'parallelism-layout-page-'));

  constructor(blocks: readonly Block[]) {
    mkdirSync(join(this.path, 'pictures'));
    mkdirSync(join(this.path, '.bin'));
    const program = join(this.path, '.bin', 'parallelism-layout');
    writeFileSync(program, `#!/bin/sh\nexec "${NODE}" "${resolve('dist/cli.js')}" "$@"\n`);
    chmodSync(program, 0o755);
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
