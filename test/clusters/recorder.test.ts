import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readEvidence, verify } from '../../jobs';
import { soundLayout } from '../harness/layouts';

const folder = mkdtempSync(join(tmpdir(), 'recorder-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What Megatron-LM's groups of tp 2 and dp 2 are made of; the first torch that the tests run has no descriptions. */
const PROGRAM = `
import sys
import torch.distributed as dist
import os
store = 'file://' + os.environ['STORE']
dist.init_process_group('gloo', init_method=store, rank=int(os.environ['RANK']), world_size=4)
for ranks in ([0, 1], [2, 3], [0, 2], [1, 3]):
    dist.new_group(ranks)
dist.new_group()
dist.barrier()
assert sys.argv[1:] == ['--steps', '3'] and __name__ == '__main__'
`;

test('the recorder writes the groups of a program, which verify compares with the layout', async () => {
  const program = join(folder, 'train.py');
  writeFileSync(program, PROGRAM);
  const ranks = [0, 1, 2, 3].map((rank) => {
    const env = { ...process.env, RECORD_GROUPS: folder, STORE: join(folder, 'store'), RANK: String(rank) };
    const words = [resolve('smoke/record_groups.py'), program, '--steps', '3'];
    return spawn('/usr/bin/python3', words, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  });
  expect(await Promise.all(ranks.map((rank) => once(rank, 'exit')))).toEqual(Array(4).fill([0, null]));
  const found = (parallelism: string) => {
    const checked = soundLayout(`layout: 1\nworld_size: 4\nparallelism: {${parallelism}}\n`);
    return verify('run.layout.yaml', checked, readEvidence([join(folder, 'groups_rank_*.jsonl')], checked.resolved));
  };
  const run = found('tp: 2');
  expect(run.sources.map(({ kind, rank, ok }) => [kind, rank, ok])).toEqual(
    [0, 1, 2, 3].map((rank) => ['recorder', rank, true]),
  );
  expect(run).toMatchObject({ groups: { equal: 5, different: [], unexpected: [] }, verdict: 'healthy', culprits: [] });
  const other = found('pp: 2, order: tp-cp-ep-dp-pp');
  expect(other).toMatchObject({ verdict: 'healthy' });
  expect(found('tp: 4')).toMatchObject({ verdict: 'wrong-groups' });
});
