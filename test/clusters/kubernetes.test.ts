import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  attachSmoke,
  DETACH,
  DetachedError,
  dryRunScript,
  EnvironmentError,
  type JobState,
  prepareSmoke,
  runSmoke,
  type SmokeEvent,
  type SmokeListener,
  type SmokePlan,
  savedRuns,
} from '../../jobs';
import { ENGINES, type Engine, type KubernetesCluster } from '../../jobs/kubernetes/kubernetesFields';
import { planOf } from '../harness/layouts';
import { processesWith } from '../harness/processes';
import { flawOfEvent } from '../harness/schemas';
import { type Behaviour, StandInCluster } from './standInCluster';

const JOB = resolve('smoke');
const SECONDS = 1000;
const MIMO = 'examples/mimo-8gpu.layout.yaml';

const two = planOf(
  'layout: 1\nname: two\nworld_size: 2\nparallelism: {tp: 2}\nsmoke: {checks: [groups], payload: 4KiB}\n',
);

const PYTHON = process.env.PYTHON ?? '/usr/bin/python3';

const CLUSTER: KubernetesCluster = {
  name: 'k',
  kind: 'kubernetes',
  context: 'stand-in',
  image: 'torch',
  gpus_per_node: 1,
  backend: 'gloo',
  python: PYTHON,
  env: [`ODD=$(HOME) "it's" \`id\` ; -x $$ é`],
};

