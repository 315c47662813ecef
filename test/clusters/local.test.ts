import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { outputSchema } from '../../cli/outputSchemas';
import { LOCAL, parseEvent, prepareSmoke, runSmoke, type SmokeProgress } from '../../jobs';
import { cli as inProcess } from '../harness/commandLine';
import { planOf } from '../harness/layouts';
import { processesWith } from '../harness/processes';
import { flawOfEvent, flawsBy } from '../harness/schemas';

const FILE = 'examples/mimo-8gpu.layout.yaml';
const JOB = resolve('smoke');
const CLI = resolve('dist/cli.js');
const SECONDS = 1000;

const folder = mkdtempSync(join(tmpdir(), 'smoke-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

const plan = planOf(readFileSync(FILE, 'utf8'), FILE);

// runs have their folders here, so their processes can be told from those of other tests
process.env.TMPDIR = join(folder, 'runs');
mkdirSync(process.env.TMPDIR);

/** The folders of runs. Python leaves a file of another name where it is killed while it tries the folder. */
function runFolders(): string[] {
  return readdirSync(join(folder, 'runs')).filter((name) => name.startsWith('parallelism-layout-'));
}

/** The processes of the jobs that these tests start. */
function jobProcesses(): string[] {
  return processesWith('smoke_job.py', join(folder, 'runs'));
}

describe('what a person is asked before a run on this machine', () => {
  const codes = async (text: string, backend?: 'gloo') => {
    const request = { plan: planOf(text), cluster: LOCAL, jobFolder: JOB, ...(backend && { backend }) };
    const { questions } = await prepareSmoke(request);
    return questions?.map(({ code, message }) => `${code}: ${message}`);
  };

  test('is whether the CPU will do where there is no GPU, and whether so many processes will', async () => {
    const [cpu, crowded] = (await codes('layout: 1\nworld_size: 4096\nparallelism: {tp: 8}\n')) ?? [];
    expect(cpu).toMatch(/^cpu: torch sees no GPU: 4096 ranks run on the CPU with gloo/);
    expect(crowded).toMatch(/^crowded: 4096 processes on \d+ cores take about 1024 GiB of memory/);
  });

  test('is nothing where the CPU was asked for, and the ranks are few', async () => {
    expect(await codes('layout: 1\nworld_size: 2\nparallelism: {tp: 2}\n', 'gloo')).toEqual([]);
  });
});

describe('the interpreter', () => {
  const prepare = (python: string) =>
    prepareSmoke({ plan, cluster: { ...LOCAL, python }, jobFolder: JOB }).catch((error: unknown) => error);

  test('that is not there, or is no Python, is refused with the reason', async () => {
    expect(String(await prepare('/no/such/python'))).toContain('/no/such/python: not found');
    expect(String(await prepare('/bin/echo'))).toContain('/bin/echo: is no Python interpreter');
  });
});

describe('a run on this machine', () => {
  test('brings up every group of the example, and leaves nothing behind', { timeout: 120 * SECONDS }, async () => {
    const seen: SmokeProgress[] = [];
    const result = await runSmoke(
      { plan, cluster: LOCAL, jobFolder: JOB, backend: 'gloo' },
      {
        onEvent: (_, progress) => seen.push(progress),
      },
      new AbortController().signal,
    );
    expect(result.fault).toBeNull();
    expect(result).toMatchObject({ ok: true, verdict: 'ok', device: 'CPU', warnings: [] });
    const wanted = plan.groups.flatMap(({ name, module, ranks }) =>
      ranks.flatMap((group, idx) => (group.length > 1 ? [`${name} ${module} ${idx} ${group}`] : [])),
    );
    const got = result.groups.map(({ kind, module, idx, ranks }) => `${kind} ${module} ${idx} ${ranks}`);
    expect(got.sort()).toEqual(wanted.sort());
    expect(result.groups.every(({ ops }) => (ops.all_reduce?.busGBs ?? 0) > 0)).toBe(true);
    const all = wanted.length;
    expect(seen.at(-1)).toEqual({ ranks: 8, world: 8, ready: true, made: 1, groups: all, allGroups: all });
    for (const [i, { ranks, groups }] of seen.entries()) {
      expect(ranks).toBeGreaterThanOrEqual(seen[i - 1]?.ranks ?? 0);
      expect(groups).toBeGreaterThanOrEqual(seen[i - 1]?.groups ?? 0);
    }
    expect(jobProcesses()).toEqual([]);
  });

  test('is cancelled in its middle, and leaves nothing behind', { timeout: 120 * SECONDS }, async () => {
    const abort = new AbortController();
    const result = await runSmoke(
      { plan, cluster: LOCAL, jobFolder: JOB, backend: 'gloo' },
      {
        onEvent: (event) => {
          if (event.ev === 'phase' && event.name === 'join') {
            expect(jobProcesses().length).toBeGreaterThan(8);
            abort.abort();
          }
        },
      },
      abort.signal,
    );
    expect(result).toMatchObject({ ok: false, verdict: 'cancelled', groups: [] });
    expect(jobProcesses()).toEqual([]);
  });
});

describe('the command line', () => {
  const two = join(folder, 'two.layout.yaml');
  writeFileSync(
    two,
    'layout: 1\nworld_size: 2\nparallelism:\n  tp: 2\nsequence: {seq_length: 64, sequence_parallel: true}\nsmoke: {checks: [groups, collectives, sequence, all_gather_overlap, ntp], payload: 4KiB, iterations: 1}\n',
  );

  function cli(...words: string[]): ChildProcess {
    return spawn(process.execPath, [CLI, 'smoke', ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Sends a signal once all ranks have joined. */
  function signalInTheMiddle(child: ChildProcess, signal: NodeJS.Signals, stopsReferee = false): void {
    child.stdout?.on('data', (text) => {
      if (String(text).includes('"name":"join"')) {
        for (const pid of stopsReferee ? processesWith('referee', join(folder, 'runs')) : []) {
          process.kill(Number(pid), 'SIGSTOP');
        }
        child.kill(signal);
      }
    });
  }

  async function outcome(child: ChildProcess): Promise<{ status: number; out: string; err: string }> {
    let out = '';
    let err = '';
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      out += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      err += text;
    });
    const [status] = await once(child, 'close');
    return { status, out, err };
  }

  test('prints a table, says what was not checked and that the CPU proves no speed', async () => {
    const { status, out, err } = await outcome(cli(two));
    expect(status).toBe(0);
    expect(out).toMatch(/^ +Group +Groups x ranks +all_reduce +all_gather +all_to_all$/m);
    expect(out).toMatch(/^ok {2}tp +1 x 2 +ok +ok +-$/m);
    // times of a processor would read as slow links
    expect(out).not.toMatch(/\d [KMG]i?B\/s/);
    expect(out).toMatch(/^skipped {2}reduce_scatter: not on this backend$/m);
    expect(out).toMatch(
      /^ok {2}sequence: the sequence of 64 tokens, gathered over tp and cp: every position exactly once$/m,
    );
    expect(out).toMatch(/^skipped {2}all_gather_overlap: No data-parallel group/m);
    expect(out).toMatch(/passed: \d+ process groups/);
    expect(err).toContain('not speed');
  });

  test('prints the events word for word', async () => {
    const { status, out } = await outcome(cli(two, '--format', 'jsonl'));
    expect(status).toBe(0);
    const events = out.trim().split('\n');
    expect(events.every((line) => parseEvent(line) !== null)).toBe(true);
    expect(events.map(flawOfEvent).filter((flaw) => flaw !== null)).toEqual([]);
    expect(JSON.parse(events[0] ?? '')).toMatchObject({ ev: 'start', limits: { operation: 60 } });
    expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ ev: 'end', ok: true });
  });

  test('prints the result as one JSON object', async () => {
    const { status, out } = await outcome(cli(two, '--format', 'json'));
    expect(status).toBe(0);
    const result = JSON.parse(out);
    expect(result).toMatchObject({ version: 1, file: two, cluster: 'local', verdict: 'ok', fault: null });
    expect(flawsBy(outputSchema('smoke', true), result)).toBe('');
  });

  test('shows in a dry run a script that does the same where a person runs it, and starts nothing', async () => {
    const { status, out } = await outcome(cli(two, '--dry-run'));
    expect(status).toBe(0);
    expect(jobProcesses()).toEqual([]);
    expect(out).toMatch(/^# {3}.*\btp 1 x 2,/m);
    const temporary = join(folder, 'temporary');
    mkdirSync(temporary);
    // as cron and CI start it: with no input
    const env = { ...process.env, TMPDIR: temporary };
    const person = await outcome(spawn('/bin/sh', ['-c', out], { stdio: ['ignore', 'pipe', 'pipe'], env }));
    expect(person.status, person.err).toBe(0);
    expect(parseEvent(person.out.trim().split('\n').at(-1) ?? '')).toMatchObject({ ev: 'end', ok: true });
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('shows in a dry run what this machine cannot run', async () => {
    const { status, out } = await outcome(cli(two, '--dry-run', '--backend', 'nccl'));
    expect(status).toBe(0);
    expect(out).toMatch(/^# not on this machine: The layout has 2 ranks, but torch sees 0 GPUs/m);
    expect(out).toContain('"backend": "nccl"');
  });

  test('refuses a layout with errors, and an unknown cluster', async () => {
    const bad = join(folder, 'bad.layout.yaml');
    writeFileSync(bad, 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n');
    const errors = await inProcess(folder, 'smoke', bad);
    expect(errors.status).toBe(1);
    expect(errors.stderr).toContain('error[dense-factorization]');
    const stderr = 'parallelism-layout: there is no cluster moon; name its file with --clusters\n';
    expect(await inProcess(folder, 'smoke', two, '--cluster', 'moon')).toEqual({ status: 2, stdout: '', stderr });
  });

  // the referee's own tests cover SIGTERM and SIGHUP
  test('ends with a status of its own on SIGINT, and leaves nothing behind', async () => {
    const child = cli(FILE, '--format', 'jsonl');
    signalInTheMiddle(child, 'SIGINT');
    const done = await outcome(child);
    expect(done.status).toBe(130);
    expect(done.out).toContain('"verdict":"cancelled"');
    expect([...jobProcesses(), ...runFolders()]).toEqual([]);
  });

  test('ends at once with a status of its own where the referee is stopped', async () => {
    const child = cli(FILE, '--format', 'jsonl');
    signalInTheMiddle(child, 'SIGINT', true);
    const done = await outcome(child);
    expect(done.status).toBe(130);
    expect(done.out).toContain('"verdict":"cancelled"');
    expect([...jobProcesses(), ...runFolders()]).toEqual([]);
  });

  test('is cancelled when nobody reads its output, and does not pass for it', async () => {
    const child = cli(FILE, '--format', 'jsonl');
    child.stdout?.once('data', () => child.stdout?.destroy());
    const [status] = await once(child, 'exit');
    expect(status).toBe(141);
    await expect.poll(() => [...jobProcesses(), ...runFolders()], { timeout: 30 * SECONDS }).toEqual([]);
  });

  test('imports nothing of the folder in which it is called', async () => {
    const repository = join(folder, 'repository');
    mkdirSync(join(repository, 'torch'), { recursive: true });
    const pwned = `import pathlib; pathlib.Path(${JSON.stringify(join(folder, 'pwned'))}).touch()`;
    for (const name of ['uuid.py', 'sitecustomize.py', 'torch/__init__.py', 'json.py']) {
      writeFileSync(join(repository, name), pwned);
    }
    writeFileSync(join(repository, 'python3'), `#!/bin/sh\ntouch ${join(folder, 'pwned')}\n`, { mode: 0o755 });
    // empty entries mean the current directory
    const env = { ...process.env, PYTHONPATH: ':', PATH: `:.:${process.env.PATH}`, SMOKE_FIRST_RANK: '5', RANK: '1' };
    const words = [CLI, 'smoke', two, '--format', 'jsonl'];
    const { status, err } = await outcome(
      spawn(process.execPath, words, { cwd: repository, env, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    expect(status, err).toBe(0);
    expect(existsSync(join(folder, 'pwned'))).toBe(false);
  });

  test('says in one line that the temporary folder cannot be written', async () => {
    const env = { ...process.env, TMPDIR: '/proc/none' };
    const { status, err } = await outcome(
      spawn(process.execPath, [CLI, 'smoke', two], { env, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    expect(status).toBe(2);
    expect(err.trim().split('\n').at(-1)).toMatch(
      /^parallelism-layout: No folder can be made in \/proc\/none .* Set TMPDIR/,
    );
  });

  test('leaves nothing behind when it is killed, a referee that is stopped neither', async () => {
    const child = cli(FILE, '--format', 'jsonl');
    signalInTheMiddle(child, 'SIGKILL', process.platform === 'linux');
    await outcome(child);
    await expect.poll(() => [...jobProcesses(), ...runFolders()], { timeout: 30 * SECONDS }).toEqual([]);
  });
});
