import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  attachWith,
  DETACH,
  DetachedError,
  dryRunScript,
  EnvironmentError,
  type JobState,
  runWith,
  type SlurmCluster,
  type SmokeEvent,
  type SmokeResult,
  savedRuns,
  secondsOf,
  slurmBackendWith,
  smokePlan,
} from '../../client/cluster';
import { check } from '../../layout';
import { SlurmLab, until } from './slurmCluster';

const SECONDS = 1000;
const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';
const backend = slurmBackendWith({ files: 0.2, squeue: 1, patience: 60 });

let lab: SlurmLab;
beforeAll(async () => {
  lab = await SlurmLab.start(2, 16);
  process.env.SLURM_CONF = lab.environment.SLURM_CONF;
}, 120 * SECONDS);
afterAll(() => lab?.stop(), 120 * SECONDS);

const layout = (ranks: number) =>
  `layout: 1\nname: smoke test\nworld_size: ${ranks}\nparallelism: {tp: 2}\nsmoke: {checks: [groups], payload: 1KiB, iterations: 1}\n`;

function planOf(text: string) {
  const { resolved, facts } = check(text);
  if (!resolved || !facts) {
    throw new Error('the layout has errors');
  }
  return smokePlan(resolved, facts, 'test.layout.yaml', 'gloo');
}

/** One run, followed as an editor follows it. */
class Followed {
  readonly states: JobState[] = [];
  readonly events: SmokeEvent[] = [];
  readonly log: string[] = [];
  readonly abort = new AbortController();
  readonly runs: string;
  result: Promise<SmokeResult>;

  constructor(
    settings: Partial<SlurmCluster>,
    text = layout(2),
    /** Is told of every event and state. */
    readonly watch: (run: Followed) => void = () => undefined,
  ) {
    const cluster: SlurmCluster = { ...here(), ...settings };
    this.runs = join(lab.folder, `runs-${cluster.name}`);
    const request = { plan: planOf(text), cluster, job: resolve('smoke') };
    this.result = runWith(backend, request, this.listener(), this.abort.signal, this.runs);
  }

  listener() {
    return {
      onState: (state: JobState) => {
        this.states.push(state);
        this.watch(this);
      },
      onEvent: (event: SmokeEvent) => {
        this.events.push(event);
        this.watch(this);
      },
      onLog: (line: string) => this.log.push(line),
    };
  }

  get job(): string {
    return this.states.find(({ job }) => job !== undefined)?.job ?? '';
  }

  phases(): string[] {
    return this.states.map(({ phase }) => phase).filter((phase, i, all) => phase !== all[i - 1]);
  }

  passed(name: string): boolean {
    return this.events.some((event) => event.ev === 'phase' && event.name === name);
  }

  async runsNow(): Promise<void> {
    await until('the job runs', () => this.states.some(({ phase }) => phase === 'running'));
  }
}

let count = 0;
function here(): SlurmCluster {
  count++;
  const name = `c${count}`;
  return { name, kind: 'slurm', backend: 'gloo', python: PYTHON, work_directory: join(lab.folder, 'work', name) };
}

