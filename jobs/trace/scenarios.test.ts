import { mkdtempSync, readFileSync, rmSync, truncateSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { check } from '../../layout';
import {
  type PlantedFault,
  resolvedOf,
  type SimulatedRun,
  simulate,
  writeDumps,
} from '../../test/harness/simulatedRun';
import { isVerifiable, readEvidence, type Verdict, type Verification, verify } from '.';

const folder = mkdtempSync(join(tmpdir(), 'runs-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A simulated run, what is taken away from its dumps, and what is to be found. */
interface Scenario extends Partial<SimulatedRun> {
  readonly world: number;
  readonly layout: string;
  readonly faults: readonly PlantedFault[];
  readonly json?: boolean;
  /** Ranks whose dumps are not there, and how many bytes from the end of others are cut. */
  readonly missing?: readonly number[];
  readonly cut?: Readonly<Record<number, number>>;
  readonly verdict: Verdict | readonly Verdict[];
  readonly culprits: readonly number[];
  readonly what?: string;
  /** Of several culprits, the one that is most at fault. */
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
): PlantedFault => ({
  ...{ rank, kind, step: 2, at: place },
  ...more,
});

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'healthy tp2 dp2': { ...TP2DP2, faults: [], verdict: 'healthy', culprits: [] },
  'healthy pp4': { ...PP4, faults: [], verdict: 'healthy', culprits: [] },
  'healthy tp2 pp4 dp4 ep2, overlapped': { ...TP2PP4DP4, overlap: true, faults: [], verdict: 'healthy', culprits: [] },
  'healthy, JSON': { ...TP2PP2DP2, json: true, faults: [], verdict: 'healthy', culprits: [] },
  'healthy with a small ring': { ...TP2PP2DP2, ring: 20, steps: 6, faults: [], verdict: 'healthy', culprits: [] },
  'healthy, most of the dumps': { ...TP2PP2DP2, missing: [1, 4, 6], faults: [], verdict: 'healthy', culprits: [] },
  'healthy, half of the dumps': { ...TP2PP2DP2, missing: [1, 3, 4, 6], faults: [], verdict: 'unknown', culprits: [] },
  'sleeps before tp': { ...TP2DP2, faults: [at(2, 'sleep', 'tp')], verdict: 'hang', culprits: [2] },
  'sleeps before dp': { ...TP2DP2, faults: [at(1, 'sleep', 'dp_cp')], verdict: 'hang', culprits: [1] },
  'sleeps before cp': { ...TP2CP2DP2, faults: [at(5, 'sleep', 'cp')], verdict: 'hang', culprits: [5] },
  'sleeps before an expert exchange': { ...EP4DP8, faults: [at(6, 'sleep', 'ep')], verdict: 'hang', culprits: [6] },
  'sleeps before the first operation': {
    ...TP2DP2,
    faults: [at(3, 'sleep', 'tp', { step: 0 })],
    verdict: ['hang', 'lost'],
    culprits: [3],
  },
  'sleeps before its first transfer': { ...PP4, faults: [at(0, 'sleep', 'pp')], verdict: 'hang', culprits: [0] },
  'sleeps in the middle of a pipeline': {
    ...PP4,
    faults: [at(2, 'sleep', 'pp', { nth: 2 })],
    verdict: 'hang',
    culprits: [2],
  },
  'sleeps at the end of a pipeline': {
    ...PP4,
    faults: [at(3, 'sleep', 'pp', { nth: 1 })],
    verdict: 'hang',
    culprits: [3],
  },
  'sleeps in a pipeline with many micro-batches': {
    ...PP4,
    microbatches: 12,
    faults: [at(1, 'sleep', 'pp', { nth: 9 })],
    verdict: 'hang',
    culprits: [1],
  },
  'sleeps, in a small ring': {
    ...TP2PP2DP2,
    ring: 12,
    steps: 5,
    faults: [at(6, 'sleep', 'tp', { step: 4 })],
    verdict: 'hang',
    culprits: [6],
  },
  'sleeps, in a small ring of a pipeline': {
    ...PP4,
    ring: 12,
    steps: 5,
    faults: [at(1, 'sleep', 'pp', { step: 4, nth: 2 })],
    verdict: 'hang',
    culprits: [1],
  },
  'sleeps, JSON': { ...TP2PP2DP2, json: true, faults: [at(4, 'sleep', 'tp')], verdict: 'hang', culprits: [4] },
  'sleeps with overlapped gradients': {
    ...TP2PP2DP2,
    overlap: true,
    faults: [at(3, 'sleep', 'dp_cp')],
    verdict: 'hang',
    culprits: [3],
  },
  'sleeps among 32': { ...TP2PP4DP4, faults: [at(19, 'sleep', 'tp', { nth: 5 })], verdict: 'hang', culprits: [19] },
  'stops before tp': { ...TP2DP2, faults: [at(2, 'stop', 'tp')], verdict: 'lost', culprits: [2] },
  'stops in a pipeline': { ...PP4, faults: [at(1, 'stop', 'pp', { nth: 2 })], verdict: 'lost', culprits: [1] },
  'stops before an expert exchange': { ...EP4DP8, faults: [at(3, 'stop', 'ep')], verdict: 'lost', culprits: [3] },
  'stops among 32': { ...TP2PP4DP4, faults: [at(30, 'stop', 'mp')], verdict: 'lost', culprits: [30] },
  'stops before the embedding': { ...TP2PP2DP2, faults: [at(1, 'stop', 'embd')], verdict: 'lost', culprits: [1] },
  'swaps tp and dp': { ...TP2DP2, faults: [at(3, 'swap', 'dp_cp')], verdict: 'mismatch', culprits: [3], what: 'order' },
  'a swap that every rank gets through': {
    ...TP2CP2DP2,
    faults: [at(2, 'swap', 'tp')],
    verdict: 'healthy',
    culprits: [],
  },
  'two swap tp and cp, so that all wait in a ring': {
    ...TP2CP2DP2,
    faults: [at(0, 'swap', 'tp'), at(3, 'swap', 'tp')],
    verdict: 'mismatch',
    culprits: [0, 3],
    what: 'order',
  },
  'swaps two of one group': {
    ...TP2DP2,
    faults: [at(1, 'swap', 'tp')],
    verdict: 'mismatch',
    culprits: [1],
    what: 'order',
  },
  'leaves one tp out': { ...TP2DP2, faults: [at(0, 'skip', 'tp')], verdict: 'mismatch', culprits: [0] },
  'leaves one dp out': { ...TP2PP2DP2, faults: [at(5, 'skip', 'dp_cp')], verdict: 'mismatch', culprits: [5] },
  'leaves an expert exchange out': { ...EP4DP8, faults: [at(7, 'skip', 'ep')], verdict: 'mismatch', culprits: [7] },
  'does one tp twice': { ...TP2DP2, faults: [at(2, 'twice', 'tp')], verdict: 'mismatch', culprits: [2] },
  'uses dp in place of tp': {
    ...TP2DP2,
    faults: [at(0, 'group', 'tp', { on: 'dp_cp' })],
    verdict: 'mismatch',
    culprits: [0],
  },
  'uses tp in place of cp': {
    ...TP2CP2DP2,
    faults: [at(6, 'group', 'cp', { on: 'tp' })],
    verdict: 'mismatch',
    culprits: [6],
  },
  'another size in tp': { ...TP2DP2, faults: [at(2, 'size', 'tp')], verdict: 'mismatch', culprits: [2], what: 'size' },
  'another size in dp': {
    ...TP2PP2DP2,
    faults: [at(7, 'size', 'dp_cp')],
    verdict: 'mismatch',
    culprits: [7],
    what: 'size',
  },
  'another size among 32': {
    ...TP2PP4DP4,
    faults: [at(8, 'size', 'tp')],
    verdict: 'mismatch',
    culprits: [8],
    what: 'size',
  },
  'another type in tp': {
    ...TP2DP2,
    faults: [at(1, 'dtype', 'tp')],
    verdict: 'mismatch',
    culprits: [1],
    what: 'dtype',
  },
  'another type in mp': {
    ...TP2PP2DP2,
    faults: [at(4, 'dtype', 'mp')],
    verdict: 'mismatch',
    culprits: [4],
    what: 'dtype',
  },
  'sends less than its neighbour receives': {
    ...TP2PP2DP2,
    faults: [at(2, 'size', 'pp', { nth: 1 })],
    verdict: 'mismatch',
    culprits: [2],
    what: 'size',
  },
  'receives more than its neighbour sends, one transfer at a time': {
    ...TP2PP2DP2,
    unbatched: true,
    faults: [at(5, 'long', 'pp')],
    verdict: 'mismatch',
    culprits: [5],
    what: 'size',
  },
  'leaves a transfer out, which its peers have done': {
    world: 16,
    layout: 'tp: 2, pp: 2',
    faults: [at(3, 'skip', 'pp')],
    verdict: 'mismatch',
    culprits: [3],
    what: 'order',
  },
  'does one operation more than all others': {
    ...EP4DP8,
    faults: [at(3, 'twice', 'dp_cp', { step: 3, nth: 1 })],
    verdict: 'hang',
    culprits: [0, 1, 2, 3, 4, 5, 6, 7],
    first: 3,
  },
  'goes on, dumped one after another': {
    ...TP2PP2DP2,
    faults: [],
    moments: new Map([30, 33, 31, 36, 32, 35, 30, 34].map((round, rank) => [rank, round])),
    verdict: 'unknown',
    culprits: [],
  },
  'sleeps; another rank was dumped early': {
    ...TP2PP2DP2,
    moments: new Map([[0, 20]]),
    faults: [at(5, 'sleep', 'tp')],
    verdict: 'hang',
    culprits: [5],
  },
  'groups named by hashes': { ...PP4, names: 'hashes', faults: [at(1, 'sleep', 'pp')], verdict: 'hang', culprits: [1] },
  'groups without a description': {
    ...TP2CP2DP2,
    names: 'undescribed',
    faults: [at(6, 'size', 'cp')],
    verdict: 'mismatch',
    culprits: [6],
    what: 'size',
  },
  'another operation in tp': { ...TP2DP2, faults: [at(3, 'op', 'tp')], verdict: 'mismatch', culprits: [3], what: 'op' },
  'another operation in cp': {
    ...TP2CP2DP2,
    faults: [at(0, 'op', 'cp')],
    verdict: 'mismatch',
    culprits: [0],
    what: 'op',
  },
  'sleeps, its dump is not there': {
    ...TP2DP2,
    missing: [2],
    faults: [at(2, 'sleep', 'tp')],
    verdict: 'lost',
    culprits: [2],
  },
  'sleeps, the dump of a victim is not there': {
    ...TP2PP2DP2,
    missing: [0],
    faults: [at(5, 'sleep', 'tp')],
    verdict: 'hang',
    culprits: [5],
  },
  'stops, the dump of a victim far away is not there': {
    ...TP2PP4DP4,
    missing: [1],
    faults: [at(30, 'stop', 'tp')],
    verdict: 'lost',
    culprits: [30],
  },
  'another size, cut dumps of others': {
    ...TP2PP2DP2,
    cut: { 0: 40, 3: 200 },
    faults: [at(6, 'size', 'tp')],
    verdict: 'mismatch',
    culprits: [6],
  },
  'sleeps, every other dump is cut by some bytes': {
    ...TP2PP2DP2,
    cut: { 0: 1, 1: 100, 2: 300, 4: 700 },
    faults: [at(3, 'sleep', 'tp')],
    verdict: 'hang',
    culprits: [3],
  },
  'two sleep apart': {
    world: 16,
    layout: 'tp: 2, pp: 2',
    faults: [at(1, 'sleep', 'tp'), at(14, 'sleep', 'tp')],
    verdict: 'hang',
    culprits: [1, 14],
  },
  'two stop': {
    world: 16,
    layout: 'tp: 2',
    faults: [at(3, 'stop', 'tp'), at(8, 'stop', 'tp')],
    verdict: 'lost',
    culprits: [3, 8],
  },
  'one sleeps, one is of another size': {
    world: 16,
    layout: 'tp: 2',
    faults: [at(1, 'sleep', 'tp'), at(12, 'size', 'tp')],
    verdict: 'mismatch',
    culprits: [1, 12],
  },
};

function found(name: string, { world, layout, json, missing, cut, ...run }: Scenario): Verification {
  const checked = check(`layout: 1\nworld_size: ${world}\nparallelism: {${layout}}\nmodel: {num_experts: 8}\n`);
  if (!isVerifiable(checked)) {
    throw new Error('the layout has errors');
  }
  const path = join(folder, name.replaceAll(/\W+/g, '-'));
  writeDumps(path, simulate(resolvedOf(checked), { steps: 4, ...run }), {
    json: json ?? false,
    ring: run.ring ?? 2000,
  });
  for (const rank of missing ?? []) {
    unlinkSync(join(path, `nccl_trace_rank_${rank}`));
  }
  for (const [rank, bytes] of Object.entries(cut ?? {})) {
    const dump = join(path, `nccl_trace_rank_${rank}`);
    truncateSync(dump, readFileSync(dump).length - bytes);
  }
  return verify('run.layout.yaml', checked, readEvidence([path]));
}

describe('simulated runs', () => {
  test.each(Object.entries(SCENARIOS))('%s', (name, scenario) => {
    const run = found(name, scenario);
    expect(
      { verdict: run.verdict, culprits: run.culprits.map(({ rank }) => rank).sort((a, b) => a - b) },
      JSON.stringify(run.culprits),
    ).toEqual({
      verdict: expect.toSatisfy((verdict: Verdict) => [scenario.verdict].flat().includes(verdict)),
      culprits: scenario.culprits,
    });
    if (scenario.what !== undefined) {
      expect(run.mismatch?.what).toBe(scenario.what);
    }
    if (scenario.first !== undefined) {
      expect(run.culprits[0]?.rank).toBe(scenario.first);
    }
    expect(run.groups.different).toEqual([]);
  });
});
