import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { computingTime } from '../../../test/harness/computing';
import { soundLayout } from '../../../test/harness/layouts';
import { readEvidence, type Verification, verify } from '..';
import { Interner } from '../evidence';
import { Coverage } from './intervals';
import { type ProfiledOperation, type RankProfile, TraceReader } from './kinetoTrace';
import { profiledRun } from './timeSpent';

const DATA = join(import.meta.dirname, '../../../test/golden/data/profiles');
const folder = mkdtempSync(join(tmpdir(), 'profiles-'));
afterAll(() => rmSync(folder, { recursive: true }));

function verified(degrees: string, paths: readonly string[], world = 2): Verification {
  const sound = soundLayout(
    `layout: 1\nworld_size: ${world}\ncluster: {nodes: 1, gpus_per_node: ${world}}\nparallelism: {${degrees}}\n`,
  );
  return verify('x.layout.yaml', sound, readEvidence(paths, sound.resolved));
}

const DEGREES: Readonly<Record<string, string>> = { tp: 'tp: 2', pp: 'pp: 2', dp: 'tp: 1' };

describe('traces of two GPUs', () => {
  test.each(readdirSync(DATA))('%s: the slow rank is named, and no other', (name) => {
    const [mode = '', fault, slow] = name.split('-');
    const found = verified(DEGREES[mode] ?? '', [join(DATA, name)]);
    expect(found.slow.map(({ rank }) => rank)).toEqual(fault === 'none' ? [] : [Number(slow)]);
    expect([found.verdict, found.groups.different, found.unseen]).toEqual(['healthy', [], []]);
  });

  test('tells how long, in which groups, and at which bandwidth', () => {
    const { profiled, slow } = verified('tp: 2', [join(DATA, 'tp-matrices-1')]);
    expect(profiled).toMatchSnapshot();
    expect(slow).toMatchSnapshot();
  });

  test('says that one rank of a stage alone may have more to do', () => {
    expect(verified('pp: 2', [join(DATA, 'pp-matrices-0')]).slow).toMatchSnapshot();
  });

  test('one trace of two tells no slow rank, and no verdict', () => {
    const found = verified('tp: 2', [join(DATA, 'tp-sleep-1/rank0.json.gz')]);
    expect(found.slow).toEqual([]);
    expect(found.profiled?.why).toMatchInlineSnapshot(`
      [
        "In tp, rank 0 waits 17.5 ms of a step: the last to come is rank 1, without a trace here.",
      ]
    `);
    expect([found.verdict, found.why, found.unseen]).toMatchInlineSnapshot(`
      [
        "unknown",
        [
          "A profile shows a time in which its rank progressed; those of rank 0 were compared.",
        ],
        [
          1,
        ],
      ]
    `);
  });

  test('the groups of another layout are wrong groups', () => {
    const { verdict, groups } = verified('pp: 2', [join(DATA, 'tp-none-1')]);
    expect([verdict, groups.different.map(({ name }) => name)]).toEqual(['wrong-groups', ['tp', 'pp']]);
  });
});

const WHOLE = gunzipSync(readFileSync(join(DATA, 'tp-none-1/rank0.json.gz')));

function noted(bytes: Uint8Array, name = 'rank0.json'): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return verified('tp: 2', [path])
    .sources.map(({ kind, rank, ok, note }) => `${kind} ${rank} ${ok} ${note}`)
    .join('; ');
}

describe('a file', () => {
  test('is read the same in pieces of any size', () => {
    const inPieces = (size: number) => {
      const reader = new TraceReader(new Interner());
      for (let at = 0; at < WHOLE.length; at += size) {
        reader.push(WHOLE.subarray(at, at + size));
      }
      return reader.profile(null);
    };
    const whole = inPieces(WHOLE.length);
    for (const size of [7, 1000, 65_536]) {
      expect(inPieces(size)).toEqual(whole);
    }
  });

  test('that breaks off is read to there', () => {
    expect(noted(WHOLE.subarray(0, WHOLE.length - 20_000))).toBe('profile 0 false breaks off');
    expect(noted(gzipSync(WHOLE).subarray(0, 5000), 'rank0.json.gz')).toBe('profile 0 false breaks off');
  });

  test('that is packed and no trace is not unpacked', () => {
    expect(noted(gzipSync(Buffer.alloc(2 ** 26, 'a')), 'bomb.gz')).toBe(
      'other null false is packed, and no profiler trace: unpack it first',
    );
  });

  test.each([
    ['{"schemaVersion": 1, "traceEvents": []}', 'is a trace of torch.profiler of no rank'],
    ['{"schemaVersion": 1, "distributedInfo": {"rank": 0}}', 'is a trace of torch.profiler without events'],
    [
      '{"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": [{"cat": "kernel", "name": "gemm", "ts": 1, "dur": 1}]}',
      'is a trace of torch.profiler without communication on a GPU',
    ],
    [
      '{"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": [{"cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": 1, "dur": 1}]}',
      'has 1 communication kernel that does not tell its process group: profile with torch 2.3 or newer, and with ProfilerActivity.CPU beside CUDA',
    ],
  ])('%s cannot be used', (text, why) => {
    expect(noted(Buffer.from(text), 'trace.json')).toContain(why);
  });

  test('of another run is left out', () => {
    const text = WHOLE.toString();
    expect(noted(Buffer.from(text.replace('"world_size": 2', '"world_size": 8')))).toBe(
      'profile 0 false is of a run of 8 ranks; the layout has 2',
    );
  });

  test.each([
    ['an event without end', `{"schemaVersion":1,"traceEvents":[{"name":"${'a'.repeat(3 * 2 ** 20)}`],
    ['deep events', `{"schemaVersion":1,"traceEvents":[${'{"a":'.repeat(200_000)}`],
    ['a beginning without end', `{"schemaVersion":1,"a":[${'[],'.repeat(2 ** 20)}`],
  ])('with %s ends', (_, text) => {
    expect(noted(Buffer.from(text), 'nasty.json')).toMatch(/^other null false is a trace of torch\.profiler/);
  });
});

