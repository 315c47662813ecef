import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { check } from '../layout';
import {
  layoutHash,
  RECORD_VERSION,
  RemainingTime,
  RunHistory,
  type RunRecord,
  recordOf,
  reportOf,
  type SmokeResult,
  slowdowns,
} from '.';

const group = (kind: string, idx: number, busGBs: number): SmokeResult['groups'][number] => ({
  ev: 'group',
  ok: true,
  ms: 1,
  group: idx,
  kind,
  module: 'language',
  idx,
  ranks: [2 * idx, 2 * idx + 1],
  ops: { all_reduce: { bytes: 2 ** 26, ms: 1, busGBs } },
  skippedOps: {},
});

const passed: SmokeResult = {
  verdict: 'ok',
  ok: true,
  groups: [group('tp', 0, 300), group('tp', 1, 280)],
  fault: null,
  seconds: 12.3,
  device: 'NVIDIA H200',
  software: ['torch 2.11'],
  communicatorBytes: 2 ** 30,
  skipped: [],
  passed: [],
  bandwidth: [],
  warnings: [],
  lastWords: [],
};

/** A run that began in a minute of one hour. */
function run(minute: number, result: Partial<SmokeResult> = {}, backend = 'nccl', cluster = 'big'): RunRecord {
  const request = {
    uri: 'file:///a/one.layout.yaml',
    name: 'one',
    layoutHash: 'abc',
    cluster,
    kind: 'slurm',
    started: `2026-01-01T10:${String(minute).padStart(2, '0')}:00.000Z`,
    world: 4,
    allGroups: 2,
  };
  return recordOf(`run-${minute}`, request, backend, { ...passed, ...result });
}

const detail = { version: RECORD_VERSION, groups: passed.groups, log: ['a line'] } as const;

describe('the hash of a layout', () => {
  const hash = (text: string) => {
    const { resolved } = check(text);
    return resolved && layoutHash(resolved);
  };
  const text = 'layout: 1\nworld_size: 4\nparallelism:\n  tp: 2\n';

  test('does not change with comments and blank lines', () => {
    expect(hash(`# why\n\n${text}`)).toBe(hash(text));
  });

  test('changes with what the layout asks for', () => {
    expect(hash(text.replace('tp: 2', 'tp: 4'))).not.toBe(hash(text));
  });
});

describe('the history', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'smoke-history-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const reopened = async () => {
    const history = new RunHistory(folder);
    await history.load();
    return history;
  };

  test('is the same when it is opened again, the last run first', async () => {
    const history = await reopened();
    await history.add(run(1), detail);
    await history.add(run(2, { ok: false, verdict: 'rank_lost' }), detail);
    const again = await reopened();
    expect(again.runs).toEqual(history.runs);
    expect(again.runs.map(({ verdict }) => verdict)).toEqual(['rank_lost', 'ok']);
    expect(await again.detail(run(1))).toEqual(detail);
  });

  test('keeps the last hundred runs', async () => {
    const history = await reopened();
    for (let minute = 0; minute < 103; minute++) {
      await history.add({ ...run(0), id: `run-${minute}`, started: String(1000 + minute) }, detail);
    }
    const again = await reopened();
    expect(again.runs).toHaveLength(100);
    expect(again.runs.at(-1)?.id).toBe('run-3');
    expect(readdirSync(folder)).toHaveLength(200);
  });

  test('forgets one run, or all', async () => {
    const history = await reopened();
    await history.add(run(1), detail);
    await history.add(run(2), detail);
    await history.remove(['run-1']);
    expect((await reopened()).runs.map(({ id }) => id)).toEqual(['run-2']);
    expect(await history.detail(run(1))).toBeNull();
    await history.clear();
    expect((await reopened()).runs).toEqual([]);
  });

  test('passes over files that it cannot read, and those of another version', async () => {
    const history = await reopened();
    await history.add(run(1), detail);
    writeFileSync(join(folder, 'half.run.json'), '{"version": 1, "id": "half');
    writeFileSync(join(folder, 'bare.run.json'), '{"version": 1, "id": "bare"}');
    writeFileSync(join(folder, 'next.run.json'), JSON.stringify({ ...run(3), version: 2 }));
    expect((await reopened()).runs.map(({ id }) => id)).toEqual(['run-1']);
  });
});

