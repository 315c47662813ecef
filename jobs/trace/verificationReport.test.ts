import { expect, test } from 'vitest';
import type { Verification } from './verification';
import { verificationReport } from './verificationReport';

const FOUND: Verification = {
  layout: '-',
  sources: [
    { file: '/runs/rank_0', kind: 'flight-recorder', rank: 0, ok: false, note: 'ends at byte 40' },
    { file: '/runs/photo.png', kind: 'other', rank: null, ok: false, note: 'is no dump' },
  ],
  groups: {
    equal: 2,
    different: [
      { name: 'pp', expected: [[0, 2]], actual: [[0, 1]], ranks: [0, 1, 2], cause: 'order tp-pp-dp', line: 3 },
    ],
    unexpected: [{ name: 'mine', groups: [[0, 3]] }],
    not_seen: ['cp', 'embd'],
  },
  verdict: 'mismatch',
  culprits: [
    {
      rank: 2,
      host: 'n1',
      gpu: 3,
      coordinates: { tp: 0, dp: 1 },
      confidence: 0.9,
      because: ['Rank 2 sent 8 elements.'],
    },
  ],
  victims: [{ rank: 3, waits_for: [2], group: 'tp', op: 'all_reduce', seq: 4 }],
  mismatch: { group: 'tp', seq: 4, what: 'size', by_rank: { 2: '8', 3: '16' } },
  why: [],
};

test('a report has the verdict, the culprits and why, the victims, the differences and the sources', () => {
  expect(verificationReport(FOUND, 'train').replaceAll('\\', '')).toBe(`# Run of train

**mismatch&#58; ranks of one group do not do the same thing**

## Culprits

- **rank 2** (tp 0, dp 1, host n1, GPU 3), confidence 90 %
  - Rank 2 sent 8 elements.

## Mismatch of size in tp #4

- rank 2: 8
- rank 3: 16

## 1 rank waiting

- rank 3 in tp all_reduce #4 for 2

## Groups

- 2 groups as in the layout
- line 3: pp should be [0, 2], but is [0, 1].
  - These are the groups of order tp-pp-dp.
- not in the layout: mine [0, 3]
- not seen: cp, embd

## 1 file read, 1 skipped

- /runs/rank_0 (flight-recorder; ends at byte 40)
`);
});

test('text of the files is text in the report, and lists are cut', () => {
  const attack = '[x](command:evil)\n# forged <img src=//e>';
  const victims = Array.from({ length: 1000 }, (_, rank) => ({
    rank,
    waits_for: [2],
    group: attack,
    op: attack,
    seq: 1,
  }));
  const report = verificationReport({ ...FOUND, why: [attack], victims }, attack);
  expect(report).not.toMatch(/^# forged/m);
  expect(report).not.toMatch(/[^\\]\]\(|[^\\]<img/);
  expect(report).toContain('- and 800 more');
});
