import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { planOf } from '../test/harness/layouts';
import { EnvironmentError } from './environmentError';

const FILE = 'examples/mimo-8gpu.layout.yaml';

const plan = planOf(readFileSync(FILE, 'utf8'), FILE);

describe('the plan', () => {
  test('says for every family of groups the line of the layout that it comes from', () => {
    const text = readFileSync(FILE, 'utf8').split('\n');
    const line = (name: string, module: string) =>
      text[(plan.groups.find((family) => family.name === name && family.module === module)?.line ?? 0) - 1]?.trim();
    expect(line('tp', 'images')).toBe('tp: 2');
    expect(line('pp', 'language')).toBe('pp: 2');
    expect(line('cp', 'language')).toBe('language:');
    expect(plan.groups.every(({ file }) => file === FILE)).toBe(true);
  });

  test('is what the layout asks for', () => {
    const text = `layout: 1\nworld_size: 2\nparallelism: {tp: 2}\nsmoke: {checks: [groups], payload: 1KiB, iterations: 7, timeout: 90s}\n`;
    expect(planOf(text)).toMatchObject({
      world_size: 2,
      checks: ['groups'],
      payload_bytes: 1024,
      iterations: 7,
      limits: { operation: 90 },
    });
  });

  test('holds every group of a large world, and refuses a world with too many group members', () => {
    const world = (ranks: number) =>
      `layout: 1\nworld_size: ${ranks}\nparallelism: {tp: 8, pp: 16, ep: 8, expt_tp: 1}\n`;
    const { groups } = planOf(world(2 ** 14));
    expect(groups.find(({ name }) => name === 'tp')?.ranks).toHaveLength(2 ** 11);
    expect(() => planOf(world(2 ** 20))).toThrow(/^The process groups of 1,048,576 ranks have .* 5,000,000 at most/);
    expect(() => planOf(world(2 ** 30))).toThrow(EnvironmentError);
  });

  const overlapOf = (text: string) => planOf(`layout: 1\nsmoke: {checks: [all_gather_overlap]}\n${text}`);

  test('makes a second communicator for the check of overlap, where the layout has none', () => {
    const { groups, overlap } = overlapOf('world_size: 4\nparallelism: {tp: 2}\n');
    const flat = groups.flatMap(({ name, check, ranks }) => ranks.map((members) => ({ name, check, members })));
    const [pair] = overlap ?? [];
    expect(flat[pair?.group ?? -1]).toEqual({ name: 'dp_cp', check: undefined, members: [0, 2] });
    expect(flat[pair?.other ?? -1]).toEqual({ name: 'dp_cp_ag', check: 'all_gather_overlap', members: [0, 2] });
  });

  test('has nothing to overlap without data parallelism, and does not unless asked', () => {
    expect(overlapOf('world_size: 2\nparallelism: {tp: 2}\n').overlap).toEqual([]);
    expect(plan.overlap).toBeUndefined();
  });

  test('carries the spares of nonuniform TP, and its replacement groups after those of the layout', () => {
    const text = readFileSync('examples/ntp-64gpu.layout.yaml', 'utf8');
    const { spares, groups } = planOf(`${text}\nsmoke: {checks: [groups, ntp]}\n`);
    expect(spares).toEqual([6, 7]);
    expect(groups.at(-1)).toMatchObject({ name: 'tp', check: 'ntp', ranks: [[0, 1, 2, 3, 4, 5]] });
    expect(groups.filter(({ check }) => check !== undefined)).toHaveLength(1);
    const packed = text.replace('world_size: 64', 'world_size: 62').replace(/cluster:[\s\S]*?\n\n/, '');
    expect(planOf(`${packed}  placement: packed\nsmoke: {checks: [groups, ntp]}\n`)).toMatchObject({ spares: [] });
  });

  test('says which tokens every rank of a replica holds', () => {
    const { sequence } = planOf(
      'layout: 1\nworld_size: 4\nparallelism: {tp: 2, cp: 2}\nsequence: {seq_length: 16, sequence_parallel: true}\nsmoke: {checks: [sequence]}\n',
    );
    const share = (cp_rank: number, tp_rank: number, ranges: number[][]) => ({ cp_rank, tp_rank, ranges });
    expect(sequence).toEqual([
      {
        module: null,
        length: 16,
        gather: ['tp', 'cp'],
        shares: [share(0, 0, [[0, 4]]), share(0, 1, [[12, 16]]), share(1, 0, [[4, 8]]), share(1, 1, [[8, 12]])],
      },
    ]);
  });
});
