import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  attachSmoke,
  DETACH,
  DetachedError,
  dryRunScript,
  EnvironmentError,
  type JobState,
  parseClusters,
  runSmoke,
  type SlurmCluster,
  type SmokeEvent,
  type SmokeResult,
  savedRuns,
  saveRun,
} from '../../jobs';
import { slurmBackendWith } from '../../jobs/slurm/backend';
import { Shell } from '../../jobs/slurm/shell';
import { shellQuoted } from '../../layout';
import { exportLayout } from '../../layout/launch';
import { planOf } from '../harness/layouts';
import { processesWith } from '../harness/processes';
import { until } from '../harness/until';
import { SlurmLab } from './slurmCluster';
import { SshServer } from './sshServer';

const SECONDS = 1000;
const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';
const backend = slurmBackendWith({ files: 0.2, squeue: 1, patience: 60 });

let lab: SlurmLab;
beforeAll(async () => {
  lab = await SlurmLab.start(3, 16);
  process.env.SLURM_CONF = lab.environment.SLURM_CONF;
}, 120 * SECONDS);
afterAll(() => lab?.stop(), 120 * SECONDS);

const layout = (ranks: number) =>
  `layout: 1\nname: smoke test\nworld_size: ${ranks}\nparallelism: {tp: 2}\nsmoke: {checks: [groups], payload: 1KiB, iterations: 1}\n`;

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
    const request = { plan: planOf(text), cluster, jobFolder: resolve('smoke') };
    this.result = runSmoke(request, this.listener(), this.abort.signal, this.runs, backend);
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

  /** The node of each rank, in the order of ranks. */
  nodes(): (string | undefined)[] {
    const ranks = this.events.flatMap((event) => (event.ev === 'rank' ? [event] : []));
    return ranks.sort((a, b) => a.rank - b.rank).map(({ node }) => node);
  }

  passed(name: string): boolean {
    return this.events.some((event) => event.ev === 'phase' && event.name === name);
  }

  async runsNow(): Promise<void> {
    await until(() => this.states.some(({ phase }) => phase === 'running'), Boolean, 'the job runs');
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

const isEmpty = ({ length }: readonly unknown[]) => length === 0;

async function expectNothingLeft(): Promise<void> {
  await until(() => lab.jobs(), isEmpty, 'no job is left');
  await until(() => processesWith(`${lab.folder}/work`), isEmpty, 'no process is left');
  expect(filesUnder(join(lab.folder, 'work')).filter((name) => name.includes('smoke-'))).toEqual([]);
}

describe('a job of Slurm', () => {
  afterEach(expectNothingLeft);

  test('waits with its reason, then brings up 8 ranks over two nodes in order', {
    timeout: 240 * SECONDS,
  }, async () => {
    const blocker = lab.occupy('smoke');
    const run = new Followed({ ranks_per_node: 4 }, layout(8), ({ states }) => {
      if (states.at(-1)?.phase === 'queued' && /Resources|Priority/.test(states.at(-1)?.detail ?? '')) {
        lab.run('scancel', blocker);
      }
    });
    const result = await run.result;
    expect(result.fault).toBeNull();
    expect(result).toMatchObject({ ok: true, verdict: 'ok', warnings: [] });
    expect(run.phases().slice(0, 3)).toEqual(['submitting', 'queued', 'running']);
    // any two: a node may still be at the end of an earlier job
    expect(run.states.find(({ phase }) => phase === 'running')?.detail).toMatch(/^n\[\d[-,]\d\]$/);
    const [first = '', second = ''] = new Set(run.nodes());
    expect(first < second).toBe(true);
    expect(run.nodes()).toEqual([...Array(4).fill(first), ...Array(4).fill(second)]);
    expect(savedRuns(run.runs)).toEqual([]);
  });

  test('of which a rank fails is ended, and the rank is named', { timeout: 120 * SECONDS }, async () => {
    const faulty = resolve('test/clusters/faulty_rank.py');
    const python = program('failing-python', `shift; RANK=$SLURM_PROCID exec ${PYTHON} ${faulty} 3:exit@create:0 "$@"`);
    const run = new Followed({ ranks_per_node: 4, python, referee_python: PYTHON }, layout(6));
    const result = await run.result;
    // each node is filled before the next, as the layout numbers ranks
    expect(run.nodes()).toEqual(['n1', 'n1', 'n1', 'n1', 'n2', 'n2']);
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
  });

  test('that Slurm ends names the reason: scancel, preemption, the time limit, a node', {
    timeout: 240 * SECONDS,
  }, async () => {
    const setup = ['sleep 600'];
    // Slurm likes to fill nodes that are in use already: each job is held to a node, so that one ending is not another's
    const cancelled = new Followed({ setup, options: ['--nodelist=n1'] });
    const preempted = new Followed({ setup, partition: 'low', options: ['--nodelist=n2'] });
    const fallen = new Followed({ setup, options: ['--nodelist=n3'] });
    const late = new Followed({ setup, options: ['--nodelist=n1'] });
    await Promise.all([cancelled, preempted, fallen, late].map((run) => run.runsNow()));
    // the controller looks at time limits every 30 s
    lab.run('scontrol', 'update', `JobId=${late.job}`, 'EndTime=now+1');
    lab.run('scancel', cancelled.job);
    lab.run('scontrol', 'update', 'NodeName=n3', 'State=DOWN', 'Reason=test');
    lab.run(
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
    expect(await fallen.result).toMatchObject({ ok: false, verdict: 'node_failed' });
    const result = await late.result;
    expect(result).toMatchObject({ ok: false, verdict: 'time_limit' });
    expect(result.fault?.msg).toContain(`Slurm job ${late.job} on n1 reached its time limit`);
    await until(() => lab.idle(), Boolean, 'the node is back');
  });

  test('goes on while its controller is gone', { timeout: 180 * SECONDS }, async () => {
    const go = join(lab.folder, 'go');
    const python = program('patient-python', `until [ -e ${go} ]; do sleep 0.1; done; exec ${PYTHON} "$@"`);
    const run = new Followed({ python, referee_python: PYTHON });
    await run.runsNow();
    await until(() => lab.run('squeue', '--noheader', '--steps').includes(`${run.job}.0`), Boolean, 'the step runs');
    await lab.stopController();
    await until(() => run.states.at(-1)?.phase === 'disconnected', Boolean, 'the controller is missed');
    expect(run.states.at(-1)?.detail).toContain('Unable to contact slurm controller');
    writeFileSync(go, '');
    lab.startController();
    expect(await run.result).toMatchObject({ ok: true, verdict: 'ok' });
  });

  test('is left, and followed again from its first event to its end', { timeout: 120 * SECONDS }, async () => {
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
    const result = await attachSmoke(saved, run.listener(), new AbortController().signal, run.runs, backend);
    expect(result).toMatchObject({ ok: true, verdict: 'ok' });
    expect(run.events.map(({ ev }) => ev)).toEqual(expect.arrayContaining(['start', 'rank', 'group', 'end']));
    expect(savedRuns(run.runs)).toEqual([]);
  });

  test('that Slurm has forgotten is told from its files, once they are all that is left', async () => {
    const folder = join(lab.folder, 'work', 'smoke-forgotten');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'log'), 'the last word\n');
    const cluster = here();
    const saved = saveRun(join(lab.folder, 'runs'), {
      cluster,
      plan: planOf(layout(2)),
      ticket: { job: '99999', folder },
    });
    const result = await attachSmoke(saved, {}, new AbortController().signal, join(lab.folder, 'runs'), backend);
    expect(result).toMatchObject({ ok: false, verdict: 'unknown', fault: null, lastWords: ['the last word'] });
    expect(savedRuns(join(lab.folder, 'runs'))).toEqual([]);
  });

  test('that Slurm does not take is refused with its reason', async () => {
    const run = new Followed({ partition: 'moon' });
    const error: unknown = await run.result.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(EnvironmentError);
    expect(String(error)).toContain('invalid partition specified: moon');
    expect(savedRuns(run.runs)).toEqual([]);
  });

  test('starts every rank of an exported script with what PyTorch reads', { timeout: 120 * SECONDS }, () => {
    const output = join(lab.folder, 'export.out');
    const python = program('rank-of-export', 'echo "$RANK $LOCAL_RANK $WORLD_SIZE $MASTER_PORT $MASTER_ADDR $*"');
    const text = 'layout: 1\ncluster: {nodes: 2, gpus_per_node: 2}\nparallelism: {tp: 2}\n';
    const exported = exportLayout(text, 'sbatch', { gpusPerNode: 0, python, sbatch: [`--output=${output}`] });
    const script = join(lab.folder, 'export.sbatch');
    writeFileSync(script, exported.text);
    const job = execFileSync('sbatch', ['--wait', '--parsable', script], { encoding: 'utf8' }).trim();
    const meeting = `4 ${20_000 + (Number(job) % 10_000)} n1 pretrain_gpt.py --tensor-model-parallel-size 2 --bf16`;
    const ranks = readFileSync(output, 'utf8').trimEnd().split('\n').sort();
    expect(ranks).toEqual([0, 1, 2, 3].map((rank) => `${rank} ${rank % 2} ${meeting}`));
  });

  test('does in a dry run, as a script that a person runs, what it says', { timeout: 120 * SECONDS }, async () => {
    const cluster = { ...here(), setup: ["export GREETING='a b'", 'echo "$GREETING" END_OF_FILE', 'END_OF_FILE=1'] };
    const launch = await backend.prepare({ plan: planOf(layout(2)), cluster, jobFolder: resolve('smoke') });
    const script = dryRunScript(launch, 'test');
    expect(lab.jobs()).toEqual([]);
    const person = spawn('/bin/sh', ['-c', script], { env: lab.environment, stdio: ['ignore', 'pipe', 'inherit'] });
    let job = '';
    person.stdout.on('data', (text) => {
      job += text;
    });
    await until(() => job !== '' && !lab.jobs().includes(job.trim()), Boolean, 'the job has run', 90);
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

describe('a job of Slurm through ssh', () => {
  let ssh: SshServer;
  const { PATH, SLURM_CONF } = process.env;
  beforeAll(async () => {
    ssh = await SshServer.start({ SLURM_CONF: lab.environment.SLURM_CONF ?? '' });
    process.env.PATH = `${ssh.bin}:${PATH}`;
    // only the other side knows Slurm
    delete process.env.SLURM_CONF;
  });
  afterAll(async () => {
    process.env.PATH = PATH;
    process.env.SLURM_CONF = SLURM_CONF ?? lab.environment.SLURM_CONF;
    await ssh?.stop();
  });
  afterEach(expectNothingLeft);

  test('goes on when its connection breaks, and no event is lost or told twice', {
    timeout: 120 * SECONDS,
  }, async () => {
    let broken = 0;
    const go = join(lab.folder, 'ranks-go');
    // no rank starts, so the job does not end, before the connection is lost
    const gate = `[ "$2" != rank ] || until [ -e ${go} ]; do sleep 0.1; done`;
    const python = program('python-of-patient-ranks', `${gate}\nexec ${PYTHON} "$@"`);
    const run = new Followed({ host: 'lab', ranks_per_node: 1, python }, layout(2), ({ events, states }) => {
      if (broken === 0 && events.some(({ ev }) => ev === 'start')) {
        broken = ssh.breakConnections();
      }
      if (states.at(-1)?.phase === 'disconnected') {
        writeFileSync(go, '');
      }
    });
    expect(await run.result).toMatchObject({ ok: true, verdict: 'ok' });
    expect(broken).toBeGreaterThan(0);
    const lost = run.states.find(({ phase }) => phase === 'disconnected');
    expect(lost?.detail).toMatch(/^lab: .*(closed|reset|broken).*; next attempt in 1 s$/i);
    const told = run.events.map((event) => (event.ev === 'rank' ? `rank ${event.rank}` : event.ev));
    expect(told.filter((event) => /^(start|rank|end)/.test(event)).sort()).toEqual([
      'end',
      'rank 0',
      'rank 1',
      'start',
    ]);
    expect(run.log.join('\n')).not.toContain('Welcome');
  });

  test.each([
    ['stranger', /stranger cannot be reached: .*Permission denied/],
    ['nobody', /nobody cannot be reached: .*Connection refused/],
  ])('on a host that does not let it in (%s) asks for nothing and says why', async (host, why) => {
    const error: unknown = await new Followed({ host }).result.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(EnvironmentError);
    expect(String(error)).toMatch(why);
  });

  test('is found again after the command line was killed, and passes', { timeout: 180 * SECONDS }, async () => {
    const file = join(lab.folder, 'clusters.yaml');
    const cluster = { ...here(), name: 'slurm-x', host: 'lab', ranks_per_node: 4 };
    writeFileSync(file, JSON.stringify({ clusters: [cluster] }));
    const state = join(lab.folder, 'state');
    const cli = (...words: string[]) =>
      spawn(
        process.execPath,
        [
          'dist/cli.js',
          'smoke',
          'examples/mimo-8gpu.layout.yaml',
          '--cluster',
          'slurm-x',
          '--clusters',
          file,
          ...words,
        ],
        { env: { ...process.env, XDG_STATE_HOME: state, TMPDIR: lab.folder }, stdio: ['ignore', 'pipe', 'pipe'] },
      );
    const first = cli('--format', 'jsonl');
    first.stdout.on('data', (text) => String(text).includes('"name":"join"') && first.kill('SIGKILL'));
    await once(first, 'close');
    expect(lab.jobs()).toHaveLength(1);
    const second = cli('--attach');
    const [out, [status]] = await Promise.all([text(second.stdout), once(second, 'close')]);
    expect(status).toBe(0);
    expect(out).toMatch(/^passed: 39 process groups/m);
    expect(savedRuns(join(state, 'parallelism-layout', 'runs'))).toEqual([]);
  });
});

describe('a hostile text', () => {
  const NASTY = [
    '$(touch pwned)',
    '`touch pwned`',
    '; touch pwned',
    "'; touch pwned; '",
    '"; touch pwned; "',
    "\\'; touch pwned #",
    '& touch pwned &',
    '| touch pwned',
    '> pwned',
    '$HOME ~root * ? [a] {b,c} !!',
    '%j %u \\',
    '--wrap=touch pwned',
    'é 漢字 🙂 \u202e',
  ];
  const noise = fc.array(fc.string({ unit: 'binary', maxLength: 40 }).map((word) => word.replaceAll('\0', '')));

  test('arrives literally in every word of a script, in a real shell', { timeout: 60 * SECONDS }, async () => {
    const shell = new Shell();
    const echo = 'for word; do printf \'%s\\0\' "$word"; done';
    const read = async (words: readonly string[]) => (await shell.run(echo, words)).stdout.split('\0').slice(0, -1);
    expect(await read([...NASTY, '', 'a\nb', '\r\n', "'", "''", '-n', '--'])).toHaveLength(NASTY.length + 7);
    await fc.assert(
      fc.asyncProperty(noise, async (words) => {
        expect(await read(words)).toEqual(words);
      }),
      { numRuns: 60 },
    );
    expect(() => shellQuoted('a\0b')).toThrow(RangeError);
  });

  test('arrives literally in a real job, and runs nothing', { timeout: 240 * SECONDS }, async () => {
    // each of these would make something else of the job
    const variables = { SBATCH_ARRAY_INX: '1-3', SBATCH_TIMELIMIT: '1', SBATCH_JOB_NAME: 'x', SBATCH_EXPORT: 'NONE' };
    Object.assign(process.env, variables);
    const work = join(lab.folder, 'work', 'nasty');
    const runs = NASTY.map((nasty, i) => {
      // in the place of the referee: keeps its words, and what is in the folder of the run
      const record = `for word; do printf '%s\\0' "$word"; done >"$0.words"; cp plan.json "$0.plan"; cp setup.sh "$0.setup"`;
      const name = nasty.replaceAll(/[%\\]/g, '');
      const referee = program(`${i} ${nasty}`, record);
      const settings = {
        referee_python: referee,
        python: `x${nasty}`,
        container_image: `x${nasty}`,
        container_mounts: [`/x${nasty.replaceAll(/[,:]/g, '')}`, '/a:/b:ro'],
        setup: [`: ${shellQuoted(nasty)}`],
        work_directory: join(work, name),
        options: [`--comment=${nasty}`],
      };
      expect(parseClusters([{ ...here(), ...settings }])).toHaveLength(2);
      const text = `layout: 1\nname: ${JSON.stringify(nasty)}\nworld_size: 2\nparallelism: {tp: 2}\n`;
      return { nasty, referee, settings, run: new Followed(settings, text) };
    });
    await Promise.all(runs.map(({ run }) => run.result));
    for (const key of Object.keys(variables)) {
      delete process.env[key];
    }
    for (const { nasty, referee, settings, run } of runs) {
      const words = readFileSync(`${referee}.words`, 'utf8').split('\0').slice(0, -1);
      const folder = dirname(words[words.indexOf('--plan') + 1] ?? '');
      expect(folder.startsWith(`${settings.work_directory}/smoke-`), nasty).toBe(true);
      expect(words).toContain(`--container-image=${settings.container_image}`);
      expect(words).toContain(`--container-mounts=${folder}:${folder},${settings.container_mounts.join(',')}`);
      expect(words.slice(words.indexOf('srun')).find((word) => word.startsWith('x'))).toBe(settings.python);
      expect(readFileSync(`${referee}.setup`, 'utf8')).toBe(`${settings.setup[0]}\n`);
      expect(JSON.parse(readFileSync(`${referee}.plan`, 'utf8'))).toMatchObject({ name: nasty });
      const shown = lab.run('scontrol', 'show', 'job', run.job);
      expect(shown).toContain(`Comment=${nasty} \n`);
      expect(shown).toContain('JobName=parallelism-layout-smoke\n');
      expect(shown).not.toContain('ArrayJobId');
      expect(shown).not.toContain('TimeLimit=00:01:00');
    }
    await expectNothingLeft();
    expect([...filesUnder(lab.folder), ...readdirSync('.'), ...readdirSync(homedir())]).not.toContain('pwned');
    expect(filesUnder(lab.folder).filter((name) => name.endsWith('/pwned'))).toEqual([]);
  });
});
