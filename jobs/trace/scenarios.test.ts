import { mkdtempSync, readFileSync, rmSync, truncateSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { soundLayout } from '../../test/harness/layouts';
import { type PlantedFault, type SimulatedRun, simulate, writeDumps } from '../../test/harness/simulatedRun';
import { ascending } from '../collections';
import { readEvidence, type Verification, verify } from '.';

const folder = mkdtempSync(join(tmpdir(), 'runs-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Job {
  readonly world: number;
  readonly layout: string;
}

/** How a simulated run or its dumps differ from the usual. */
interface Variation extends Partial<SimulatedRun> {
  readonly json?: boolean;
  /** Ranks without a dump. */
  readonly missing?: readonly number[];
  /** By rank, the bytes that its dump lacks at the end. */
  readonly cut?: Readonly<Record<number, number>>;
  /** Of several culprits, the one with the highest confidence. */
  readonly first?: number;
}

const TP2DP2 = { world: 4, layout: 'tp: 2' };
const PP4 = { world: 4, layout: 'pp: 4' };
const TP2PP2DP2 = { world: 8, layout: 'tp: 2, pp: 2' };
const TP2CP2DP2 = { world: 8, layout: 'tp: 2, cp: 2' };
const EP4DP8 = { world: 8, layout: 'ep: 4' };
const TP2PP4DP4 = { world: 32, layout: 'tp: 2, pp: 4, ep: 2, expt_tp: 2' };

const at = (
  rank: number,
  kind: PlantedFault['kind'],
  place: string,
  more: Partial<PlantedFault> = {},
): PlantedFault => ({ rank, kind, step: 2, at: place, ...more });

/** A run, its faults, and the verdict, culprits and mismatch to find. */
type Scenario = readonly [name: string, job: Job, faults: readonly PlantedFault[], expected: string, more?: Variation];

const SCENARIOS: readonly Scenario[] = [
  ['healthy tp2 dp2', TP2DP2, [], 'healthy'],
  ['healthy pp4', PP4, [], 'healthy'],
  ['healthy tp2 pp4 dp4 ep2, overlapped', TP2PP4DP4, [], 'healthy', { overlap: true }],
  ['healthy, JSON', TP2PP2DP2, [], 'healthy', { json: true }],
  ['healthy with a small ring', TP2PP2DP2, [], 'healthy', { ring: 20, steps: 6 }],
  ['no rank waits in most of the dumps', TP2PP2DP2, [], 'unknown', { missing: [1, 4, 6] }],
  [
    'one rank waits alone, and its dump is the one that is lost',
    EP4DP8,
    [at(3, 'twice', 'dp_cp', { step: 3, nth: 1 })],
    'unknown',
    { missing: [3] },
  ],
  ['sleeps before tp', TP2DP2, [at(2, 'sleep', 'tp')], 'hang 2'],
  ['sleeps before dp', TP2DP2, [at(1, 'sleep', 'dp_cp')], 'hang 1'],
  ['sleeps before cp', TP2CP2DP2, [at(5, 'sleep', 'cp')], 'hang 5'],
  ['sleeps before an expert exchange', EP4DP8, [at(6, 'sleep', 'ep')], 'hang 6'],
  ['sleeps before the first operation', TP2DP2, [at(3, 'sleep', 'tp', { step: 0 })], 'hang|lost 3'],
  ['sleeps before its first transfer', PP4, [at(0, 'sleep', 'pp')], 'hang 0'],
  ['sleeps in the middle of a pipeline', PP4, [at(2, 'sleep', 'pp', { nth: 2 })], 'hang 2'],
  ['sleeps at the end of a pipeline', PP4, [at(3, 'sleep', 'pp', { nth: 1 })], 'hang 3'],
  [
    'sleeps in a pipeline with many micro-batches',
    PP4,
    [at(1, 'sleep', 'pp', { nth: 9 })],
    'hang 1',
    { microbatches: 12 },
  ],
  ['sleeps, in a small ring', TP2PP2DP2, [at(6, 'sleep', 'tp', { step: 4 })], 'hang 6', { ring: 12, steps: 5 }],
  [
    'sleeps, in a small ring of a pipeline',
    PP4,
    [at(1, 'sleep', 'pp', { step: 4, nth: 2 })],
    'hang 1',
    { ring: 12, steps: 5 },
  ],
  ['sleeps, JSON', TP2PP2DP2, [at(4, 'sleep', 'tp')], 'hang 4', { json: true }],
  ['sleeps with overlapped gradients', TP2PP2DP2, [at(3, 'sleep', 'dp_cp')], 'hang 3', { overlap: true }],
  ['sleeps among 32', TP2PP4DP4, [at(19, 'sleep', 'tp', { nth: 5 })], 'hang 19'],
  ['stops before tp', TP2DP2, [at(2, 'stop', 'tp')], 'lost 2'],
  ['stops in a pipeline', PP4, [at(1, 'stop', 'pp', { nth: 2 })], 'lost 1'],
  ['stops before an expert exchange', EP4DP8, [at(3, 'stop', 'ep')], 'lost 3'],
  ['stops among 32', TP2PP4DP4, [at(30, 'stop', 'mp')], 'lost 30'],
  ['stops before the embedding', TP2PP2DP2, [at(1, 'stop', 'embd')], 'lost 1'],
  ['swaps tp and dp', TP2DP2, [at(3, 'swap', 'dp_cp')], 'mismatch 3 order'],
  ['a swap that every rank gets through', TP2CP2DP2, [at(2, 'swap', 'tp')], 'healthy'],
  [
    'two swap tp and cp, so that all wait in a ring',
    TP2CP2DP2,
    [at(0, 'swap', 'tp'), at(3, 'swap', 'tp')],
    'mismatch 0,3 order',
  ],
  ['swaps two of one group', TP2DP2, [at(1, 'swap', 'tp')], 'mismatch 1 order'],
  ['leaves one tp out', TP2DP2, [at(0, 'skip', 'tp')], 'mismatch 0 order'],
  ['leaves one dp out', TP2PP2DP2, [at(5, 'skip', 'dp_cp')], 'mismatch 5 order'],
  ['leaves an expert exchange out', EP4DP8, [at(7, 'skip', 'ep')], 'mismatch 7 order'],
  ['does one tp twice', TP2DP2, [at(2, 'twice', 'tp')], 'mismatch 2 order'],
  ['uses dp in place of tp', TP2DP2, [at(0, 'group', 'tp', { on: 'dp_cp' })], 'mismatch 0 order'],
  ['uses tp in place of cp', TP2CP2DP2, [at(6, 'group', 'cp', { on: 'tp' })], 'mismatch 6 op'],
  ['another size in tp', TP2DP2, [at(2, 'size', 'tp')], 'mismatch 2 size'],
  ['another size in dp', TP2PP2DP2, [at(7, 'size', 'dp_cp')], 'mismatch 7 size'],
  ['another size among 32', TP2PP4DP4, [at(8, 'size', 'tp')], 'mismatch 8 size'],
  ['another type in tp', TP2DP2, [at(1, 'dtype', 'tp')], 'mismatch 1 dtype'],
  ['another type in mp', TP2PP2DP2, [at(4, 'dtype', 'mp')], 'mismatch 4 dtype'],
  ['sends less than its neighbour receives', TP2PP2DP2, [at(2, 'size', 'pp', { nth: 1 })], 'mismatch 2 size'],
  [
    'receives more than its neighbour sends, one transfer at a time',
    TP2PP2DP2,
    [at(5, 'long', 'pp')],
    'mismatch 5 size',
    { unbatched: true },
  ],
  [
    'leaves a transfer out, which its peers have done',
    { world: 16, layout: 'tp: 2, pp: 2' },
    [at(3, 'skip', 'pp')],
    'mismatch 3 order',
  ],
  [
    'does one operation more than all others',
    EP4DP8,
    [at(3, 'twice', 'dp_cp', { step: 3, nth: 1 })],
    'hang 0,1,2,3,4,5,6,7',
    { first: 3 },
  ],
  [
    'goes on, dumped one after another',
    TP2PP2DP2,
    [],
    'unknown',
    {
      moments: new Map([
        [0, 30],
        [1, 33],
        [2, 31],
        [3, 36],
        [4, 32],
        [5, 35],
        [6, 30],
        [7, 34],
      ]),
    },
  ],
  [
    'sleeps; another rank was dumped early',
    TP2PP2DP2,
    [at(5, 'sleep', 'tp')],
    'hang 5',
    { moments: new Map([[0, 20]]) },
  ],
  ['groups named by hashes', PP4, [at(1, 'sleep', 'pp')], 'hang 1', { names: 'hashes' }],
  ['groups without a description', TP2CP2DP2, [at(6, 'size', 'cp')], 'mismatch 6 size', { names: 'undescribed' }],
  ['another operation in tp', TP2DP2, [at(3, 'op', 'tp')], 'mismatch 3 op'],
  ['another operation in cp', TP2CP2DP2, [at(0, 'op', 'cp')], 'mismatch 0 op'],
  ['sleeps, its dump is not there', TP2DP2, [at(2, 'sleep', 'tp')], 'lost 2', { missing: [2] }],
  ['sleeps, the dump of a victim is not there', TP2PP2DP2, [at(5, 'sleep', 'tp')], 'hang 5', { missing: [0] }],
  ['stops, the dump of a victim far away is not there', TP2PP4DP4, [at(30, 'stop', 'tp')], 'lost 30', { missing: [1] }],
  [
    'another size, cut dumps of others',
    TP2PP2DP2,
    [at(6, 'size', 'tp')],
    'mismatch 6 size',
    { cut: { 0: 40, 3: 200 } },
  ],
  [
    'sleeps, every other dump is cut by some bytes',
    TP2PP2DP2,
    [at(3, 'sleep', 'tp')],
    'hang 3',
    { cut: { 0: 1, 1: 100, 2: 300, 4: 700 } },
  ],
  [
    'two sleep apart',
    { world: 16, layout: 'tp: 2, pp: 2' },
    [at(1, 'sleep', 'tp'), at(14, 'sleep', 'tp')],
    'hang 1,14',
  ],
  ['two stop', { world: 16, layout: 'tp: 2' }, [at(3, 'stop', 'tp'), at(8, 'stop', 'tp')], 'lost 3,8'],
  [
    'one sleeps, one is of another size',
    { world: 16, layout: 'tp: 2' },
    [at(1, 'sleep', 'tp'), at(12, 'size', 'tp')],
    'mismatch 1,12 size',
  ],
];

function found(name: string, { world, layout }: Job, faults: readonly PlantedFault[], more: Variation): Verification {
  const { json = false, missing = [], cut = {}, ...run } = more;
  const checked = soundLayout(`layout: 1\nworld_size: ${world}\nparallelism: {${layout}}\nmodel: {num_experts: 8}\n`);
  const path = join(folder, name.replaceAll(/\W+/g, '-'));
  writeDumps(path, simulate(checked.resolved, { steps: 4, ...run, faults }), { json, ring: run.ring ?? 2000 });
  for (const rank of missing) {
    unlinkSync(join(path, `nccl_trace_rank_${rank}`));
  }
  for (const [rank, bytes] of Object.entries(cut)) {
    const dump = join(path, `nccl_trace_rank_${rank}`);
    truncateSync(dump, readFileSync(dump).length - bytes);
  }
  return verify('run.layout.yaml', checked, readEvidence([path], checked.resolved));
}

test.each(SCENARIOS.map((scenario) => ({ name: scenario[0], scenario })))('simulated run: $name', ({ scenario }) => {
  const [name, job, faults, expected, more = {}] = scenario;
  const run = found(name, job, faults, more);
  const [verdicts = '', ranks = '', what] = expected.split(' ');
  expect(verdicts.split('|')).toContain(run.verdict);
  const culprits = run.culprits.map(({ rank }) => rank);
  expect(ascending(culprits).join(), JSON.stringify(run.culprits)).toBe(ranks);
  expect(run.mismatch?.what).toBe(what);
  if (more.first !== undefined) {
    expect(culprits[0]).toBe(more.first);
  }
  expect(run.groups.different).toEqual([]);
});
