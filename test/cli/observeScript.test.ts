import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { observeScript } from '../../jobs';
import { readLaunchFile } from '../../layout/launch';
import { processesWith } from '../harness/processes';
import { until } from '../harness/until';

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-record-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function script(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const folders = () =>
  readdirSync(tmpdir()).filter((name) => name.startsWith(`parallelism-layout-script-${process.pid}-`)).length;

test('what a script starts is recorded, also where it is computed, and nothing of it is really run', async () => {
  const text = `cd / && touch "$HOME/../../touched" ${folder}/touched
TP=$(seq 1 4 | tail -n 1)
WORDS=$(printf '%s' "--tensor-model-parallel-size $TP")
rm -rf ${folder}
srun --nodes 2 bash -c "torchrun --nproc-per-node 8 pretrain_gpt.py $WORDS --num-layers 8" | tee log.txt
my-own-launcher --flag 'a  b'
`;
  const before = folders();
  const run = await observeScript(script('train.sh', text));
  const commands = run?.commands ?? [];
  expect(commands.map(({ args }) => args)).toContainEqual(['my-own-launcher', '--flag', 'a  b']);
  expect(commands.map(({ args }) => args)).toContainEqual([
    ...['torchrun', '--nproc-per-node', '8', 'pretrain_gpt.py'],
    ...['--tensor-model-parallel-size', '4', '--num-layers', '8'],
  ]);
  expect(existsSync(folder)).toBe(true);
  expect(existsSync(join(folder, 'touched'))).toBe(false);
  expect(folders()).toBe(before);
  expect(run?.notes[0]).toContain('was executed');

  const { family, values } = readLaunchFile('train.sh', text, () => null, { observed: commands });
  const found = Object.fromEntries(values.map(({ key, value, source }) => [key, { value, source }]));
  expect(family).toBe('megatron-lm');
  expect(found['parallelism.tp']).toEqual({ value: 4, source: { file: 'train.sh', line: 3 } });
  expect(found['model.num_layers']).toMatchObject({ value: 8 });
});

test('the environment of the caller is not that of the script', async () => {
  process.env.PARALLELISM_LAYOUT_SECRET = 'secret';
  try {
    const run = await observeScript(script('secret.sh', 'NNODES=2 torchrun "$PARALLELISM_LAYOUT_SECRET" x.py\n'));
    const [command] = run?.commands ?? [];
    expect(command?.args).toEqual(['torchrun', '', 'x.py']);
    expect(command?.environment).toMatchObject({ NNODES: '2' });
    expect(command?.environment).not.toHaveProperty('PARALLELISM_LAYOUT_SECRET');
  } finally {
    delete process.env.PARALLELISM_LAYOUT_SECRET;
  }
});

const ENDLESS = 'while :; do :; done &\nwhile :; do :; done\n';

test('a script that does not end is ended', async () => {
  const run = await observeScript(script('endless.sh', ENDLESS), { limit: 200 });
  expect(run?.notes.at(-1)).toContain('ended after 0.2 s');
  expect(processesWith('endless.sh', folder)).toEqual([]);
});

test('a script that is cancelled leaves no process and no folder', async () => {
  const before = folders();
  const cancelled = new AbortController();
  const running = observeScript(script('cancelled.sh', ENDLESS), { limit: 60_000, signal: cancelled.signal });
  await until(
    () => processesWith('cancelled.sh', folder),
    ({ length }) => length > 2,
    'the script runs',
  );
  cancelled.abort();
  expect(await running).toBeNull();
  expect(processesWith('cancelled.sh', folder)).toEqual([]);
  expect(folders()).toBe(before);
  expect(await observeScript(script('cancelled.sh', ENDLESS), { signal: cancelled.signal })).toBeNull();
});

test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'a script is run for an ordinary user as it is for root',
  () => {
    const shared = mkdtempSync(join(tmpdir(), 'parallelism-layout-user-'));
    chmodSync(shared, 0o755);
    try {
      // where this repository lies, others may not read
      cpSync(process.execPath, join(shared, 'node'));
      cpSync('dist', join(shared, 'dist'), { recursive: true });
      const file = join(shared, 'train.sh');
      writeFileSync(
        file,
        'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size $(seq 1 4 | tail -n 1)\n',
      );
      const user = ['--reuid=65534', '--regid=65534', '--clear-groups'];
      const command = [join(shared, 'node'), join(shared, 'dist/cli.js'), 'import', '--run', file];
      expect(execFileSync('setpriv', [...user, ...command], { cwd: shared, encoding: 'utf8' })).toMatch(
        /^ {2}tp: 4\b/m,
      );
    } finally {
      rmSync(shared, { recursive: true, force: true });
    }
  },
);

