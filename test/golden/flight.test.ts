import { describe, expect, test } from 'vitest';
import type { Verification } from '../../jobs';
import { verifiedRun as found, SHARED } from '../harness/realRuns';

const culprits = ({ culprits: all }: Verification) => all.map(({ rank }) => rank);

describe('real jobs with planted faults', () => {
  test('a healthy run is healthy', () => {
    const run = found('healthy-tp2dp2', 'tp: 2');
    expect(run).toMatchObject({ verdict: 'healthy', culprits: [], victims: [], mismatch: null });
    expect(run.groups).toMatchObject({ equal: 4, different: [], unexpected: [] });
    expect(run.sources.filter(({ kind }) => kind === 'flight-recorder').map(({ rank, ok }) => [rank, ok])).toEqual([
      [0, true],
      [1, true],
      [2, true],
      [3, true],
    ]);
  });

  test('a run of another order is named with the order that it has', () => {
    const run = found('mapping-pp2dp2', 'pp: 2');
    expect(run.verdict).toBe('wrong-groups');
    expect(run.groups.different).toEqual([
      expect.objectContaining({
        name: 'pp',
        expected: [
          [0, 2],
          [1, 3],
        ],
        actual: [
          [0, 1],
          [2, 3],
        ],
        ranks: [0, 1, 2, 3],
        cause: 'order tp-cp-ep-pp-dp',
        line: 3,
      }),
      expect.objectContaining({ name: 'dp', cause: 'order tp-cp-ep-pp-dp' }),
    ]);
    expect(found('mapping-pp2dp2', 'pp: 2, order: tp-cp-ep-pp-dp').verdict).toBe('healthy');
  });

  test('a sleeping rank is the culprit, and those behind it are victims', () => {
    const run = found('sleep-tp2dp2-r2', 'tp: 2');
    expect(run.verdict).toBe('hang');
    expect(run.culprits).toEqual([expect.objectContaining({ rank: 2, host: '192.0.2.2', gpu: 2, confidence: 0.95 })]);
    expect(run.culprits[0]?.coordinates).toMatchObject({ tp: 0, dp: 1 });
    expect(run.victims).toEqual([
      { rank: 0, waits_for: [2], group: 'dp', op: 'all_reduce', seq: 4 },
      { rank: 1, waits_for: [3], group: 'dp', op: 'all_reduce', seq: 4 },
      { rank: 3, waits_for: [2], group: 'tp', op: 'all_reduce', seq: 4 },
    ]);
  });

  test('without the dump of the sleeping rank it is still the one, as the log shows that it is alive', () => {
    const others = [0, 1, 3].map((rank) => `nccl_trace_rank_${rank}`);
    expect(found('sleep-tp2dp2-r2', 'tp: 2', others)).toMatchObject({ verdict: 'lost' });
    expect(culprits(found('sleep-tp2dp2-r2', 'tp: 2', others))).toEqual([2]);
  });

  test.each(['log.txt', 'ras_3.txt'])('%s alone tells the sleeping rank', (file) => {
    expect(culprits(found('sleep-tp2dp2-r2', 'tp: 2', [file]))).toEqual([2]);
  });

  test('a swapped order is found in the one dump that there is', () => {
    for (const files of [[''], ['nccl_trace_rank_3']]) {
      const run = found('order-tp2dp2-r3', 'tp: 2', files);
      expect(run).toMatchObject({ verdict: 'mismatch', mismatch: { what: 'order' } });
      expect(culprits(run)).toEqual([3]);
      expect(run.culprits[0]?.confidence).toBeLessThan(0.8);
    }
  });

  test('another size is named with both sizes', () => {
    const run = found('shape-tp2dp2-r2', 'tp: 2');
    expect(run).toMatchObject({
      verdict: 'mismatch',
      mismatch: {
        group: 'tp',
        seq: 4,
        what: 'size',
        by_rank: { 2: 'tp all_reduce #4, 4096 x Float', 3: 'tp all_reduce #4, 65536 x Float' },
      },
    });
    expect(culprits(run)).toEqual([2]);
  });
});

describe('real jobs of ranks that share GPUs', () => {
  test.each(Object.entries(SHARED))('%s', (name, [worldSize, parallelism, verdict, ranks]) => {
    const run = found(`shared-gpu/${name}`, parallelism, [''], worldSize);
    expect([run.verdict, culprits(run).sort((a, b) => a - b)]).toEqual([verdict, ranks]);
  });

  test.each(Object.entries(SHARED).filter(([, [, , , ranks]]) => ranks.length > 0))(
    '%s: what the log alone tells is right or unsure',
    (name, [worldSize, parallelism, , ranks]) => {
      const run = found(`shared-gpu/${name}`, parallelism, ['log.txt'], worldSize);
      expect(run.culprits.filter(({ rank, confidence }) => confidence > 0.6 && !ranks.includes(rank))).toEqual([]);
      expect(run.verdict).not.toBe('healthy');
    },
  );

  test.each(Object.entries(SHARED).filter(([, [, , verdict]]) => verdict === 'hang' || verdict === 'lost'))(
    '%s: the log alone names the rank that is late or gone',
    (name, [worldSize, parallelism, , ranks]) => {
      const { verdict, culprits: all } = found(`shared-gpu/${name}`, parallelism, ['log.txt'], worldSize);
      expect(['hang', 'lost']).toContain(verdict);
      expect(all.map(({ rank }) => rank)).toEqual(ranks);
      expect(all.every(({ confidence }) => confidence >= 0.6)).toBe(true);
    },
  );

  test.each<readonly [string, string, readonly number[], string]>([
    ['late0', 'unknown', [0], 'Rank 3 entered the set-up of the world communicator; rank 0 did not.'],
    ['p2p', 'unknown', [2], 'Rank 3 entered the set-up of the world communicator; rank 2 did not.'],
    ['raise', 'lost', [1], 'Its log ends with "ValueError: planted".'],
    ['gather', 'hang', [3], 'Ranks 0, 1 and 2 entered world _all_gather_base #4; rank 3 did not.'],
    ['kill', 'lost', [2], 'It was ended by signal 9, SIGKILL, before any other rank.'],
  ])('%s: the log of torch 2.11 behind torchrun and its tee', (name, verdict, ranks, because) => {
    const run = found('logs', 'tp: 2', [`${name}.txt`]);
    expect(run.verdict).toBe(verdict);
    expect(culprits(run)).toEqual(ranks);
    expect(run.culprits[0]?.because).toContain(because);
  });

  test('a set-up of a group that the log numbers only: it is said which groups it may be', () => {
    const run = found('logs', 'tp: 2', ['latetp.txt']);
    expect(run.culprits).toEqual([]);
    expect(run.why.join(' ')).toContain(
      'Rank 3 waits in the set-up of a communicator; the log does not tell in which group',
    );
  });

  test('a process that does not answer RAS is lost, although NCCL 2.28 leaves a comma out there', () => {
    for (const file of ['ras_0.json', 'ras_0.txt']) {
      expect(found('shared-gpu/stop-ep2dp4-r3', 'ep: 2', [file]).sources).toEqual([
        expect.objectContaining({ kind: 'ras', ok: true }),
      ]);
    }
  });

  test('JSON dumps tell what pickles tell', () => {
    const files = (end: string) => [0, 1, 2, 3].map((rank) => `manual_${rank}${end}`);
    const [pickles, json] = ['', '.json'].map((end) => found('shared-gpu/healthy-tp2dp2', 'tp: 2', files(end)));
    expect(json?.groups).toEqual(pickles?.groups);
    expect(json?.verdict).toBe('healthy');
  });
});