describe('what became slower', () => {
  const slow = { groups: [group('tp', 0, 300), group('tp', 1, 200)] };

  test('is held against the last run of the same cluster that measured the same', () => {
    const [found, ...rest] = slowdowns(run(5, slow), [run(4, { ok: false, groups: [] }), run(3), run(2, slow)]);
    expect(found).toMatchObject({ kind: 'tp', operation: 'all_reduce', now: 200, before: 280, since: run(3).started });
    expect(rest).toEqual([]);
  });

  test.each([
    ['a tenth', run(5, { groups: [group('tp', 0, 300), group('tp', 1, 253)] }), run(3)],
    ['another cluster', run(5, slow), run(3, {}, 'nccl', 'other')],
    ['a later run', run(5, slow), run(6)],
    ['the CPU', run(5, slow, 'gloo'), run(3, {}, 'gloo')],
    ['other hardware', run(5, slow), run(3, { device: 'NVIDIA B200' })],
  ])('is not said against %s', (_, now, before) => {
    expect(slowdowns(now, [before])).toEqual([]);
  });
});

describe('the report', () => {
  test('says what passed, how fast, and what became slower', () => {
    const slow = run(5, { groups: [group('tp', 0, 300), group('tp', 1, 200)] });
    const report = reportOf(slow, [run(3)]);
    expect(report).toContain('# Smoke job of one: passed');
    expect(report).toContain('- Cluster: big (slurm, nccl)');
    expect(report).toContain('| tp of language | 2 x 2          | 200 GB/s   |');
    expect(report).toContain('- tp of language: all_reduce 200 GB/s, 29 % slower (280 GB/s on 2026-01-01 10:03 UTC)');
  });

  test('names the fault, its group and its ranks', () => {
    const fault = {
      ev: 'fault',
      code: 'gate_timeout',
      exit: 14,
      msg: 'Rank 5 did not come.',
      kind: 'tp',
      module: 'language',
      ranks: [4, 5],
      culprits: [5],
      host: 'node-1',
      waiting: [4],
    } as const;
    const report = reportOf(run(1, { ok: false, verdict: 'gate_timeout', fault, groups: [] }), []);
    expect(report).toContain('# Smoke job of one: failed (gate timeout)');
    for (const line of ['Rank 5 did not come.', '- Group: tp of language', '- Ranks named: 5', '- Host: node-1']) {
      expect(report).toContain(line);
    }
  });

  test('ends with the last words of a job that broke off', () => {
    expect(reportOf(run(1, { ok: false, verdict: 'unknown', lastWords: ['Killed'] }), [])).toMatch(/Killed\n```\n$/);
  });
});

describe('the estimate', () => {
  const at = (groups: number) => ({ ranks: 4, world: 4, ready: true, made: 1, groups, allGroups: 10 });

  test('knows nothing at first, and then goes by the pace of the groups', () => {
    const estimate = new RemainingTime(undefined, 0);
    expect(estimate.secondsLeft(at(0), 5000)).toBeUndefined();
    expect(estimate.secondsLeft(at(2), 6000)).toBeUndefined();
    expect(estimate.secondsLeft(at(4), 8000)).toBe(6);
  });

  test('goes by the last run before there are groups, as long as that took', () => {
    const estimate = new RemainingTime(20, 0);
    expect(estimate.secondsLeft(at(0), 5000)).toBe(15);
    expect(estimate.secondsLeft(at(0), 25_000)).toBeUndefined();
  });
});
