import { expect, test } from 'vitest';
import { measuredRun } from '../../layout';
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
      pid: 4711,
      coordinates: { tp: 0, dp: 1 },
      confidence: 0.9,
      because: ['Rank 2 sent 8 elements.'],
    },
  ],
  victims: [{ rank: 3, waits_for: [2], group: 'tp', op: 'all_reduce', seq: 4 }],
  mismatch: { group: 'tp', seq: 4, what: 'size', by_rank: { 2: '8', 3: '16' } },
  why: [],
  unseen: [],
  measured: null,
  profiled: null,
  slow: [],
};

test('a report has the verdict, the culprits and why, the victims, the differences and the sources', () => {
  expect(verificationReport(FOUND, 'train').replaceAll('\\', '')).toBe(`# Run of train

**mismatch&#58; ranks of one group do not do the same thing**

## Culprits

- **rank 2** (tp 0, dp 1, host n1, GPU 3, pid 4711), confidence 90 %
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

test('a report has the speed and memory that a log told, and who slows it', () => {
  const measured = measuredRun([
    ' iteration 1/ 9 | elapsed time per iteration (ms): 9000.0 | throughput per GPU (TFLOP/s/GPU): 40.0 |',
    ' iteration 2/ 9 | elapsed time per iteration (ms): 812.5 | throughput per GPU (TFLOP/s/GPU): 400.0 |',
    '[Rank 2] (after 2 iterations) memory (MB) | allocated: 1.0 | max allocated: 20480.0 | max reserved: 30720.0',
    '(min, max) time across ranks (ms):',
    '    optimizer ...........: (10.00, 12.00)',
  ]);
  const slow = [
    { rank: 5, coordinates: { tp: 1 }, part: 'forward-compute', ratio: 1.25, because: 'forward-compute takes 5.0 ms.' },
  ];
  const report = verificationReport({ ...FOUND, measured, slow }, 'train')
    .replaceAll('\\', '')
    .replaceAll('&#58;', ':');
  expect(report).toContain(`## Slow ranks

- **rank 5** (tp 1), forward-compute: 25 % longer
  - forward-compute takes 5.0 ms.

## Speed and memory (megatron-lm)

- 812.5 ms a step, 400.0 TFLOP/s a GPU (the median of 2 steps, 1 to 2)
- peak memory of rank 2: 30 GiB reserved, 20 GiB allocated
- optimizer: 10.0 ms to 12.0 ms
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
