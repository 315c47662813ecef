import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { readRegularFile } from '../jobs/regularFile';
import { parseRecord, type RecordedCommand } from '../layout/launch';

/** How long a script may run, in milliseconds. */
const TIME_LIMIT_MS = 10_000;

/** The most programs of one run that are read, and the longest record of one. Bytes. */
const MAX_COMMANDS = 2_000;
const MAX_RECORD_BYTES = 1024 * 1024;

/** Programs in whose place a recording stand-in stands: launchers, and what a script must not do while it is read. */
const STANDINS = [
  ...'torchrun torchrun_npu python python3 srun sbatch salloc mpirun mpiexec accelerate deepspeed ray uv poetry conda'.split(
    ' ',
  ),
  ...'megatron swift axolotl vllm sglang msrun nsys numactl docker podman apptainer singularity enroot ssh scp rsync'.split(
    ' ',
  ),
  ...'kubectl scontrol scancel squeue sinfo nvidia-smi rocm-smi npu-smi pkill killall kill pip pip3 apt apt-get git'.split(
    ' ',
  ),
  ...'curl wget hf huggingface-cli sudo mount umount rm rmdir mv cp ln chmod chown mkdir touch dd tee tar sleep reboot'.split(
    ' ',
  ),
  ...'timeout nohup stdbuf setsid xargs find bash sh'.split(' '),
];

/** Programs that a script may use while it is read: they read and print, no more. */
const TOOLS =
  'dirname basename cat echo printf seq expr awk gawk mawk sed grep egrep head tail cut tr wc date realpath readlink pwd true false env sort uniq test bc ls hostname whoami id nproc uname mktemp'.split(
    ' ',
  );

/** Records a program with its environment, and follows `bash -c '...'` among its words. */
const STANDIN = `#!BASH
set +e
record="$PARALLELISM_LAYOUT_RECORD/$EPOCHREALTIME.$$"
{ printf '%s\\0' "$(($# + 1))" "\${0##*/}" "$@"; ENV -0; printf '\\0'; } >"$record.part" && MV "$record.part" "$record.command"
program=\${0##*/} before=
case $program in bash | sh) "BASH" "$@" ; exit ;; esac
for word in "$@"; do
  case $before in
    -c | -lc) case $program in bash | sh | */bash | */sh) BASH -c "$word" ;; esac ;;
    *) ;;
  esac
  case $word in -*) ;; *) program=$word ;; esac
  before=$word
done
exit 0
`;

/** A program that is not known is recorded as well. */
const NOT_FOUND = `command_not_found_handle() { "$PARALLELISM_LAYOUT_FOLDER/standin-as" "$@"; return 0; }
kill() { :; }
`;

const STANDIN_AS = `#!BASH
record="$PARALLELISM_LAYOUT_RECORD/$EPOCHREALTIME.$$"
{ printf '%s\\0' "$#" "$@"; ENV -0; printf '\\0'; } >"$record.part" && MV "$record.part" "$record.command"
`;

/** What a script started, and what is worth knowing of the run. */
export interface RecordedRun {
  readonly commands: readonly RecordedCommand[];
  readonly notes: readonly string[];
}

/**
 * Runs a script with recording stand-ins for launchers. The script executes as this user, in its own directory, for at most
 * ten seconds, with a small environment, a private home, and without a network where the system can take it away.
 * @param limit how long it may run, in milliseconds
 * @param without the words that take network and other processes away from it; none where the system has no such means
 * @throws Error where this machine cannot run it
 */
