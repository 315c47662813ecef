import { expect, test } from 'vitest';
import { exportLayout } from './export';
import { RECORDED_TARGETS } from './record';

const PLAIN = 'layout: 1\nworld_size: 16\nparallelism: {tp: 2, order: tp-cp-ep-pp-dp}\n';
const MIMO = `layout: 1
world_size: 8
modules:
  language: {tp: 2, num_ranks: 8}
`;

test.each(RECORDED_TARGETS)(
  '%s starts the program under the recorder, with everything switched on before',
  (target) => {
    const text = target === 'mimo-args' ? MIMO : PLAIN;
    const plain = exportLayout(text, target).text.split('\n');
    const lines = exportLayout(text, target, { record: true }).text.split('\n');
    const at = lines.findIndex((line) => line.includes('record_groups.py'));
    expect(lines[at]).toMatch(/^(?:torchrun --nnodes \d+ --nproc-per-node 8|srun python) record_groups\.py \S+\.py\b/);
    expect(lines.slice(0, at).filter((line) => line.startsWith('export '))).toEqual([
      `export RECORD_GROUPS="\${RECORD_GROUPS:-$PWD/run}"`,
      'export TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_TRACE_BUFFER_SIZE=2000',
      'export TORCH_NCCL_DUMP_ON_TIMEOUT=1',
      'export TORCH_FR_DUMP_TEMP_FILE="$RECORD_GROUPS/rank_" TORCH_NCCL_DEBUG_INFO_TEMP_FILE="$RECORD_GROUPS/rank_"',
      'export NCCL_RAS_ENABLE=1',
    ]);
    // every flag is still there, behind the program
    expect(lines.slice(at + 1)).toEqual(plain.slice(plain.findIndex((line) => /^(?:torchrun|srun) /.test(line)) + 1));
  },
);

test('a batch script of a cluster with an interpreter, a container and a setup starts the program under the recorder', () => {
  const { text } = exportLayout(PLAIN, 'sbatch', {
    record: true,
    python: '/opt/env/bin/python3',
    srun: { 'container-image': 'nvcr.io/nvidia/pytorch:26.01-py3' },
    setup: ['module load cuda'],
  });
  const lines = text.split('\n');
  const at = lines.findIndex((line) => line.startsWith('srun '));
  expect(lines[at]).toBe(
    'srun --container-image=nvcr.io/nvidia/pytorch:26.01-py3 /opt/env/bin/python3 record_groups.py pretrain_gpt.py \\',
  );
  const before = lines.slice(0, at);
  expect(before.indexOf('module load cuda')).toBeLessThan(before.indexOf('export NCCL_RAS_ENABLE=1'));
  expect(exportLayout(PLAIN, 'sbatch', { python: '/opt/env/bin/python3' }).text).not.toContain('RECORD_GROUPS');
});
