import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { outputSchema } from '../../cli/outputSchemas';
import {
  chooseBackend,
  EnvironmentError,
  LOCAL,
  parseEvent,
  prepareSmoke,
  runSmoke,
  type SmokeProgress,
  smokePlan,
} from '../../jobs';
import { check } from '../../layout';
import { processesWith } from '../harness/processes';
import { flawOfEvent, flawsBy } from '../harness/schemas';

const FILE = 'examples/mimo-8gpu.layout.yaml';
const JOB = resolve('smoke');
const CLI = resolve('dist/cli.js');
const SECONDS = 1000;

const folder = mkdtempSync(join(tmpdir(), 'smoke-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

function planOf(text: string, file = FILE) {
  const { resolved, facts } = check(text);
  if (!resolved || !facts) {
    throw new Error('the layout has errors');
  }
  return smokePlan(resolved, facts, file, 'gloo');
}

const plan = planOf(readFileSync(FILE, 'utf8'));

// runs have their folders here, so their processes can be told from those of other tests
process.env.TMPDIR = join(folder, 'runs');
mkdirSync(process.env.TMPDIR);

/** The processes of the jobs that these tests start. */
function jobProcesses(): string[] {
  return processesWith('smoke_job.py', join(folder, 'runs'));
}

describe('the plan', () => {
  test('says for every family of groups the line of the layout that it comes from', () => {
    const text = readFileSync(FILE, 'utf8').split('\n');
    const line = (name: string, module: string) =>
      text[(plan.groups.find((family) => family.name === name && family.module === module)?.line ?? 0) - 1]?.trim();
    expect(line('tp', 'images')).toBe('tp: 2');
    expect(line('pp', 'language')).toBe('pp: 2');
    expect(line('cp', 'language')).toBe('language:');
    expect(plan.groups.every(({ file }) => file === FILE)).toBe(true);
  });

  test('is what the layout asks for', () => {
    const text = `layout: 1\nworld_size: 2\nparallelism: {tp: 2}\nsmoke: {checks: [groups], payload: 1KiB, iterations: 7, timeout: 90s}\n`;
    expect(planOf(text)).toMatchObject({
      world_size: 2,
      checks: ['groups'],
      payload_bytes: 1024,
      iterations: 7,
      limits: { operation: 90 },
    });
  });

  test('holds every group of the largest worlds; a world beyond them is refused, however large it is', () => {
    const world = (ranks: number) =>
      `layout: 1\nworld_size: ${ranks}\nparallelism: {tp: 8, pp: 16, ep: 8, expt_tp: 1}\n`;
    const { groups } = planOf(world(2 ** 17));
    expect(groups.find(({ name }) => name === 'tp')?.ranks).toHaveLength(2 ** 14);
    expect(() => planOf(world(2 ** 20))).toThrow(/^The process groups of 1,048,576 ranks have .* 5,000,000 at most/);
    expect(() => planOf(world(2 ** 30))).toThrow(EnvironmentError);
  });

  const overlapOf = (text: string) => planOf(`layout: 1\nsmoke: {checks: [all_gather_overlap]}\n${text}`);

  test('makes a second communicator for the check of overlap, where the layout has none', () => {
    const { groups, overlap } = overlapOf('world_size: 4\nparallelism: {tp: 2}\n');
    const flat = groups.flatMap(({ name, check, ranks }) => ranks.map((members) => ({ name, check, members })));
    const [pair] = overlap ?? [];
    expect(flat[pair?.group ?? -1]).toEqual({ name: 'dp_cp', check: undefined, members: [0, 2] });
    expect(flat[pair?.other ?? -1]).toEqual({ name: 'dp_cp_ag', check: 'all_gather_overlap', members: [0, 2] });
  });

  test('has nothing to overlap without data parallelism, and does not unless asked', () => {
    expect(overlapOf('world_size: 2\nparallelism: {tp: 2}\n').overlap).toEqual([]);
    expect(plan.overlap).toBeUndefined();
  });

  test('carries the spares of nonuniform TP, and its replacement groups after those of the layout', () => {
    const text = readFileSync('examples/ntp-64gpu.layout.yaml', 'utf8');
    const { spares, groups } = planOf(`${text}\nsmoke: {checks: [groups, ntp]}\n`);
    expect(spares).toEqual([6, 7]);
    expect(groups.at(-1)).toMatchObject({ name: 'tp', check: 'ntp', ranks: [[0, 1, 2, 3, 4, 5]] });
    expect(groups.filter(({ check }) => check !== undefined)).toHaveLength(1);
    const packed = text.replace('world_size: 64', 'world_size: 62').replace(/cluster:[\s\S]*?\n\n/, '');
    expect(planOf(`${packed}  placement: packed\nsmoke: {checks: [groups, ntp]}\n`)).toMatchObject({ spares: [] });
  });

  test('says which tokens every rank of a replica holds', () => {
    const { sequence } = planOf(
      'layout: 1\nworld_size: 4\nparallelism: {tp: 2, cp: 2}\nsequence: {seq_length: 16, sequence_parallel: true}\nsmoke: {checks: [sequence]}\n',
    );
    const share = (cp_rank: number, tp_rank: number, ranges: number[][]) => ({ cp_rank, tp_rank, ranges });
    expect(sequence).toEqual([
      {
        module: null,
        length: 16,
        gather: ['tp', 'cp'],
        shares: [share(0, 0, [[0, 4]]), share(0, 1, [[12, 16]]), share(1, 0, [[4, 8]]), share(1, 1, [[8, 12]])],
      },
    ]);
  });
});

describe('the backend', () => {
  test('is gloo where there is no GPU, or where it is asked for', () => {
    expect(chooseBackend('auto', { gpus: 0 }, 8)).toBe('gloo');
    expect(chooseBackend('gloo', { gpus: 4 }, 8)).toBe('gloo');
    expect(chooseBackend('auto', { gpus: 8 }, 8)).toBe('nccl');
  });

  test('never lets two ranks share a GPU', () => {
    expect(() => chooseBackend('auto', { gpus: 4 }, 8)).toThrow(EnvironmentError);
    expect(() => chooseBackend('nccl', { gpus: 0 }, 8)).toThrow(/8 ranks, but torch sees 0 GPUs/);
  });
});

describe('what a person is asked before a run on this machine', () => {
  const codes = async (text: string, backend?: 'gloo') => {
    const request = { plan: planOf(text), cluster: LOCAL, job: JOB, ...(backend && { backend }) };
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
    prepareSmoke({ plan, cluster: { ...LOCAL, python }, job: JOB }).catch((error: unknown) => error);

  test('that is not there, or is no Python, is refused with the reason', async () => {
    expect(String(await prepare('/no/such/python'))).toContain('/no/such/python: not found');
    expect(String(await prepare('/bin/echo'))).toContain('/bin/echo: is no Python interpreter');
  });
});

describe('an event', () => {
  interface EventSchema {
    readonly required: readonly string[];
    readonly properties: { readonly ev: { readonly const: string } };
  }
  const schema = JSON.parse(readFileSync('schemas/smoke-events.schema.json', 'utf8')) as { oneOf: EventSchema[] };
  const group = { group: 3, kind: 'tp', idx: 1, ranks: [2, 3] };
  const ops = { all_reduce: { bytes: 4, ms: 1, busGBs: 2 }, x: { skipped: 'no' } };
  const limits = { join: 1, import: 1, gate: 1, operation: 1, beat: 1, total: 1 };
  const whole: Record<string, Record<string, unknown>> = {
    start: { version: 1, job: 'local', world: 8, groups: 9, layout: 'x', wall: 1.5, limits },
    rank: { rank: 1, host: 'a', local: 1, pid: 7 },
    phase: { name: 'join', ok: true },
    group: { ok: true, ms: 1, ops, ...group },
    check: { name: 'ntp', ok: false, skipped: 'no' },
    fault: { code: 'op_timeout', exit: 15, msg: 'stuck', suspect: [3], host: 'a', ...group },
    end: { ok: false, verdict: 'op_timeout', exit: 15, secs: 3 },
  };
  test('of the check `bandwidth` tells of one group at one payload', () => {
    expect(parseEvent(JSON.stringify({ ev: 'check', t: 1, name: 'bandwidth', ok: true, ops, ...group }))).toEqual({
      ev: 'check',
      name: 'bandwidth',
      ok: true,
      measured: { ops: { all_reduce: ops.all_reduce }, skippedOps: { x: 'no' }, module: null, ...group },
    });
  });

  test('of the check `all_gather_overlap` tells the ratio', () => {
    const found = { ev: 'check', t: 1, name: 'all_gather_overlap', ok: true, ratio: 1.12, msg: 'faster', ...group };
    expect(parseEvent(JSON.stringify(found))).toMatchObject({ ok: true, ratio: 1.12, msg: 'faster' });
  });

  /** What the schema requires and no reader here needs. */
  const unread: Record<string, string[]> = { start: ['job', 'wall', 'limits'], rank: ['local'] };

  test.each(schema.oneOf.map(({ required, properties }) => ({ ev: properties.ev.const, required })))(
    '$ev is read, and refused without a field that it must have',
    ({ ev, required }) => {
      const event = { ev, t: 1, ...whole[ev] };
      expect(parseEvent(JSON.stringify(event))).toMatchObject({ ev });
      for (const key of required.filter((name) => !unread[ev]?.includes(name))) {
        expect(parseEvent(JSON.stringify({ ...event, [key]: undefined })), key).toBeNull();
        expect(parseEvent(JSON.stringify({ ...event, [key]: { wrong: 'type' } })), key).toBeNull();
      }
    },
  );

  test('names the culprits of a fault, whichever way the job names them', () => {
    const culprits = (fields: object) => parseEvent(JSON.stringify({ ev: 'fault', t: 1, ...whole.fault, ...fields }));
    expect(culprits({})).toMatchObject({ culprits: [3], group: 3, module: null, host: 'a' });
    expect(culprits({ suspect: undefined, missing: [1, 2] })).toMatchObject({ culprits: [1, 2] });
    expect(culprits({ suspect: undefined, rank: 5 })).toMatchObject({ culprits: [5] });
  });

  test.each(['', 'x', 'null', '[]', '{"ev":"other","t":1}'])('%j is none', (line) => {
    expect(parseEvent(line)).toBeNull();
  });
});

describe('a run on this machine', () => {
  test('brings up every group of the example, and leaves nothing behind', { timeout: 120 * SECONDS }, async () => {
    const seen: SmokeProgress[] = [];
    const result = await runSmoke(
      { plan, cluster: LOCAL, job: JOB, backend: 'gloo' },
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
      { plan, cluster: LOCAL, job: JOB, backend: 'gloo' },
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
  function signalInTheMiddle(child: ChildProcess, signal: NodeJS.Signals): void {
    child.stdout?.on('data', (text) => {
      if (String(text).includes('"name":"join"')) {
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

  test('refuses a layout with errors, a file that is not there, and a cluster that nobody knows', async () => {
    const bad = join(folder, 'bad.layout.yaml');
    writeFileSync(bad, 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n');
    const errors = await outcome(cli(bad));
    expect(errors.status).toBe(2);
    expect(errors.err).toContain('error[dense-factorization]');
    expect((await outcome(cli(join(folder, 'none.layout.yaml')))).status).toBe(2);
    const unknown = await outcome(cli(two, '--cluster', 'moon'));
    expect(unknown.status).toBe(2);
    expect(unknown.err).toContain('moon');
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('ends with a status of its own on %s, and leaves nothing behind', async (signal, status) => {
    const child = cli(FILE, '--format', 'jsonl');
    signalInTheMiddle(child, signal);
    const done = await outcome(child);
    expect(done.status).toBe(status);
    expect(done.out).toContain('"verdict":"cancelled"');
    expect([...jobProcesses(), ...readdirSync(join(folder, 'runs'))]).toEqual([]);
  });

  test('ends at once with a status of its own where the referee is stopped', async () => {
    const child = cli(FILE, '--format', 'jsonl');
    child.stdout?.on('data', (text) => {
      if (String(text).includes('"name":"join"')) {
        for (const pid of processesWith('referee', join(folder, 'runs'))) {
          process.kill(Number(pid), 'SIGSTOP');
        }
        child.kill('SIGINT');
      }
    });
    const done = await outcome(child);
    expect(done.status).toBe(130);
    expect(done.out).toContain('"verdict":"cancelled"');
    expect([...jobProcesses(), ...readdirSync(join(folder, 'runs'))]).toEqual([]);
  });

  test('is cancelled when nobody reads its output, and does not pass for it', async () => {
    const child = cli(FILE, '--format', 'jsonl');
    child.stdout?.once('data', () => child.stdout?.destroy());
    const [status] = await once(child, 'exit');
    expect(status).toBe(141);
    await expect
      .poll(() => [...jobProcesses(), ...readdirSync(join(folder, 'runs'))], { timeout: 30 * SECONDS })
      .toEqual([]);
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

  test('leaves nothing behind when it is killed', async () => {
    const child = cli(FILE, '--format', 'jsonl');
    signalInTheMiddle(child, 'SIGKILL');
    await outcome(child);
    await expect
      .poll(() => [...jobProcesses(), ...readdirSync(join(folder, 'runs'))], { timeout: 30 * SECONDS })
      .toEqual([]);
  });
});