const folder = mkdtempSync(join(tmpdir(), 'kubernetes-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** An interpreter under which rank 0 hangs in the creation of groups, so that a job cannot end before a test acts. */
function hangingPython(): string {
  const path = join(folder, 'python');
  const faulty = `${resolve('test/clusters/faulty_rank.py')} 0:hang@create:0`;
  // ranks are started with the interpreter of their pod: this file, by its name
  const lines = [`if [ -n "$RANK" ]; then exec ${PYTHON} ${faulty} "\${@:2}"; fi`, `exec -a "$0" ${PYTHON} "$@"`];
  writeFileSync(path, `#!/bin/bash\n${lines.join('\n')}\n`, { mode: 0o755 });
  return path;
}

let cluster: StandInCluster | undefined;

async function start(behaviour: Behaviour = {}): Promise<StandInCluster> {
  cluster = await StandInCluster.start(behaviour);
  process.env.KUBECONFIG = cluster.kubeconfig();
  return cluster;
}

afterEach(async () => {
  await cluster?.stop();
  cluster = undefined;
});

/** What a test does to a run. */
interface Watch {
  readonly settings?: Partial<KubernetesCluster>;
  readonly plan?: SmokePlan;
  readonly abort?: AbortController;
  /** The folder that remembers runs. */
  readonly runs?: string;
  onEvent?(event: SmokeEvent): unknown;
  onState?(state: JobState): unknown;
}

/** Runs a job, and gives all that was seen of it. */
async function run({ settings, runs, plan = two, abort = new AbortController(), onEvent, onState }: Watch = {}) {
  const lines: string[] = [];
  const states: JobState[] = [];
  const log: string[] = [];
  const listener: SmokeListener = {
    onEvent: (event, _, line) => {
      lines.push(line);
      onEvent?.(event);
    },
    onState: (state) => {
      states.push(state);
      onState?.(state);
    },
    onLog: (line) => log.push(line),
  };
  const cluster = { ...CLUSTER, engine: 'jobset' as const, ...settings };
  return {
    result: await runSmoke({ plan, cluster, jobFolder: JOB }, listener, abort.signal, runs),
    lines,
    states,
    log,
  };
}

describe('kubectl, against a stand-in for a cluster', () => {
  test('brings up eight ranks in two pods, over a log that breaks off, and leaves nothing', {
    timeout: 280 * SECONDS,
  }, async () => {
    const stand = await start({ breakLogsAfter: 3000 });
    const plan = planOf(readFileSync(MIMO, 'utf8'), MIMO);
    const { result, lines, states, log } = await run({ settings: { gpus_per_node: 4 }, plan });
    expect(result, log.join('\n')).toMatchObject({ verdict: 'ok', ok: true });
    // each event once and in order, however often the log was read
    const logs = stand.requests.filter((request) => request.endsWith('/log'));
    expect(logs.length).toBeGreaterThan(2);
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines.map(flawOfEvent).filter((flaw) => flaw !== null)).toEqual([]);
    const events = lines.map((line) => JSON.parse(line));
    const times = events.map(({ t }) => t);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    const ranks = events.filter(({ ev }) => ev === 'rank');
    expect(ranks.map(({ rank }) => rank).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    for (const { rank, host, node, local } of ranks) {
      expect({ host: host.slice(-8), node, local }).toEqual({
        host: `-pod-0-${Math.floor(rank / 4)}`,
        node: 'node-of-the-stand-in',
        local: rank % 4,
      });
    }
    const wanted = plan.groups.flatMap(({ ranks }) => ranks.filter(({ length }) => length > 1));
    expect(result.groups).toHaveLength(wanted.length);
    expect(states.map(({ phase }) => phase)).toContain('running');
    expect(stand.objects()).toEqual([]);
    expect(processesWith(states[0]?.detail ?? '-')).toEqual([]);
  });

  test.each(ENGINES)(
    'runs a %s, whose pods find the first, and reads its last words',
    {
      timeout: 200 * SECONDS,
    },
    async (engine) => {
      const stand = await start({ errorsLast: true });
      const { result, log } = await run({ settings: { engine } });
      expect(result, log.join('\n')).toMatchObject({ verdict: 'ok', ok: true });
      expect(log.at(-1)).toMatch(/^passed after [\d.]+ s$/);
      const kinds = stand.made.map(({ kind }) => kind);
      const beside: Record<Engine, string[]> = {
        trainjob: ['TrainingRuntime'],
        jobset: [],
        pytorchjob: [],
        job: ['Service'],
      };
      expect(kinds.slice(0, -1)).toEqual(['ConfigMap', ...beside[engine]]);
      expect(kinds.at(-1)?.toLowerCase()).toBe(engine);
      // what a client that is gone cannot delete goes with the job
      const owners = stand.requests.filter((request) => request.startsWith('PATCH')).length;
      expect(owners).toBe(stand.made.length - 1);
      expect(stand.objects()).toEqual([]);
    },
  );

  test('says why pods wait, and goes on once they do not', { timeout: 200 * SECONDS }, async () => {
    const stand = await start({ unschedulable: '0/8 nodes are available: 8 Insufficient nvidia.com/gpu.' });
    const { result, states } = await run({ onState: ({ phase }) => phase === 'queued' && stand.place() });
    expect(states[1]).toMatchObject({
      phase: 'queued',
      detail:
        '0 of 2 pods started; 2 of 2 pods: Unschedulable: 0/8 nodes are available: 8 Insufficient nvidia.com/gpu.',
    });
    expect(states.at(-1)).toMatchObject({ phase: 'running', detail: 'node-0, node-1' });
    expect(result.verdict).toBe('ok');
  });

  test('says why there are no pods, and deletes the job when it is cancelled', { timeout: 60 * SECONDS }, async () => {
    const stand = await start({ quota: 'pods "smoke" is forbidden: exceeded quota: gpus' });
    const abort = new AbortController();
    const { result, states } = await run({ abort, onState: ({ phase }) => phase === 'queued' && abort.abort() });
    expect(states[1]?.detail).toBe(
      '0 of 2 pods started; FailedCreate: pods "smoke" is forbidden: exceeded quota: gpus',
    );
    expect(result).toMatchObject({ verdict: 'cancelled', ok: false });
    expect(stand.objects().filter((one) => !one.startsWith('Event/'))).toEqual([]);
  });

  test('is cancelled while ranks run: the referee says so, and nothing is left', {
    timeout: 200 * SECONDS,
  }, async () => {
    const stand = await start();
    const abort = new AbortController();
    const onEvent = ({ ev }: SmokeEvent) => ev === 'rank' && abort.abort();
    const { result, states } = await run({ settings: { python: hangingPython() }, abort, onEvent });
    expect(result).toMatchObject({
      verdict: 'cancelled',
      fault: { code: 'cancelled', msg: 'The job was told to stop.' },
    });
    expect(stand.objects()).toEqual([]);
    expect(processesWith(String(states[0]?.detail))).toEqual([]);
  });

  test('is left, goes on, and is followed again from its first event', { timeout: 200 * SECONDS }, async () => {
    const stand = await start();
    const runs = mkdtempSync(join(tmpdir(), 'runs-'));
    const leave = new AbortController();
    const left = run({ runs, abort: leave, onEvent: ({ ev }) => ev === 'rank' && leave.abort(DETACH) });
    await expect(left).rejects.toThrow(DetachedError);
    expect(stand.objects()).toContainEqual(expect.stringMatching(/^JobSet\/smoke-two-/));
    const [saved] = savedRuns(runs);
    const events: SmokeEvent[] = [];
    const again =
      saved &&
      (await attachSmoke(saved, { onEvent: (event) => events.push(event) }, new AbortController().signal, runs));
    expect(again).toMatchObject({ verdict: 'ok', ok: true });
    expect(events[0]).toMatchObject({ ev: 'start', world: 2 });
    expect(events.filter(({ ev }) => ev === 'rank')).toHaveLength(2);
    expect([savedRuns(runs), stand.objects()]).toEqual([[], []]);
    rmSync(runs, { recursive: true });
  });

  test('names the rank of a pod that is taken away', { timeout: 200 * SECONDS }, async () => {
    const stand = await start();
    const evict = (event: SmokeEvent) =>
      event.ev === 'phase' && event.name === 'join' && stand.evict(1, 'out of memory');
    const { result } = await run({ settings: { python: hangingPython() }, onEvent: evict });
    expect(result).toMatchObject({ verdict: 'rank_lost', fault: { culprits: [1] } });
    expect(result.fault?.host).toMatch(/-pod-0-1$/);
    expect(stand.objects()).toEqual([]);
  });

  test('says what became of the first pod, which cannot say it itself', { timeout: 200 * SECONDS }, async () => {
    const stand = await start();
    const { result } = await run({
      settings: { python: hangingPython() },
      onEvent: ({ ev }) => ev === 'rank' && stand.evict(0, 'The node was low on memory.'),
    });
    expect(result).toMatchObject({ ok: false, verdict: 'stopped' });
    expect(result.fault?.msg).toMatch(
      /^The cluster ended the job\. .*-pod-0-0-\w+ on node-0: Evicted: The node was low on memory\./,
    );
    expect(stand.objects()).toEqual([]);
  });

  test('says which ranks an image cannot start', { timeout: 200 * SECONDS }, async () => {
    await start();
    const { result } = await run({ settings: { python: '/no/such/python' } });
    expect(result).toMatchObject({ ok: false, verdict: 'unknown' });
    expect(result.fault?.msg).toContain('Error (exit status 127)');
    expect(result.lastWords.join(' ')).toContain('/no/such/python');
  });

  test('makes nothing where the cluster refuses a part', { timeout: 60 * SECONDS }, async () => {
    const stand = await start({ forbidden: ['jobsets'] });
    await expect(run({ settings: { engine: 'jobset' } })).rejects.toThrow(EnvironmentError);
    await expect(run({ settings: { engine: 'jobset' } })).rejects.toThrow(/User "u" cannot create resource "jobsets"/);
    expect(stand.made.map(({ kind }) => kind)).toEqual(['ConfigMap', 'ConfigMap']);
    expect(stand.objects()).toEqual([]);
  });
});

describe('a dry run', () => {
  const dry = (settings: Partial<KubernetesCluster> = {}) =>
    prepareSmoke({ plan: two, cluster: { ...CLUSTER, ...settings }, jobFolder: JOB });

  test('takes the first engine that the cluster has and the user may create, and makes nothing', {
    timeout: 60 * SECONDS,
  }, async () => {
    const engineOf = async (behaviour: Behaviour) => {
      const stand = await start(behaviour);
      const { files } = await dry();
      expect(stand.made).toEqual([]);
      await stand.stop();
      return [...(files[0]?.text ?? '').matchAll(/^kind: (\w+)$/gm)].at(-1)?.[1];
    };
    expect(await engineOf({})).toBe('TrainJob');
    expect(await engineOf({ forbidden: ['trainingruntimes'] })).toBe('JobSet');
    expect(await engineOf({ engines: ['PyTorchJob'] })).toBe('PyTorchJob');
    expect(await engineOf({ engines: [] })).toBe('Job');
    await start({ engines: ['JobSet'], forbidden: ['jobsets', 'jobs'] });
    await expect(dry()).rejects.toThrow('You may create no JobSet, Job in this namespace.');
  });

  test('says what keeps kubectl from the cluster', { timeout: 60 * SECONDS }, async () => {
    await start();
    await expect(dry({ context: 'elsewhere' })).rejects.toThrow(/elsewhere/);
    const cluster = { ...CLUSTER, context: 'elsewhere' };
    const { notes, script } = await prepareSmoke({ plan: two, cluster, jobFolder: JOB, dryRun: true });
    expect(notes.join('\n')).toMatch(/the cluster could not be asked \(.*elsewhere.*\); a Job is assumed/);
    // what a person reads first is the job, not the Python
    const kinds = [...(script ?? []).join('\n').matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind);
    expect(kinds).toEqual(['Service', 'Job', 'ConfigMap']);
  });

  test('is a script that runs the same job', { timeout: 200 * SECONDS }, async () => {
    const stand = await start();
    const script = dryRunScript(await dry({ engine: 'jobset' }), 'Dry run');
    const path = join(mkdtempSync(join(tmpdir(), 'dry-run-')), 'run.sh');
    writeFileSync(path, script);
    const { stdout } = await promisify(execFile)('/bin/sh', ['-e', path]);
    rmSync(dirname(path), { recursive: true });
    expect(stdout).toContain('"verdict":"ok"');
    await expect.poll(() => stand.objects(), { timeout: 30 * SECONDS }).toEqual([]);
    const sent = parseAllDocuments(/<<'END_OF_MANIFEST'\n(.*?)\nEND_OF_MANIFEST\n/s.exec(script)?.[1] ?? '');
    const own = ({ metadata: { uid: _, namespace: __, ...metadata }, ...rest }: (typeof stand.made)[number]) => ({
      ...rest,
      metadata,
    });
    expect(stand.made.map(own)).toEqual(sent.map((one) => one.toJS()));
  });
});
