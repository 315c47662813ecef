import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

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
  const script = compiled(file, `${door}-${process.versions.v8}-${process.arch}-${digest}`);
  const module: { exports: Partial<Main> } = { exports: {} };
  const run: Wrapper = script.runInThisContext();
  run(module.exports, requireBeside, module, file, __dirname);
  return module.exports as Main;
}

function compiled(file: string, name: string): Script {
  const head = '(function (exports, require, module, __filename, __dirname) {';
  const cachedData = kept(name);
  // the file has no character beyond ASCII
  const script = new Script(`${head}${readFileSync(file, 'latin1')}\n})`, {
    filename: file,
    columnOffset: -head.length,
    ...(cachedData && { cachedData }),
  });
  if (!cachedData || script.cachedDataRejected) {
    const save = () => {
      process.off('exit', save);
      keep(script, name);
    };
    setTimeout(save, SOON).unref();
    process.on('exit', save);
  }
  return script;
}

/** What was kept; undefined where it is damaged, which V8 does not notice, or is not our own, since it will be run. */
function kept(name: string): Buffer | undefined {
  try {
    const path = join(cacheFolder(), name);
    const whole = readFileSync(path);
    const code = whole.subarray(4);
    const ours = statSync(path).uid === (process.geteuid?.() ?? 0);
    return ours && crc32(code) === whole.readUInt32LE() ? code : undefined;
  } catch {
    return undefined;
  }
}

function keep(script: Script, name: string): void {
  try {
    const folder = cacheFolder();
    const code = script.createCachedData();
    const sum = Buffer.alloc(4);
    sum.writeUInt32LE(crc32(code));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const old of readdirSync(folder).map((entry) => join(folder, entry))) {
      if (Date.now() - statSync(old).mtimeMs > KEPT) {
        rmSync(old);
      }
    }
    // whole or not at all, whoever else reads and writes it
    const written = join(folder, `${name}.${process.pid}`);
    writeFileSync(written, Buffer.concat([sum, code]), { mode: 0o600 });
    renameSync(written, join(folder, name));
  } catch {
    // on a full disk, say, or one that must not be written: starts are slower then, and no more
  }
}

/**
 * Where the system wants that programs keep what they can make anew.
 * @throws for a user of whom the system knows no home, as in some containers
 */
function cacheFolder(): string {
  const { LOCALAPPDATA, XDG_CACHE_HOME } = process.env;
  switch (process.platform) {
    case 'win32':
      return join(LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'parallelism-layout', 'Cache');
    case 'darwin':
      return join(homedir(), 'Library', 'Caches', 'parallelism-layout');
    default:
      return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'parallelism-layout');
  }
}