export async function recordRun(
  file: string,
  limit = TIME_LIMIT_MS,
  without: readonly string[] = isolation(),
): Promise<RecordedRun> {
  if (without.length === 0 && process.platform === 'linux') {
    throw new Error(
      '`unshare` cannot take the network from it. Install util-linux and allow user namespaces, or leave out --run',
    );
  }
  const programs = { BASH: programAt('bash'), ENV: programAt('env'), MV: programAt('mv') };
  const script = realpathSync(resolve(file));
  const folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-run-'));
  try {
    prepare(folder, programs);
    const words = [...without, programs.BASH, script];
    const isInTime = await runToEnd(words, dirname(script), environmentOf(folder), limit);
    return { commands: commandsIn(join(folder, 'record')), notes: notesOf(words, isInTime ? null : limit) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A program of the system, never one from the caller's PATH. */
function programAt(name: string): string {
  const found = ['/usr/bin', '/bin'].map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error(`${name} is not on this machine; a script is run with bash on Linux or macOS`);
  }
  return found;
}

function prepare(folder: string, programs: Readonly<Record<string, string>>): void {
  const filled = (text: string) => text.replace(/\b(BASH|ENV|MV)\b/g, (name) => programs[name] ?? name);
  for (const name of ['bin', 'record', 'home']) {
    mkdirSync(join(folder, name));
  }
  writeFileSync(join(folder, 'environment.sh'), NOT_FOUND);
  writeFileSync(join(folder, 'standin'), filled(STANDIN), { mode: 0o700 });
  writeFileSync(join(folder, 'standin-as'), filled(STANDIN_AS), { mode: 0o700 });
  for (const name of new Set(STANDINS)) {
    symlinkSync(join(folder, 'standin'), join(folder, 'bin', name));
  }
  for (const name of TOOLS) {
    const path = ['/usr/bin', '/bin'].map((directory) => join(directory, name)).find((one) => existsSync(one));
    if (path !== undefined) {
      symlinkSync(path, join(folder, 'bin', name));
    }
  }
}

function environmentOf(folder: string): NodeJS.ProcessEnv {
  return {
    PATH: [join(folder, 'bin')].join(delimiter),
    HOME: join(folder, 'home'),
    TMPDIR: join(folder, 'home'),
    USER: 'user',
    LC_ALL: 'C',
    BASH_ENV: join(folder, 'environment.sh'),
    PARALLELISM_LAYOUT_FOLDER: folder,
    PARALLELISM_LAYOUT_RECORD: join(folder, 'record'),
  };
}

/** The words that take network and other processes away from a script; none where the system has no such means. */
function isolation(): readonly string[] {
  const words = ['unshare', '--map-root-user', '--net', '--pid', '--fork', '--kill-child'];
  const [program = '', ...options] = words;
  const path = ['/usr/bin', '/bin'].map((folder) => join(folder, program)).find((one) => existsSync(one));
  const isPossible = path !== undefined && spawnSync(path, [...options, '/bin/true'], { timeout: 5_000 }).status === 0;
  return isPossible ? [path, ...options] : [];
}

/** Whether the program ended by itself; everything that it started ends with it. */
async function runToEnd(
  words: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  limit: number,
): Promise<boolean> {
  const [program = '', ...args] = words;
  const child = spawn(program, args, { cwd, env, stdio: 'ignore', detached: true });
  const stop = () => endGroup(child);
  const leave = (signal: NodeJS.Signals) => {
    stop();
    rmSync(env.PARALLELISM_LAYOUT_FOLDER ?? '', { recursive: true, force: true });
    process.exit(128 + (SIGNALS[signal] ?? 0));
  };
  const signals = Object.keys(SIGNALS) as NodeJS.Signals[];
  for (const signal of signals) {
    process.on(signal, leave);
  }
  let isInTime = true;
  const timer = setTimeout(() => {
    isInTime = false;
    stop();
  }, limit);
  await new Promise<void>((done) => {
    child.once('close', () => done());
    child.once('error', () => done());
  });
  clearTimeout(timer);
  stop();
  for (const signal of signals) {
    process.off(signal, leave);
  }
  return isInTime;
}

const SIGNALS: Readonly<Partial<Record<NodeJS.Signals, number>>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

function endGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-(pid ?? Number.NaN), 'SIGKILL');
  } catch {
    // the group has ended
  }
}

/** The programs that were started, in order. */
function commandsIn(folder: string): RecordedCommand[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.command'));
  return names
    .sort()
    .slice(0, MAX_COMMANDS)
    .flatMap((name) => {
      const command = parseRecord(textOf(join(folder, name)));
      return command ? [command] : [];
    });
}

function textOf(path: string): string {
  try {
    return new TextDecoder().decode(readRegularFile(path, MAX_RECORD_BYTES));
  } catch {
    return '';
  }
}

function notesOf(words: readonly string[], limit: number | null): string[] {
  return [
    'The script was executed with stand-ins for launchers and other programs; where it reads their output, they print nothing.',
    ...(basename(words[0] ?? '') === 'unshare' ? [] : ['This machine has no way to take the network from the script.']),
    ...(limit === null
      ? []
      : [`The script was ended after ${limit / 1000} s; what it would have started later is not known.`]),
  ];
}
