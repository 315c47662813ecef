import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { computingTime } from '../../../test/harness/computing';
import { soundLayout } from '../../../test/harness/layouts';
import { readEvidence, type Verification, verify } from '..';

const folder = mkdtempSync(join(tmpdir(), 'logs-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What is found in a log alone. */
function found(world: number, parallelism: string, lines: readonly string[]): Verification {
  const checked = soundLayout(
    `layout: 1\nworld_size: ${world}\nparallelism: {${parallelism}}\nmodel: {num_experts: 8}\n`,
  );
  const file = join(folder, 'log.txt');
  writeFileSync(file, `${lines.join('\n')}\n`);
  return verify('run.layout.yaml', checked, readEvidence([file], checked.resolved));
}

/** `hang 2:0.6`: the verdict, and the ranks at fault with their confidence. */
function summary({ verdict, culprits }: Verification): string {
  return [verdict, ...culprits.map(({ rank, confidence }) => `${rank}:${confidence}`)].join(' ');
}

/** The lines that a version's watchdog prints for a rank that waits in an operation of a group. */
interface Waits {
  readonly rank: number;
  readonly groupRank: number;
  readonly group: number;
  readonly desc: string;
  readonly seq: number;
}

const caught = ({ groupRank, seq }: Waits, sizes: string) =>
  `[Rank ${groupRank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=${seq}, OpType=ALLREDUCE, ${sizes}Timeout(ms)=600000) ran for 600013 milliseconds before timing out.`;
const numel = 'NumelIn=512, NumelOut=512, ';
const work = ({ seq }: Waits) => `${seq}, last enqueued NCCL work: ${seq + 1}, last completed NCCL work: ${seq - 1}.`;

/** By version, its two lines (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp at the tags). */
const VERSIONS: Readonly<Record<string, (waits: Waits) => readonly string[]>> = {
  '2.2': (one) => [
    `[rank${one.rank}]:[E ProcessGroupNCCL.cpp:523] ${caught(one, numel)}`,
    `[rank${one.rank}]:[E ProcessGroupNCCL.cpp:1182] [Rank ${one.groupRank}] NCCL watchdog thread terminated with exception: ${caught(one, numel)}`,
  ],
  '2.3': (one) => [
    `[rank${one.rank}]:[E ProcessGroupNCCL.cpp:563] ${caught(one, numel)}`,
    `[rank${one.rank}]:[E ProcessGroupNCCL.cpp:1537] [PG ${one.rank + 3} Rank ${one.groupRank}] Timeout at NCCL work: ${one.seq}, last enqueued NCCL work: ${one.seq}, last completed NCCL work: 76280750235782912.`,
  ],
  '2.4': (one) => [
    `[rank${one.rank}]:[E1003 18:37:01.832146912 ProcessGroupNCCL.cpp:607] ${caught(one, numel)}`,
    `[rank${one.rank}]:[E1003 18:37:01.833575187 ProcessGroupNCCL.cpp:1664] [PG ${one.group} (${one.desc}) Rank ${one.groupRank}] Exception (either an error or timeout) detected by watchdog at work: ${work(one)}`,
    `[rank${one.rank}]:[E1003 18:37:01.833621509 ProcessGroupNCCL.cpp:1709] [PG ${one.group} (${one.desc}) Rank ${one.groupRank}] Timeout at NCCL work: ${work(one)}`,
  ],
  '2.5': (one) => [
    `[rank${one.rank}]:[E219 08:58:32.606233339 ProcessGroupNCCL.cpp:616] ${caught(one, numel)}`,
    `[rank${one.rank}]:[E219 08:58:32.606667496 ProcessGroupNCCL.cpp:1785] [PG ID 2 PG GUID ${one.group}(${one.desc}) Rank ${one.groupRank}] Exception (either an error or timeout) detected by watchdog at work: ${work(one)}`,
  ],
  '2.6': (one) => [
    `[rank${one.rank}]:[E219 08:58:32.606667496 ProcessGroupNCCL.cpp:1834] [PG ID 2 PG GUID ${one.group}(${one.desc}) Rank ${one.groupRank}] Work timeout is detected by watchdog at work: ${work(one)}`,
  ],
  '2.11': (one) => [
    `[rank${one.rank}]:[E1121 22:15:06.475840511 ProcessGroupNCCL.cpp:689] ${caught(one, numel)}`,
    `[rank${one.rank}]:[E1121 22:15:06.485236183 ProcessGroupNCCL.cpp:2303] [PG ID 3 PG GUID ${one.group}(${one.desc}) Rank ${one.groupRank}]  failure detected by watchdog at work sequence id: ${one.seq} PG status: last enqueued work: ${one.seq}, last completed work: ${one.seq - 1}`,
  ],
};

// tp 2 of 4 ranks: rank 2 does not come; 3 waits in tp, 0 in dp, 1 for 3 in dp
const SLEEP: readonly Waits[] = [
  { rank: 3, groupRank: 1, group: 16, desc: 'TENSOR_MODEL_PARALLEL_GROUP', seq: 4 },
  { rank: 0, groupRank: 0, group: 7, desc: 'DATA_PARALLEL_GROUP', seq: 5 },
  { rank: 1, groupRank: 0, group: 8, desc: 'DATA_PARALLEL_GROUP', seq: 5 },
];

describe('the watchdog of a torch version', () => {
  test.each(['2.4', '2.5', '2.6', '2.11'])('%s names the groups, and thereby the rank', (version) => {
    const lines = SLEEP.flatMap((one) => VERSIONS[version]?.(one) ?? []);
    const run = found(4, 'tp: 2', lines);
    expect(summary(run)).toBe('hang 2:0.6');
    expect(run.culprits[0]?.because).toContain(
      'Rank 3 entered tp all_reduce #4; rank 2 is not known to have.'.replace(
        'all_reduce',
        version === '2.6' ? 'operation' : 'all_reduce',
      ),
    );
    expect(run.victims.map(({ rank }) => rank)).toEqual([0, 1, 3]);
  });

  test.each(['2.2', '2.3'])('%s names no groups: what is open is said, and nobody is accused', (version) => {
    const run = found(
      4,
      'tp: 2',
      SLEEP.flatMap((one) => VERSIONS[version]?.(one) ?? []),
    );
    expect(run.verdict).toBe('unknown');
    expect(run.culprits.filter(({ confidence }) => confidence > 0.5)).toEqual([]);
    expect(run.why.join(' ')).toContain(
      'Rank 0 waits in all_reduce #5 of 512 elements; the log does not tell in which group',
    );
  });

  test.each(Object.keys(VERSIONS))('%s: where all groups are the world, the group is known', (version) => {
    const waits = [0, 1, 3].map((rank): Waits => ({ rank, groupRank: rank, group: 0, desc: 'default_pg', seq: 9 }));
    expect(
      summary(
        found(
          4,
          'dp: 4',
          waits.flatMap((one) => VERSIONS[version]?.(one) ?? []),
        ),
      ),
    ).toBe('hang 2:0.6');
  });

  test('the elements of a gather tell the size of its group', () => {
    const line = (rank: number, groupRank: number) =>
      `[rank${rank}]:[E ProcessGroupNCCL.cpp:574] [Rank ${groupRank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=_ALLGATHER_BASE, NumelIn=1024, NumelOut=4096, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.`;
    const run = found(8, 'tp: 4', [line(4, 0), line(5, 1), line(7, 3)]);
    expect(run.culprits.map(({ rank }) => rank)).toEqual([6]);
    expect(run.culprits[0]?.because[0]).toContain('Ranks 4, 5 and 7 entered [4, 5, 6, 7] _all_gather_base #7');
  });

  test('a rank that has enqueued less than its peers is at fault', () => {
    const status = (rank: number, enqueued: number, failed: boolean) =>
      `[rank${rank}]:[E1121 22:15:06.485236183 ProcessGroupNCCL.cpp:2303] [PG ID 0 PG GUID 0(default_pg) Rank ${rank}] ${
        failed
          ? ` failure detected by watchdog at work sequence id: 12 PG status: last enqueued work: ${enqueued}, last completed work: 11`
          : `Received a dump signal due to a collective timeout from  rank 3 and we will try our best to dump the debug info. Last enqueued NCCL work: ${enqueued}, last completed NCCL work: ${enqueued}.`
      }`;
    const run = found(4, 'tp: 2', [
      status(0, 12, true),
      status(1, 11, false),
      status(2, 12, true),
      status(3, 12, true),
    ]);
    expect(summary(run)).toBe('hang 1:0.6');
    expect(run.culprits[0]?.because[0]).toBe('Ranks 0, 2 and 3 entered world operation #12; rank 1 did not.');
  });

  test('without any prefix, the rank of the default group is the global one', () => {
    const line = (rank: number) =>
      `[E ProcessGroupNCCL.cpp:474] [Rank ${rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800017 milliseconds before timing out.`;
    expect(summary(found(4, 'dp: 4', [line(0), line(1), line(3)]))).toBe('hang 2:0.6');
    expect(found(8, 'tp: 2', [line(0), line(1)]).verdict).toBe('unknown');
  });

  test('another operation of one member at the same number', () => {
    const line = (rank: number, op: string) =>
      `[rank${rank}]:[E ProcessGroupNCCL.cpp:607] [Rank ${rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=${op}, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600013 milliseconds before timing out.`;
    const run = found(4, 'dp: 4', [
      line(0, 'ALLREDUCE'),
      line(1, 'ALLREDUCE'),
      line(2, 'BROADCAST'),
      line(3, 'ALLREDUCE'),
    ]);
    expect(summary(run)).toBe('mismatch 2:0.6');
  });
});

describe('launchers', () => {
  const [first] = SLEEP;
  const lines = SLEEP.flatMap((one) => VERSIONS['2.11']?.(one) ?? []);

  test.each<[string, (line: string, rank: number) => string]>([
    ['torchrun', (line, rank) => `[default${rank}]:${line}`],
    ['srun', (line, rank) => `${rank}: ${line}`],
    ['srun and torchrun', (line, rank) => `0: [default${rank}]:${line}`],
    ['NeMo-Run and torchrun', (line, rank) => `job-ft3/0 [default${rank}]:${line}`],
    ['Ray', (line, rank) => `\u001b[36m(WorkerDict pid=${100 + rank}, ip=10.0.0.${rank})\u001b[0m ${line}`],
    ['pdsh', (line) => `worker-0: ${line}`],
    ['a pod', (line) => `[pod/train-0/pytorch] 2026-11-21T10:00:00.123456789Z ${line}`],
    ['a progress bar on the same line', (line) => `Epoch 0:   6%|###  | 320/5001 [6:28:43<94:39:17,  1.37it/s]${line}`],
  ])('lines behind the prefixes of %s', (_, prefixed) => {
    const rankOf = (line: string) => Number(/\[rank(\d)\]/.exec(line)?.[1]);
    expect(
      summary(
        found(
          4,
          'tp: 2',
          lines.map((line) => prefixed(line, rankOf(line))),
        ),
      ),
    ).toBe('hang 2:0.6');
  });

  test('lines that lack the prefix of torch, with that of the launcher alone', () => {
    const bare = lines.map((line) => line.replace(/^\[rank(\d)\]:/, '$1: '));
    expect(summary(found(4, 'tp: 2', bare))).toBe('hang 2:0.6');
    const local = lines.map((line) => line.replace(/^\[rank(\d)\]:/, '[default$1]:'));
    expect(summary(found(4, 'tp: 2', local))).toBe('hang 2:0.6');
  });

  test('messages that a paste has joined to one line, and a log that is cut at both ends', () => {
    expect(summary(found(4, 'tp: 2', [lines.join(' ')]))).toBe('hang 2:0.6');
    const cut = lines.join('\n').slice(30, -10).split('\n');
    expect(summary(found(4, 'tp: 2', cut))).toMatch(/^(?:hang 2:|unknown)/);
  });

  test('ranks of the second machine by its task and their local ranks', () => {
    const layout = 'tp: 8';
    const status = (local: number) =>
      `1: [default${local}]:[E1121 x ProcessGroupNCCL.cpp:2303] [PG ID 3 PG GUID 5(TENSOR_MODEL_PARALLEL_GROUP) Rank ${local}]  failure detected by watchdog at work sequence id: 4 PG status: last enqueued work: 4, last completed work: 3`;
    const run = found(16, layout, [0, 1, 2, 3, 4, 6, 7].map(status));
    expect(run.culprits.map(({ rank }) => rank)).toEqual([13]);
  });

  test('the default time-out of a set-up names the rank that has not made the id', () => {
    const line = (own: number, key: string) =>
      `[rank${own}]: torch.distributed.DistBackendError: [${own}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '${key}', but store->get('${key}') got error: wait timeout after 600000ms, keys: /default_pg/0//cuda//${key}`;
    const run = found(
      4,
      'dp: 4',
      [1, 2, 3].map((rank) => line(rank, '0')),
    );
    expect(summary(run)).toBe('hang 0:0.6');
    expect(run.culprits[0]?.because[0]).toBe('Rank 1 entered the set-up of the world communicator; rank 0 did not.');
    expect(found(4, 'pp: 4', [line(3, '2:3')]).culprits[0]?.rank).toBe(2);
    const reset = line(1, '0').replace(/wait timeout.*/, 'Connection reset by peer');
    expect(found(4, 'dp: 4', [reset]).culprits).toEqual([]);
  });

  test('the exception of one rank comes before the hang of all others', () => {
    const run = found(4, 'tp: 2', [
      '[rank2]: Traceback (most recent call last):',
      '[rank2]:   File "/w/train.py", line 12, in step',
      '[rank2]:     raise ValueError("bad sample")',
      '[rank2]: ValueError: bad sample',
      ...lines,
    ]);
    expect(summary(run)).toBe('lost 2:0.95');
    expect(run.culprits[0]?.because.at(-1)).toBe('Its log ends with "ValueError: bad sample".');
    expect(first?.rank).toBe(3);
  });

  test('an exception that a Ray driver reports belongs to the rank of its process', () => {
    const run = found(4, 'tp: 2', [
      '(WorkerDict pid=102, ip=10.0.0.2) [rank2]:[W1121 22:14:53.738475577 Utils.hpp:137] Warning: deprecated',
      'ray.exceptions.RayTaskError(ValueError): ray::WorkerDict.actor_update() (pid=102, ip=10.0.0.2, actor_id=ab)',
    ]);
    expect(run.culprits.map(({ rank }) => rank)).toEqual([2]);
  });
});

test('timers of all ranks and straggler reports name who is slow, among ranks with the same program', () => {
  const times = (name: string, slow: number) => [
    `  ${name}:`,
    ...[0, 1, 2, 3, 4, 5, 6, 7].map(
      (rank) => `     rank ${String(rank).padStart(2)}: ${rank === slow ? 90 : rank < 4 ? 60 : 75}.00`,
    ),
  ];
  const report = (rank: number) => `[t] | MnEtpt/Rnk: 300.00TF/${rank} | MxEtpt/Rnk: 400.00TF/1`;
  const run = found(8, 'tp: 2, pp: 2', [
    'times across ranks (ms):',
    ...times('forward-compute', 6),
    // who waits longest waits for others
    ...times('forward-recv', 2),
    ...[report(6), report(6), report(0)],
  ]);
  expect(run.slow.map(({ rank, part, ratio }) => [rank, part, ratio])).toEqual([
    [6, 'matrix products', 1.33],
    [6, 'forward-compute', 1.2],
  ]);
  expect(run.slow[1]?.because).toBe('forward-compute takes 90.0 ms; 3 ranks with the same program take 75.0 ms.');
  expect(run.culprits).toEqual([]);
});

test('the log of a healthy run tells its speed, and claims no more', () => {
  const run = found(4, 'tp: 2', [
    ' iteration 1/ 9 | elapsed time per iteration (ms): 9000.0 |',
    ' iteration 2/ 9 | elapsed time per iteration (ms): 800.0 |',
  ]);
  expect([run.verdict, run.measured?.step_time_s]).toEqual(['unknown', 0.8]);
  expect(run.why).toEqual([
    'The log reports training steps, the last is step 2, and no fault; it does not show process groups.',
  ]);
});

test('a log that is not understood is said to be so, with the line that comes nearest', () => {
  const run = found(4, 'tp: 2', ['starting', 'rank 3: NCCL communicator seems stuck', 'bye']);
  expect(run.sources).toEqual([
    expect.objectContaining({
      kind: 'other',
      note: expect.stringContaining('line 2 comes nearest: "rank 3: NCCL communicator seems stuck"'),
    }),
  ]);
});

test('warnings of NCCL are passed on, each once, and accuse nobody', () => {
  const warning = 'node7:4711:4790 [3] NCCL WARN Call to ibv_modify_qp failed with error No such device\u001b[31m';
  const { why, culprits } = found(8, 'tp: 2', [warning, `node8:1:2 [0] ${warning.slice(warning.indexOf('NCCL'))}`]);
  expect(culprits).toEqual([]);
  expect(why.filter((sentence) => sentence.startsWith('NCCL'))).toEqual([
    'NCCL warned: "Call to ibv_modify_qp failed with error No such device".',
  ]);
});

describe('a log of a few lines that name many', () => {
  test('tasks of srun takes time in proportion to its lines', () => {
    const tasks = Array.from({ length: 200 }, () => '0-9999999').join(',');
    const lines = Array.from({ length: 3_000 }, (_, node) => `srun: error: node${node}: tasks ${tasks}: Killed`);
    const began = computingTime();
    found(4, 'tp: 2', lines);
    expect(computingTime() - began).toBeLessThan(6_000);
  });

  test('processes that turn out to be one rank', () => {
    const lines = Array.from({ length: 4_000 }, (_, pid) => [
      ...Array.from(
        { length: 10 },
        (_, seq) =>
          `(W pid=${pid}, ip=10.0.0.1) [E ProcessGroupNCCL.cpp:1] [PG ID 3 PG GUID x Rank 0]  failure detected by watchdog at work sequence id: ${seq + 5} PG status: last enqueued work: ${seq + 5}, last completed work: 3`,
      ),
      `(W pid=${pid}, ip=10.0.0.1) [rank0]: hello`,
    ]).flat();
    const began = computingTime();
    found(4, 'tp: 2', lines);
    expect(computingTime() - began).toBeLessThan(8_000);
  });
});
