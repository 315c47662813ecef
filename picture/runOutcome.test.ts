import { describe, expect, test } from 'vitest';
import { ROLES, RUN_ROLES, RunOutcome, type RunReport, stackCommand } from './runOutcome';
import { onNodes } from './testing';

const layout = onNodes(2, 'tp: 8');

const HANG: RunReport = {
  verdict: 'hang',
  culprits: [{ rank: 9, confidence: 0.9, because: ['rank 9 did not enter'] }],
  victims: [
    { rank: 8, waits_for: [9], group: 'tp', op: 'all_reduce', seq: 12 },
    { rank: 0, waits_for: [8], group: 'dp', op: 'all_reduce', seq: 3 },
  ],
  groups: { equal: 4, different: [] },
  why: [],
  unseen: [5],
};

const title = (report: RunReport) => new RunOutcome(report).headline(layout).title;

describe('a run', () => {
  test('ranks stand to the culprit by how directly they wait for it', () => {
    const { colouring } = new RunOutcome(HANG);
    const roleOf = (rank: number) => RUN_ROLES[colouring.valueOf(rank)]?.label;
    expect([9, 8, 0, 3, 5].map(roleOf)).toEqual([
      'culprit',
      'waits for it directly',
      'waits further on',
      'does not wait',
      'no data',
    ]);
  });

  test('a large cell says in which operation its rank waits', () => {
    const run = new RunOutcome(HANG);
    expect(run.describe(8)).toEqual(['tp', 'all_reduce #12']);
    expect(run.describe(9)).toEqual(['culprit']);
    expect(run.describe(3)).toEqual([]);
  });

  test('the headline names who hangs it, and says how many ranks nothing is known of', () => {
    expect(title(HANG)).toBe('Rank 9 (node 1, GPU 1) hangs the run. 2 ranks wait for it. No data of 1 rank.');
  });

  test('under the headline stands the first reason', () => {
    expect(new RunOutcome(HANG).headline(layout).sub).toBe('rank 9 did not enter');
    const silent = { ...HANG, culprits: [], victims: [], verdict: 'healthy' };
    expect(new RunOutcome(silent).headline(layout).sub).toBe('16 ranks on 2 nodes of 8 GPUs · tp 8 × dp 2');
  });

  test('says what was read, and of which ranks nothing is known', () => {
    const dump = (file: string, ok = true) => ({ file, kind: 'flight-recorder', ok, note: ok ? '' : 'cut off' });
    const sources = [dump('d/0'), dump('d/1'), dump('d/2', false), { file: 'x.log', kind: 'log', ok: true, note: '' }];
    expect(new RunOutcome({ ...HANG, sources }).read).toBe(
      'Read 2 of 3 Flight Recorder dumps, 1 log. Nothing is known of rank 5.',
    );
    expect(new RunOutcome(HANG).read).toBe('');
  });

  test('the command to look at a process holds no text of a file but a plain host', () => {
    const at = (host: string | null, pid: number | null) =>
      stackCommand({ rank: 9, confidence: 1, because: [], host, pid });
    expect(at('node-7.cluster', 4711)).toBe('ssh node-7.cluster py-spy dump --pid 4711');
    expect(at(null, 4711)).toBe('py-spy dump --pid 4711');
    expect(at('-oProxyCommand=x', 4711)).toBe('py-spy dump --pid 4711');
    expect(at('a; rm -rf b', 4711)).toBe('py-spy dump --pid 4711');
    expect(at('node-7', null)).toBeNull();
  });

  describe('with the times of ranks', () => {
    const by_rank = { 0: 0.1, 1: 0.1, 2: 0.15 };
    const part = { name: 'forward-compute', by_rank };
    const slow = [{ rank: 2, part: 'forward-compute', ratio: 1.5, because: 'forward-compute takes 150.0 ms' }];
    const measured = { parts: [{ name: 'optimizer', by_rank: { 0: 0.01 } }, { name: 'all', by_rank: {} }, part] };
    const healthy: RunReport = { ...HANG, verdict: 'healthy', culprits: [], victims: [], unseen: [], measured, slow };

    test('the slow rank is named, and its part colours the ranks', () => {
      const run = new RunOutcome(healthy);
      expect(title(healthy)).toBe(
        'Nothing hangs; rank 2 (node 0, GPU 2) takes 1.5 times as long as its peers in forward-compute.',
      );
      expect(run.parts).toEqual(['forward-compute', 'optimizer']);
      expect([run.partIn(''), run.partIn('optimizer'), run.partIn(ROLES)]).toEqual([
        'forward-compute',
        'optimizer',
        null,
      ]);
      expect(new RunOutcome({ ...HANG, measured }).partIn('')).toBeNull();
    });

    test('a ramp goes from the quickest rank to the slowest, and shows no noise', () => {
      const times = new RunOutcome(healthy).partColouring('forward-compute');
      expect([0, 2, 3].map(times.valueOf)).toEqual([0, 100, -1]);
      expect([0, 100].map(times.label)).toEqual(['100 ms', '150 ms']);
      const even = { parts: [{ name: 'forward-compute', by_rank: { 0: 0.1, 1: 0.101 } }] };
      expect(new RunOutcome({ ...healthy, measured: even }).partColouring('forward-compute').valueOf(1)).toBe(4);
    });
  });

  test.each([
    [{ verdict: 'healthy' }, 'Nothing hangs, and 4 kinds of groups equal the layout.'],
    [
      { verdict: 'wrong-groups', groups: { equal: 3, different: [{ name: 'tp', ranks: [0, 1] }] } },
      'The groups of the run differ from the layout: tp.',
    ],
    [{ verdict: 'unknown', why: ['No file tells of a group.'] }, 'No file tells of a group.'],
  ])('without a culprit: %#', (part, sentence) => {
    expect(title({ ...HANG, culprits: [], victims: [], unseen: [], ...part })).toBe(sentence);
  });
});