/** Ranks of tp 2, pp 2, dp 2 with one all_reduce in tp and one in dp; each waits for the last to come. */
function eightRanks(work: (rank: number) => number): RankProfile[] {
  const interner = new Interner();
  const groupOf = (kind: string, ranks: readonly number[]) => interner.group(`${kind} ${ranks.join()}`, kind, ranks);
  const clock = new Map<number, number>();
  const operations = new Map<number, ProfiledOperation[]>();
  const reduce = (kind: string, step: number, ranks: readonly number[]) => {
    const end = Math.max(...ranks.map((rank) => clock.get(rank) ?? 0)) + 1e-3;
    for (const rank of ranks) {
      const start = clock.get(rank) ?? 0;
      const one = { group: groupOf(kind, ranks), name: 'allreduce', peer: null, input: 1, output: 1, dtype: 'Float' };
      operations.set(rank, [...(operations.get(rank) ?? []), { ...one, step, start, duration: end - start }]);
      clock.set(rank, end);
    }
  };
  for (let step = 1; step <= 4; step++) {
    for (let rank = 0; rank < 8; rank++) {
      clock.set(rank, (clock.get(rank) ?? 0) + work(rank));
    }
    for (const ranks of [
      [0, 1],
      [2, 3],
      [4, 5],
      [6, 7],
    ]) {
      reduce('TENSOR_MODEL_PARALLEL_GROUP', step, ranks);
    }
    for (const ranks of [
      [0, 2],
      [1, 3],
      [4, 6],
      [5, 7],
    ]) {
      reduce('DATA_PARALLEL_GROUP_WITH_CP', step, ranks);
    }
  }
  return [...operations].map(([rank, own]) => ({
    ...{
      rank,
      worldSize: 8,
      steps: [1, 2, 3, 4],
      operations: own,
      groups: [],
      computing: new Coverage([]),
      problem: null,
    },
  }));
}

const CONTEXT = {
  nameOf: ({ desc }: { readonly desc: string }) => desc,
  programOf: (rank: number) => String(Math.floor(rank / 4)),
  coordinatesOf: () => ({}),
};

describe('eight ranks', () => {
  test('of equal speed have no slow one', () => {
    expect(
      profiledRun(
        eightRanks(() => 10e-3),
        CONTEXT,
      )?.slow,
    ).toEqual([]);
  });

  test.each([0, 3, 6])('rank %i is slow', (slow) => {
    const found = profiledRun(
      eightRanks((rank) => (rank === slow ? 12e-3 : 10e-3)),
      CONTEXT,
    );
    expect(found?.slow.map(({ rank, ratio }) => [rank, ratio])).toEqual([[slow, 1.17]]);
  });

  test('of which the slow one is not read: those that wait are named, and where it is', () => {
    const all = eightRanks((rank) => (rank === 3 ? 12e-3 : 10e-3));
    const found = profiledRun(
      all.filter(({ rank }) => rank !== 3),
      CONTEXT,
    );
    expect(found?.slow).toEqual([]);
    expect(found?.run.why).toMatchInlineSnapshot(`
      [
        "In TENSOR_MODEL_PARALLEL_GROUP, rank 2 waits 2.0 ms of a step: the last to come is rank 3, without a trace here.",
        "In DATA_PARALLEL_GROUP_WITH_CP, rank 1 waits 2.0 ms of a step: the last to come is rank 3, without a trace here.",
      ]
    `);
  });

  test('waiting beside other work is no waiting', () => {
    const four = eightRanks((rank) => (rank === 3 ? 12e-3 : 10e-3)).filter(({ rank }) => rank < 4);
    const busy = four.map((one) => ({ ...one, computing: new Coverage([{ start: 0, end: 1 }]) }));
    expect(profiledRun(four, CONTEXT)?.slow.map(({ rank }) => rank)).toEqual([3]);
    expect(profiledRun(busy, CONTEXT)?.slow).toEqual([]);
  });
});

