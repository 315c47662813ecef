import { expect, test } from 'vitest';
import type { RuleLevels } from '../../layout';
import * as engine from '../../layout/launch';
import { launchDiagnostics } from './launchCheck';

const found = (script: string, levels: RuleLevels = new Map()) =>
  launchDiagnostics(
    'file:///jobs/train.sh',
    engine.readLaunchFile('/jobs/train.sh', script, () => null),
    engine,
    levels,
  ).map(({ code, range }) => [code, script.slice(range.start.character, range.end.character)]);

test('a rule speaks at the flag that a script writes, with its severity of the project', () => {
  const script = 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 3\n';
  expect(found(script)).toEqual([['dense-factorization', '3']]);
  expect(found(script, new Map([['dense-factorization', 'off']]))).toEqual([]);
});

test('nothing is said of what is not certain', () => {
  expect(found('torchrun --nproc-per-node $GPUS pretrain_gpt.py --tensor-model-parallel-size 3\n')).toEqual([]);
});
