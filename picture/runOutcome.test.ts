import { describe, expect, test } from 'vitest';
import { RUN_ROLES, RunOutcome, type RunReport } from './runOutcome';
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
