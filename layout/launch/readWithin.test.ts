import { describe, expect, test } from 'vitest';
import { HELD_LIMITS, LAUNCH_LIMITS, type LaunchLimits, readLaunch } from './readWithin';

const FILES: Readonly<Record<string, string>> = {
  '/job/train.sh':
    'source ./sizes.sh\nsource ./more.sh\ntorchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size $TP\n',
  '/job/sizes.sh': 'TP=4\n',
  '/job/more.sh': 'PP=2\n',
};

/** The value of tp that is read within limits, and the files that were asked for with their limits. */
async function read(limits: LaunchLimits, files = FILES) {
  const asked: string[] = [];
  const reading = await readLaunch(
    '/job/train.sh',
    async (path, most) => {
      asked.push(`${path} ${most}`);
      const text = files[path];
      return text !== undefined && text.length <= most ? text : null;
    },
    limits,
  );
  return { asked, tp: reading?.values.find(({ key }) => key === 'parallelism.tp')?.value };
}

describe('a launch file', () => {
  test('is read with the files that it names', async () => {
    const { asked, tp } = await read({ file: 1000, named: 100 });
    expect(tp).toBe(4);
    expect(asked).toEqual(expect.arrayContaining(['/job/train.sh 1000', '/job/sizes.sh 100', '/job/more.sh 100']));
  });

  test('says where the command stands that starts its job', async () => {
    const script = FILES['/job/train.sh'] ?? '';
    const read = async (path: string) => FILES[path] ?? null;
    const own = await readLaunch('/job/train.sh', read, LAUNCH_LIMITS);
    expect(own?.command).toEqual({ file: '/job/train.sh', offset: script.indexOf('torchrun') });
    const flags = await readLaunch('/job/flags.sh', async () => '--tensor-model-parallel-size 2\n', LAUNCH_LIMITS);
    expect(flags?.command?.offset).toBe(0);
    const recipe = await readLaunch('/job/sizes.sh', read, LAUNCH_LIMITS);
    expect(recipe?.command).toBeNull();
  });

  test('is not read where it is missing or too large', async () => {
    expect(await readLaunch('/job/none.sh', async () => null, LAUNCH_LIMITS)).toBeNull();
    expect((await read({ file: 10, named: 100 })).asked).toEqual(['/job/train.sh 10']);
  });

  test('leaves what a file that is too large sets unknown', async () => {
    expect((await read({ file: 1000, named: 4 })).tp).toBeNull();
  });

  test('stays within its limit together with the files that it names', async () => {
    const own = FILES['/job/train.sh']?.length ?? 0;
    const { asked } = await read({ file: 1000, named: 100, together: own + 12 });
    expect(asked.slice(0, 2)).toEqual(['/job/train.sh 1000', '/job/sizes.sh 12']);
    expect(asked).toContain('/job/more.sh 7');
  });

  test('is held by a server within less than a command reads', () => {
    expect(HELD_LIMITS.file).toBeLessThanOrEqual(LAUNCH_LIMITS.file);
    expect(HELD_LIMITS.named).toBe(LAUNCH_LIMITS.named);
  });
});
