import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { soundLayout } from '../../test/harness/layouts';
import { gradedRun, randomRun } from '../../test/harness/randomRun';
import { readEvidence, type Verification, verify } from '.';

const RUNS = resolve('test/golden/data/flight');
const root = mkdtempSync(join(tmpdir(), 'innocents-'));
afterAll(() => rmSync(root, { recursive: true }));

/** What is found in files: a path of the folder and the real dump that is copied there, or the lines of a log. */
function found(
  files: Readonly<Record<string, string | readonly string[]>>,
  parallelism = 'tp: 2',
  world = 4,
): Verification {
  const folder = mkdtempSync(join(root, 'run-'));
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    if (typeof content === 'string') {
      copyFileSync(join(RUNS, content), path);
      utimesSync(path, new Date(), new Date());
    } else {
      writeFileSync(path, `${content.join('\n')}\n`);
    }
  }
  const checked = soundLayout(`layout: 1\nworld_size: ${world}\nparallelism: {${parallelism}}\n`);
  return verify('run.layout.yaml', checked, readEvidence([folder], checked.resolved));
}

/** The dumps of a real run, under names of their own. */
function dumpsOf(run: string, name: (rank: number) => string): Record<string, string> {
  const dumps = readdirSync(join(RUNS, run)).filter((file) => /_\d$/.test(file) && !file.startsWith('groups'));
  return Object.fromEntries(dumps.map((file) => [name(Number(file.at(-1))), `${run}/${file}`]));
}

const named = (rank: number) => `nccl_trace_rank_${rank}`;
const accused = ({ culprits }: Verification, least = 0.7) =>
  culprits.filter(({ confidence }) => confidence >= least).map(({ rank }) => rank);

describe('the content of dumps decides over names, folders and times of files', () => {
  test('an earlier run under old/ does not count, and is said', () => {
    const run = found({
      ...dumpsOf('sleep-tp2dp2-r2', named),
      ...dumpsOf('healthy-tp2dp2', (rank) => `old/nccl_trace_rank_${rank}`),
    });
    expect([run.verdict, accused(run)]).toEqual(['hang', [2]]);
    expect(run.why).toContain('The dumps are of 2 runs; only 4 dumps of the latest one count.');
    expect(run.sources.filter(({ note }) => note.startsWith('is of an earlier run')).length).toBe(4);
  });

  test('an earlier run that hung does not count either, whatever its folder is called', () => {
    const run = found({
      ...dumpsOf('sleep-tp2dp2-r2', (rank) => `new/nccl_trace_rank_${rank}`),
      ...dumpsOf('shape-tp2dp2-r2', (rank) => `old/nccl_trace_rank_${rank}`),
    });
    expect([run.verdict, run.mismatch?.what]).toEqual(['mismatch', 'size']);
  });

  test.each([0, 1, 3])('the dump of rank %d is of an earlier run, copied a moment ago', (stale) => {
    const run = found({ ...dumpsOf('shape-tp2dp2-r2', named), [named(stale)]: `healthy-tp2dp2/manual_${stale}` });
    expect(accused(run)).not.toContain(stale);
    expect(run.sources[stale]).toMatchObject({ ok: false, note: expect.stringContaining('earlier run') });
  });

  test('dumps that were renamed are those of the ranks that they hold', () => {
    const run = found(dumpsOf('sleep-tp2dp2-r2', (rank) => named((rank + 1) % 4)));
    expect([run.verdict, accused(run)]).toEqual(['hang', [2]]);
    expect(run.sources[0]?.note).toBe('holds operations of rank 3, though its name says 0');
  });

  test('ranks that the layout does not have are said, and the run is not healthy', () => {
    const run = found(dumpsOf('healthy-tp2dp2', named), '', 2);
    expect(run.verdict).not.toBe('healthy');
    expect(accused(run)).toEqual([]);
    expect(run.why.join(' ')).toContain('Ranks 2 and 3 left dumps, but the layout has 2 ranks.');
  });
});

const raise = (rank: number, error: string) => [
  `[rank${rank}]: Traceback (most recent call last):`,
  `[rank${rank}]:   File "/w/train.py", line 12, in <module>`,
  `[rank${rank}]:     step()`,
  `[rank${rank}]: ${error}`,
];
const iterations = (from: number, count: number) =>
  Array.from(
    { length: count },
    (_, i) =>
      ` [2026-11-21 10:00:00] iteration ${from + i}/ 5000 | consumed samples: 12 | elapsed time per iteration (ms): 812.5 | lm loss: 1.19E+01 |`,
  );
const table = (rank: number, code: number, time = '2026-11-21_22:17:15') => [
  'Root Cause (first observed failure):',
  '[0]:',
  `  time      : ${time}`,
  '  host      : node1',
  `  rank      : ${rank} (local_rank: ${rank})`,
  `  exitcode  : ${code} (pid: 4711)`,
];