test.runIf(process.platform === 'linux').each(['SIGKILL', 'SIGTERM'] as const)(
  'a script ends with the program that runs it: %s',
  async (signal) => {
    const file = script('orphan.sh', ENDLESS);
    const program = spawn(process.execPath, ['dist/cli.js', 'import', '--run', file], { stdio: 'ignore' });
    await until(
      () => processesWith('orphan.sh', folder, 'bash'),
      ({ length }) => length > 2,
      'the script runs',
    );
    program.kill(signal);
    const [status] = await once(program, 'exit');
    expect(status).toBe(signal === 'SIGTERM' ? 143 : null);
    await until(
      () => processesWith('orphan.sh', folder),
      ({ length }) => length === 0,
      'the script has ended',
      5,
    );
  },
);

test.runIf(process.platform === 'linux')(
  'a script is not run where network and files cannot be taken away',
  async () => {
    await expect(observeScript(script('train.sh', 'torchrun x.py\n'), { sandbox: null })).rejects.toThrow(
      'unshare cannot take the network and the files of this machine from it.',
    );
  },
);

test.skipIf(process.platform !== 'linux')(
  'a script finds no way out: files, sockets, programs, capabilities',
  async () => {
    const repository = join(folder, 'repository');
    const data = join(repository, 'data');
    mkdirSync(join(repository, '.git'), { recursive: true });
    mkdirSync(data);
    writeFileSync(join(data, 'file'), 'x');
    writeFileSync(join(folder, 'beyond'), 'secret');
    const socket = createServer().listen(join(folder, 'socket'));
    await once(socket, 'listening');
    let reached = 0;
    const inside = createServer(() => reached++).listen(join(data, 'socket'));
    await once(inside, 'listening');
    const attacks = [
      `export PATH=/usr/bin:/bin:$PATH; rm -rf ${data}`,
      `command -p rm -rf ${data}; env PATH=/usr/bin rm -rf ${data}; /bin/rm -rf ${data}`,
      `echo x >> ${data}/file; echo x > ${repository}/new; echo x > ${folder}/new; echo x > /usr/bin/new; echo x > /new`,
      'mount -o remount,rw / ; mount -o remount,bind,rw /usr; unshare --user --map-root-user --mount mount -o remount,bind,rw /usr',
      `chmod 000 "$HOME"; mkdir -p "$PARALLELISM_LAYOUT_RECORD/x/y"; chmod 000 "$PARALLELISM_LAYOUT_RECORD/x"`,
      `found() { my-own-launcher found "$@"; }`,
      `[ -e ${folder}/beyond ] && found beyond`,
      `[ -e ${folder}/socket ] && found socket`,
      'for path in /run /home /root /var /old /etc/passwd /dev/tty /dev/shm; do [ -e "$path" ] && found "$path"; done',
      '/usr/bin/python3 -c "import socket; socket.create_connection((\'127.0.0.1\', 22), 1)" && found network',
      `/usr/bin/python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('${data}/socket')" && found own`,
      `/usr/bin/perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un("${data}/socket")) or exit 1' && found own`,
      'touch /usr/x 2>/dev/null && found usr',
      `/usr/bin/find / -xdev -writable -not -path '/proc/*' -not -path '/dev/*' -not -type l 2>/dev/null | /usr/bin/head -n 3 | while read -r path; do [ -d "$path" ] || found "$path"; done`,
      // root may set these without a capability, and one of them names a program of the kernel's
      '/usr/bin/find /proc/sys /proc/self -maxdepth 3 -type f -writable 2>/dev/null | /usr/bin/head -n 3 | while read -r path; do found "$path"; done',
      'my-own-launcher ran',
      'for i in $(seq 1 2000); do /usr/bin/sleep 5 & done 2>/dev/null',
    ];
    const file = join(repository, 'attack.sh');
    writeFileSync(file, `${attacks.join('\n')}\n`);
    const before = folders();
    try {
      const run = await observeScript(file);
      const started = (run?.commands ?? [])
        .map(({ args }) => args)
        .filter(([program]) => program === 'my-own-launcher');
      expect(started).toEqual([['my-own-launcher', 'ran']]);
    } finally {
      socket.close();
      inside.close();
    }
    expect(reached).toBe(0);
    expect(readFileSync(join(data, 'file'), 'utf8')).toBe('x');
    expect(readdirSync(repository).sort()).toEqual(['.git', 'attack.sh', 'data']);
    expect(folders()).toBe(before);
  },
);