describe('a trace that somebody made to be costly', () => {
  const HEAD =
    '{"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":2,"pg_config":[{"pg_name":"0","pg_desc":"default_pg","pg_size":2,"ranks":[0,1]}]},"traceEvents":[';
  const COUNT = 30_000;
  const repeated = (make: (at: number) => object) =>
    Array.from({ length: COUNT }, (_, at) => `${JSON.stringify(make(at))},`).join('');
  const kernel = (start: number, duration: number, more: object = {}) => ({
    ...{ cat: 'kernel', name: 'ncclDevKernel', ts: start, dur: duration },
    args: { 'Process Group Name': '0', 'Collective name': 'allreduce', 'External id': start, ...more },
  });
  const work = repeated((at) => ({ cat: 'kernel', name: 'gemm', ts: 10 * at, dur: 5 }));
  const step = repeated((at) => ({ cat: 'user_annotation', name: `ProfilerStep#${at}`, ts: 10 * at, dur: 9 }));
  const call = repeated((at) => ({
    ...{ cat: 'cpu_op', name: 'record_param_comms', ts: 10 * at, dur: 1 },
    args: { 'External id': 10 * at },
  }));

  test.each([
    ['steps, and calls in each', step + call + repeated((at) => kernel(10 * at, 3))],
    ['operations as long as the run', work + repeated((at) => kernel(at, 10 * COUNT))],
    ['names that are all different', repeated((at) => kernel(at, 1, { 'Collective name': `x${at}`, dtype: `y${at}` }))],
  ])('with %s takes time in proportion', (_, events) => {
    const path = join(folder, 'costly_0.json');
    writeFileSync(path, `${HEAD}${events}{}]}`);
    const other = join(folder, 'costly_1.json');
    writeFileSync(other, `${HEAD.replace('"rank":0', '"rank":1')}${events}{}]}`);
    const began = computingTime();
    const found = verified('tp: 2', [path, other]);
    expect(computingTime() - began).toBeLessThan(4_000);
    expect(found.profiled?.ranks.length).toBe(2);
  });

  test('keeps nothing of an event but what is read of it', () => {
    const reader = new TraceReader(new Interner());
    reader.push(Buffer.from(HEAD));
    for (let at = 0; at < 50; at++) {
      reader.push(Buffer.from(`${JSON.stringify(kernel(at, 1, { dtype: `${at}${'x'.repeat(100_000)}` }))},`));
    }
    reader.push(Buffer.from('{}]}'));
    const profile = reader.profile(null);
    expect(typeof profile === 'string' ? profile : profile.operations.map(({ dtype }) => dtype).join('')).toBe('');
  });

  test('and packed is unpacked in small pieces', () => {
    const largest = { bytes: 0 };
    const push = vi.spyOn(TraceReader.prototype, 'push').mockImplementation((piece) => {
      largest.bytes = Math.max(largest.bytes, piece.length);
    });
    noted(gzipSync(Buffer.concat([Buffer.from(HEAD), Buffer.alloc(2 ** 26, ' ')])), 'bomb_0.json.gz');
    push.mockRestore();
    expect(largest.bytes).toBeGreaterThan(1000);
    expect(largest.bytes).toBeLessThan(2 ** 25);
  });

  test.each([
    ['of a rank below 0', HEAD.replace('"rank":0', '"rank":-1'), /of no rank/],
    [
      'with a beginning of 17 MiB',
      `{"schemaVersion":1,"x":[${'[],'.repeat(6 * 2 ** 20)}1],${HEAD.slice(19)}`,
      /without events/,
    ],
  ])('%s is not used', (_, head, why) => {
    expect(noted(Buffer.from(`${head}${JSON.stringify(kernel(1, 1))}]}`), 'x_0.json')).toMatch(why);
  });
});

test.each(['', 'x', '\u0080\u0002}'])(
  'traces of all ranks beside dumps that cannot be read call no run healthy: %j',
  (dump) => {
    const dumps = [0, 1].map((rank) => join(folder, `nccl_trace_rank_${rank}`));
    for (const path of dumps) {
      writeFileSync(path, Buffer.from(dump, 'latin1'));
    }
    const traces = join(DATA, 'tp-none-1');
    expect(verified('tp: 2', [traces]).verdict).toBe('healthy');
    // a text is no dump, and shows no rank
    expect(verified('tp: 2', [traces, ...dumps]).verdict).toBe(dump === 'x' ? 'healthy' : 'unknown');
  },
);
