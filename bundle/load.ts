import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';
import envPaths from 'env-paths';

/** How long a process runs before what it compiled is kept, in milliseconds: most of what it ever runs has run by then. */
const SOON = 10_000;

/** How long what was compiled is kept, in milliseconds: editors come with a new V8 every few weeks. */
const KEPT = 90 * 24 * 60 * 60 * 1000;

type Main = typeof import('./main');
type Wrapper = (exports: object, require: NodeJS.Require, module: object, filename: string, dirname: string) => void;

/**
 * Loads main.js with what an earlier process compiled of it: to look through so long a text and to compile what runs of it takes
 * half of a start. Node's own cache of compiled code would keep those functions only that run while a file is loaded.
 * @param door what the process is: each kind runs another part
 * @param digest of main.js; null where it is being developed, when nothing is kept
 */
export function load(door: 'extension' | 'server' | 'cli', digest: string | null): Main {
  const file = join(__dirname, 'main.js');
  const requireBeside = createRequire(file);
  if (digest === null) {
    return requireBeside(file);
  }
  const { v8 } = process.versions;
  const cache = join(envPaths('parallelism-layout', { suffix: '' }).cache, `${door}-${v8}-${process.arch}-${digest}`);
  const script = compiled(file, cache);
  const module: { exports: Partial<Main> } = { exports: {} };
  const run: Wrapper = script.runInThisContext();
  run(module.exports, requireBeside, module, file, __dirname);
  return module.exports as Main;
}

function compiled(file: string, cache: string): Script {
  const head = '(function (exports, require, module, __filename, __dirname) {';
  const cachedData = kept(cache);
  const script = new Script(`${head}${readFileSync(file, 'latin1')}\n})`, {
    filename: file,
    columnOffset: -head.length,
    ...(cachedData && { cachedData }),
  });
  if (!cachedData || script.cachedDataRejected) {
    const save = () => {
      process.off('exit', save);
      keep(script, cache);
    };
    setTimeout(save, SOON).unref();
    process.on('exit', save);
  }
  return script;
}

/** What was kept; undefined where it is damaged, which V8 does not notice, or is not our own, since it will be run. */
function kept(cache: string): Buffer | undefined {
  try {
    const whole = readFileSync(cache);
    const code = whole.subarray(4);
    const ours = statSync(cache).uid === (process.geteuid?.() ?? 0);
    return ours && crc32(code) === whole.readUInt32LE() ? code : undefined;
  } catch {
    return undefined;
  }
}

function keep(script: Script, cache: string): void {
  const folder = dirname(cache);
  try {
    const code = script.createCachedData();
    const sum = Buffer.alloc(4);
    sum.writeUInt32LE(crc32(code));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const old of readdirSync(folder).map((name) => join(folder, name))) {
      if (Date.now() - statSync(old).mtimeMs > KEPT) {
        rmSync(old);
      }
    }
    // whole or not at all, whoever else reads and writes it
    const written = `${cache}.${process.pid}`;
    writeFileSync(written, Buffer.concat([sum, code]), { mode: 0o600 });
    renameSync(written, cache);
  } catch {
    // on a full disk, say, or one that must not be written: starts are slower then, and no more
  }
}