/** A program of the shell, in the place of an interpreter. */
function program(name: string, text: string): string {
  const path = join(lab.folder, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
}

/** Names of what lies in a folder, at any depth. */
function filesUnder(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : [];
}

function expectNothingLeft(): void {
  expect(lab.jobs()).toEqual([]);
  expect(filesUnder(join(lab.folder, 'work')).filter((name) => name.includes('smoke-'))).toEqual([]);
}

describe('a time of Slurm', () => {
  test.each([
    ['5', 300],
    ['5:30', 330],
    ['1:00:00', 3600],
    ['1-2', 93_600],
    ['1-2:3', 93_780],
    ['1-2:3:4', 93_784],
  ])('%s is %d s', (text, seconds) => expect(secondsOf(text)).toBe(seconds));
});

describe('a job of Slurm', () => {
  afterEach(expectNothingLeft);

  test('waits with its reason, then brings up 16 ranks over two nodes in order', {
    timeout: 240 * SECONDS,
  }, async () => {
    const blocker = lab.occupy('smoke');
    const run = new Followed({ ranks_per_node: 8 }, layout(16), ({ states }) => {
      if (states.at(-1)?.phase === 'queued' && /Resources|Priority/.test(states.at(-1)?.detail ?? '')) {
        lab.run('scancel', blocker);
      }
    });
    const result = await run.result;
    expect(result.fault).toBeNull();
    expect(result).toMatchObject({ ok: true, verdict: 'ok', warnings: [] });
    expect(run.phases().slice(0, 3)).toEqual(['submitting', 'queued', 'running']);
    expect(run.states.find(({ phase }) => phase === 'running')?.detail).toBe('n[1-2]');
    const nodes = run.events.flatMap((event) => (event.ev === 'rank' ? [[event.rank, event.node]] : []));
    expect(nodes.sort(([a], [b]) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 16 }, (_, rank) => [rank, rank < 8 ? 'n1' : 'n2']),
    );
    expect(savedRuns(run.runs)).toEqual([]);
  });

  test('of which a rank fails is ended, and the rank is named', { timeout: 120 * SECONDS }, async () => {
    const faulty = resolve('test/smoke/faulty_rank.py');
    const python = program('failing-python', `shift; RANK=$SLURM_PROCID exec ${PYTHON} ${faulty} 3:exit@create:0 "$@"`);
    const run = new Followed({ ranks_per_node: 2, python, referee_python: PYTHON }, layout(4));
    const result = await run.result;
    expect(result).toMatchObject({ ok: false, verdict: 'rank_lost', fault: { culprits: [3] } });
  });

  test('is cancelled while it waits, and while it runs', { timeout: 120 * SECONDS }, async () => {
    const blocker = lab.occupy('smoke');
    const waiting = new Followed({}, layout(2), ({ states, abort }) => {
      if (states.at(-1)?.phase === 'queued') {
        abort.abort();
      }
    });
    expect(await waiting.result).toMatchObject({ ok: false, verdict: 'cancelled', groups: [] });
    expect(waiting.phases()).not.toContain('running');
    lab.run('scancel', blocker);
    const running = new Followed({}, layout(2), (run) => run.passed('join') && run.abort.abort());
    expect(await running.result).toMatchObject({ ok: false, verdict: 'cancelled' });
    await until('the blocking job is gone', () => lab.jobs().length === 0);
  });

  test('that Slurm ends names the reason: scancel, preemption, the time limit', {
    timeout: 240 * SECONDS,
  }, async () => {
    const setup = ['sleep 600'];
    const cancelled = new Followed({ setup });
    const preempted = new Followed({ setup, partition: 'low', options: ['--nodelist=n2'] });
    const late = new Followed({ setup });
    await Promise.all([cancelled.runsNow(), preempted.runsNow(), late.runsNow()]);
    // the controller looks at time limits every 30 s
    lab.run('scontrol', 'update', `JobId=${late.job}`, 'EndTime=now+1');
    lab.run('scancel', cancelled.job);
    const high = lab.run(
      'sbatch',
      '--parsable',
      '--partition=high',
      '--nodelist=n2',
      '--exclusive',
      '--output=/dev/null',
      '--wrap=true',
    );
    expect(await cancelled.result).toMatchObject({ ok: false, verdict: 'job_cancelled' });
    expect(await preempted.result).toMatchObject({ ok: false, verdict: 'preempted' });
    const result = await late.result;
    expect(result).toMatchObject({ ok: false, verdict: 'time_limit' });
    expect(result.fault?.msg).toContain(`Slurm job ${late.job} on n1 reached its time limit`);
    await until('the other job has run', () => !lab.jobs().includes(high));
  });

  test('goes on while its controller is gone', { timeout: 180 * SECONDS }, async () => {
    const go = join(lab.folder, 'go');
    const python = program('patient-python', `until [ -e ${go} ]; do sleep 0.1; done; exec ${PYTHON} "$@"`);
    const run = new Followed({ python, referee_python: PYTHON });
    await run.runsNow();
    await until('the step runs', () => lab.run('squeue', '--noheader', '--steps').includes(`${run.job}.0`));
    await lab.stopController();
    await until('the controller is missed', () => run.states.at(-1)?.phase === 'disconnected');
    expect(run.states.at(-1)?.detail).toContain('Unable to contact slurm controller');
    writeFileSync(go, '');
    lab.startController();
    expect(await run.result).toMatchObject({ ok: true, verdict: 'ok' });
    await until('the controller is back', () => lab.jobs().length === 0);
  });

  test('is left, followed again from its first event, and cancelled', { timeout: 120 * SECONDS }, async () => {
    const run = new Followed({ setup: ['sleep 2'] }, layout(2), ({ states, abort }) => {
      if (states.at(-1)?.phase === 'running') {
        abort.abort(DETACH);
      }
    });
    await expect(run.result).rejects.toThrow(DetachedError);
    const [saved] = savedRuns(run.runs);
    if (!saved) {
      throw new Error('the run was forgotten');
    }
    expect(lab.jobs()).toEqual([saved.ticket.job]);
    const result = await attachWith(backend, saved, run.listener(), new AbortController().signal, run.runs);
    expect(result).toMatchObject({ ok: true, verdict: 'ok' });
    expect(run.events.map(({ ev }) => ev)).toEqual(expect.arrayContaining(['start', 'rank', 'group', 'end']));
    expect(savedRuns(run.runs)).toEqual([]);
  });

  test('that Slurm does not take is refused with its reason', async () => {
    const run = new Followed({ partition: 'moon' });
    const error: unknown = await run.result.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(EnvironmentError);
    expect(String(error)).toContain('invalid partition specified: moon');
    expect(savedRuns(run.runs)).toEqual([]);
  });

  test('does in a dry run, as a script that a person runs, what it says', { timeout: 120 * SECONDS }, async () => {
    const cluster = { ...here(), setup: ["export GREETING='a b'", 'echo "$GREETING" END_OF_FILE', 'END_OF_FILE=1'] };
    const launch = await backend.prepare({ plan: planOf(layout(2)), cluster, job: resolve('smoke') }, '/nowhere');
    const script = dryRunScript(launch, 'test');
    expect(lab.jobs()).toEqual([]);
    const person = spawn('/bin/sh', ['-c', script], { env: lab.environment, stdio: ['ignore', 'pipe', 'inherit'] });
    let job = '';
    person.stdout.on('data', (text) => {
      job += text;
    });
    await until('the job has run', () => job !== '' && !lab.jobs().includes(job.trim()), 90);
    const folder = launch.place?.folder ?? '';
    expect(readFileSync(join(folder, 'ended'), 'utf8')).toBe('0\n');
    expect(readFileSync(join(folder, 'log'), 'utf8')).toContain('a b END_OF_FILE');
    await backend.attach?.(
      cluster,
      { job: job.trim(), folder },
      { events: () => undefined, log: () => undefined, state: () => undefined, submitted: () => undefined },
      new AbortController().signal,
    );
  });
});
