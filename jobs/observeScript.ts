import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type ObservedCommand, parseObserved } from '../layout/launch';
import { EnvironmentError } from './environmentError';
import { readRegularFile } from './regularFile';
import { repositoryOf } from './repository';
import { makeRunFolder } from './runFolder';

/** How long a script may run by default, in milliseconds. */
const LIMIT_MS = 10_000;

/** The most commands of one run that are read, the longest record of one, and of all together. Bytes. */
const MAX_COMMANDS = 2_000;
const MAX_RECORD_BYTES = 1024 * 1024;
const MAX_RECORDS_BYTES = 32 * 1024 * 1024;

/** Programs that a recording stub replaces: launchers, and programs that change files, processes or machines. */
const STUBS = [
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

/** Programs that a script may use: they read and print, no more. */
const TOOLS =
  'dirname basename cat echo printf seq expr awk gawk mawk sed grep egrep head tail cut tr wc date realpath readlink pwd true false env sort uniq test bc ls hostname whoami id nproc uname mktemp'.split(
    ' ',
  );

/** Records a program with its environment, and follows `bash -c '...'` among its words. */
const STUB = `#!BASH
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

/** Bash calls the handler for a program that is not on `PATH`: it is recorded too. */
const BASH_SETTINGS = `command_not_found_handle() { "$PARALLELISM_LAYOUT_FOLDER/record-command" "$@"; return 0; }
kill() { :; }
`;

const RECORD_COMMAND = `#!BASH
record="$PARALLELISM_LAYOUT_RECORD/$EPOCHREALTIME.$$"
{ printf '%s\\0' "$#" "$@"; ENV -0; printf '\\0'; } >"$record.part" && MV "$record.part" "$record.command"
`;

/**
 * Leaves a script nothing of the machine but programs, the folder that it is shown, and a private folder: no home, no sockets, no
 * network, and nothing that it could write but memory. Arguments: the private folder, the shown folder, the script's own, the
 * command. What cannot be set up ends it before the command starts.
 */
const SANDBOX = `set -e
private=$1 shown=$2 own=$3 path=$PATH
shift 3
PATH=/usr/sbin:/usr/bin:/sbin:/bin
root=$private/root
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=16m,nr_inodes=16k tmpfs "$root"
# shows a folder read-only, with the other flags of its mount, which a user may not take away
show() {
  mkdir -p "$root$1"
  mount "$2" "$1" "$root$1"
  options=$(findmnt -n -o VFS-OPTIONS -T "$1" | tail -n 1)
  mount -o "remount,bind,ro\${options#r?}" "$root$1"
}
for folder in /bin /sbin /lib /lib32 /lib64 /usr /nix/store /etc/alternatives; do
  if [ -L "$folder" ]; then ln -s "$(readlink "$folder")" "$root$folder"
  elif [ -d "$folder" ]; then show "$folder" --rbind
  fi
done
mkdir -p "$root/dev" "$root/proc" "$root/tmp"
mount -t tmpfs -o mode=1777,size=64m,nr_inodes=16k tmpfs "$root/tmp"
for device in null zero full random urandom; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
# without it, a script has no process substitution; root, even without capabilities, could set variables of the kernel in it
mount -t proc -o ro,nosuid,nodev,noexec proc "$root/proc" 2>/dev/null || true
# an overlay has the files of the folder and none of its sockets: whoever listens there is not found through it
mount --bind "$shown" "$private/lower"
mkdir -p "$root$shown"
mount -t overlay -o "ro,nosuid,nodev,lowerdir=$private/lower:$private/empty" overlay "$root$shown"
show "$private" --bind
mount --bind "$private/record" "$root$private/record"
mount -t tmpfs -o mode=700,size=64m,nr_inodes=16k tmpfs "$root$private/home"
mkdir "$root/old"
cd "$root"
pivot_root . old
umount -l /old
rmdir /old
# the flag of the mount alone: its other options name users whom the namespace does not know
mount -o remount,bind,ro /
cd "$own"
ulimit -c 0 -f 65536 -n 256 -v 8388608
ulimit -u 512
PATH=$path exec /usr/bin/setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
`;

/** What a script started, and what a reader of the result must know about the run. */
export interface ObservedRun {
  readonly commands: readonly ObservedCommand[];
  readonly notes: readonly string[];
}

export interface ObserveOptions {
  /** How long the script may run, in milliseconds. */
  readonly limit?: number;
  /** Null: as on a machine that has no sandbox. */
  readonly sandbox?: null;
  /** Run the script without a sandbox where there is none, and say so in a note. */
  readonly mayUseNetwork?: boolean;
  /** Ends the script. */
  readonly signal?: AbortSignal;
  /** Variables of the script's environment, beside its own. */
  readonly variables?: Readonly<Record<string, string>>;
}

/**
 * Runs a shell script with recording stubs for launchers. The script executes as this user, in its own directory, for a limited
 * time, with a small environment and a private home. When the promise settles, its processes have ended and its folder is gone.
 * @returns null where `signal` ended it
 * @throws EnvironmentError where this machine has no bash, no sandbox or no folder for temporary files; the message says what is missing
 */
export async function observeScript(
  file: string,
  { limit = LIMIT_MS, sandbox, mayUseNetwork = false, signal, variables = {} }: ObserveOptions = {},
): Promise<ObservedRun | null> {
  const programs = { BASH: programAt('bash'), ENV: programAt('env'), MV: programAt('mv') };
  const script = realpathSync(resolve(file));
  const folder = await makeRunFolder('script');
  try {
    prepare(folder, programs);
    const words = sandbox === undefined ? await sandboxFor(script, folder) : sandbox;
    if (words === null && !mayUseNetwork) {
      throw new EnvironmentError(
        process.platform === 'linux'
          ? 'unshare cannot take the network and the files of this machine from it. Install util-linux, allow user namespaces, and keep the script in a folder of its own.'
          : 'only Linux can take the network and the files of this machine from it.',
      );
    }
    const end = await runToEnd([...(words ?? []), programs.BASH, script], {
      cwd: dirname(script),
      env: { ...variables, ...environmentOf(folder) },
      limit,
      signal,
      isSandboxed: words !== null,
    });
    return end === 'cancelled'
      ? null
      : {
          commands: commandsIn(join(folder, 'record')),
          notes: notesOf(words !== null, end === 'ended' ? null : limit),
        };
  } finally {
    openFolders(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Lets folders be removed that a script has closed to everybody. */
function openFolders(folder: string): void {
  try {
    chmodSync(folder, 0o700);
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) {
        openFolders(join(folder, entry.name));
      }
    }
  } catch {
    // it is gone, or belongs to another user
  }
}

/** A program of the system, never one from the caller's PATH; undefined where it is missing. */
function systemProgram(name: string): string | undefined {
  return ['/usr/bin', '/bin'].map((folder) => join(folder, name)).find((path) => existsSync(path));
}

function programAt(name: string): string {
  const found = systemProgram(name);
  if (found === undefined) {
    throw new EnvironmentError(`${name} is not on this machine; a script runs with bash on Linux or macOS.`);
  }
  return found;
}

function prepare(folder: string, programs: Readonly<Record<string, string>>): void {
  const filled = (text: string) => text.replace(/\b(BASH|ENV|MV)\b/g, (name) => programs[name] ?? name);
  for (const name of ['bin', 'record', 'home', 'root', 'lower', 'empty']) {
    mkdirSync(join(folder, name));
  }
  writeFileSync(join(folder, 'sandbox.sh'), SANDBOX);
  writeFileSync(join(folder, 'environment.sh'), BASH_SETTINGS);
  writeFileSync(join(folder, 'stub'), filled(STUB), { mode: 0o700 });
  writeFileSync(join(folder, 'record-command'), filled(RECORD_COMMAND), { mode: 0o700 });
  for (const name of STUBS) {
    symlinkSync(join(folder, 'stub'), join(folder, 'bin', name));
  }
  for (const name of TOOLS) {
    const path = systemProgram(name);
    if (path !== undefined) {
      symlinkSync(path, join(folder, 'bin', name));
    }
  }
}

function environmentOf(folder: string): NodeJS.ProcessEnv {
  return {
    PATH: join(folder, 'bin'),
    HOME: join(folder, 'home'),
    TMPDIR: join(folder, 'home'),
    USER: 'user',
    LC_ALL: 'C',
    BASH_ENV: join(folder, 'environment.sh'),
    PARALLELISM_LAYOUT_FOLDER: folder,
    PARALLELISM_LAYOUT_RECORD: join(folder, 'record'),
  };
}

/**
 * The words that start a program in namespaces of its own, which end with the process that starts it; null where Linux refuses.
 * The program is shown the script's repository, or the script's folder alone.
 */
async function sandboxFor(script: string, folder: string): Promise<readonly string[] | null> {
  const [setpriv, unshare] = ['setpriv', 'unshare'].map(systemProgram);
  const shown = repositoryOf(dirname(script)) ?? dirname(script);
  if (unshare === undefined || setpriv === undefined || dirname(shown) === shown) {
    return null;
  }
  const words = [
    ...[setpriv, '--pdeathsig', 'KILL', unshare, '--map-root-user', '--mount', '--net', '--ipc', '--pid', '--fork'],
    ...['--kill-child', programAt('bash'), '-p', join(folder, 'sandbox.sh'), folder, shown, dirname(script)],
  ];
  const [program = '', ...args] = words;
  const env = environmentOf(folder);
  return new Promise((done) =>
    execFile(program, [...args, programAt('true')], { timeout: 20_000, env }, (error) => done(error ? null : words)),
  );
}

interface Run {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly limit: number;
  readonly signal: AbortSignal | undefined;
  readonly isSandboxed: boolean;
}

/** Runs a program until it ends, its time is over, or it is cancelled; everything that it started ends with it. */
async function runToEnd(
  [program = '', ...args]: readonly string[],
  { cwd, env, limit, signal, isSandboxed }: Run,
): Promise<'ended' | 'late' | 'cancelled'> {
  if (signal?.aborted) {
    return 'cancelled';
  }
  // every process of a sandbox holds the pipe, so `close` comes when the last one is gone
  const child = spawn(program, args, {
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'ignore', isSandboxed ? 'pipe' : 'ignore'],
    detached: true,
  });
  const stop = () => endGroup(child);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stop();
  }, limit);
  signal?.addEventListener('abort', stop);
  await new Promise<void>((done) => {
    child.once('exit', stop);
    child.once('close', () => done());
    child.once('error', () => done());
  });
  clearTimeout(timer);
  signal?.removeEventListener('abort', stop);
  return signal?.aborted ? 'cancelled' : isLate ? 'late' : 'ended';
}

function endGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-(pid ?? Number.NaN), 'SIGKILL');
  } catch {
    // the group has ended
  }
}

/** The programs that were started, in order. */
function commandsIn(folder: string): ObservedCommand[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.command'));
  let left = MAX_RECORDS_BYTES;
  return names
    .sort()
    .slice(0, MAX_COMMANDS)
    .flatMap((name) => {
      const text = textOf(join(folder, name), Math.min(left, MAX_RECORD_BYTES));
      left -= text.length;
      return parseObserved(text) ?? [];
    });
}

function textOf(path: string, most: number): string {
  try {
    return new TextDecoder().decode(readRegularFile(path, most));
  } catch {
    return '';
  }
}

function notesOf(isSandboxed: boolean, limit: number | null): string[] {
  return [
    'The script was executed with recording stubs, which print nothing where it reads their output.',
    ...(isSandboxed
      ? []
      : ['This machine has no way to take the network and the files of this machine from the script.']),
    ...(limit === null
      ? []
      : [`The script was ended after ${limit / 1000} s; what it would have started later is not known.`]),
  ];
}