describe('a log accuses nobody', () => {
  const cancelled = (reason: string) =>
    `slurmstepd: error: *** STEP 17.0 ON node1 CANCELLED AT 2026-11-21T10:00:00${reason} ***`;
  const killed = [0, 1, 2, 3].map((rank) => `srun: error: node1: task ${rank}: Killed`);

  test.each<[string, readonly string[]]>([
    ['a job at its time limit', [cancelled(' DUE TO TIME LIMIT'), ...killed]],
    ['the same with the reason behind its victims', [...killed, cancelled(' DUE TO TIME LIMIT')]],
    ['the same of which one task alone is told', [cancelled(' DUE TO TIME LIMIT'), ...killed.slice(2, 3)]],
    [
      'a job that made way for another',
      [
        'slurmstepd: error: *** JOB 17 ON n CANCELLED AT 2026-11-21T10:00:00 DUE TO PREEMPTION ***',
        'srun: error: node1: tasks 0-3: Terminated',
      ],
    ],
    ['a job that a person cancelled', [cancelled(''), 'srun: error: node1: tasks 0-3: Killed']],
    [
      'tasks that something outside killed',
      ['srun: error: node1: tasks 0-1: Killed', 'srun: error: node2: tasks 2-3: Killed'],
    ],
    ['an exception that was caught', [...raise(1, 'ValueError: bad record 12'), ...iterations(12, 500)]],
    [
      'an exception before training went on, in a loop of an unknown framework',
      [
        ...raise(1, 'OSError: retry'),
        ...Array.from({ length: 500 }, (_, i) => `[rank0]: epoch 1 step ${i} loss=2.${i}`),
      ],
    ],
    [
      'the interrupt of a person',
      [...iterations(1, 5), ...[0, 1, 2, 3].flatMap((rank) => raise(rank, 'KeyboardInterrupt'))],
    ],
    [
      'a signal that torchrun got',
      raise(0, 'torch.distributed.elastic.multiprocessing.api.SignalException: Process 17 got signal: 15'),
    ],
    [
      'an exit that the end of another caused',
      raise(
        3,
        'torch.distributed.DistBackendError: NCCL error in: x.cpp:1, remote process exited or there was a network error',
      ),
    ],
    [
      'a sample that holds a traceback',
      [
        '[rank2]: sample 17: Traceback (most recent call last): File "a.py", line 1, ValueError: no',
        ...iterations(1, 20),
      ],
    ],
    [
      'a sample that is a traceback, line by line',
      [
        ...raise(2, 'ValueError: from the data set'),
        '[rank2]: step 3 loss 2.5',
        '[rank2]: step 4 loss 2.4',
        ...iterations(5, 3),
      ],
    ],
    ['an exit of torchrun that a signal from outside caused', table(1, -15)],
    ['exceptions that all ranks raise', [0, 1, 2, 3].flatMap((rank) => raise(rank, 'RuntimeError: shape [2, 3]'))],
  ])('%s', (_, lines) => {
    const run = found({ 'log.txt': lines });
    expect(accused(run, 0.5)).toEqual([]);
    expect(run.verdict).toBe('unknown');
  });

  test('who reports a time-out after its exception has not died', () => {
    const wait =
      '[rank2]:[E1121 x ProcessGroupNCCL.cpp:2303] [PG ID 3 PG GUID 16(TENSOR_MODEL_PARALLEL_GROUP) Rank 0]  failure detected by watchdog at work sequence id: 4 PG status: last enqueued work: 4, last completed work: 3';
    expect(accused(found({ 'log.txt': [...raise(2, 'ValueError: caught'), wait] }), 0.1)).not.toContain(2);
  });

  test('the reason is said', () => {
    const limit = found({ 'log.txt': [cancelled(' DUE TO TIME LIMIT'), ...killed] });
    expect(limit.why).toEqual([
      'Slurm ended the job from outside (time limit): its signals say nothing about the ranks.',
    ]);
    const caught = found({ 'log.txt': [...raise(1, 'ValueError: bad record 12'), ...iterations(12, 500)] });
    expect(caught.why.join(' ')).toContain('Rank 1 raised "ValueError: bad record 12", and the run went on.');
  });

  test('a dead rank beside these is still found', () => {
    const dead = (lines: readonly string[]) => accused(found({ 'log.txt': lines }));
    expect(dead([...raise(1, 'ValueError: x'), ...table(1, 1)])).toEqual([1]);
    expect(dead(table(3, -9))).toEqual([3]);
    expect(
      dead([
        'srun: error: node1: task 2: Segmentation fault',
        cancelled(''),
        'srun: error: node1: tasks 0-1,3: Killed',
      ]),
    ).toEqual([2]);
    expect(dead([...iterations(1, 9), ...raise(2, 'ValueError: x'), ...table(2, 1)])).toEqual([2]);
    expect(dead(['srun: error: node1: task 1: Out Of Memory', ...killed])).toEqual([1]);
    expect(
      dead([...raise(0, 'OSError: caught'), ...iterations(1, 9), ...raise(2, 'ValueError: x'), ...table(2, 1)]),
    ).toEqual([2]);
  });
});

test('a ring that has dropped all operations of a group shows nobody absent from it', () => {
  const guilty: number[] = [];
  for (let seed = 1; seed <= 40; seed++) {
    const random = randomRun(seed);
    // a run without fault, of which half the ranks were dumped before its end
    const moments = new Map(
      Array.from({ length: random.world }, (_, rank) => [rank, 20 + seed + (rank % 3)] as const).filter(
        ([rank]) => rank % 2 === 1,
      ),
    );
    const run = { ...random.run, faults: [], steps: 4, ring: 8, moments };
    const { found: answer } = gradedRun({ ...random, run, missing: [], cut: new Map(), log: '' }, root);
    guilty.push(...(accused(answer).length > 0 ? [seed] : []));
  }
  expect(guilty).toEqual([]);
});
