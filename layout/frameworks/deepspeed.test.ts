import { expect, test } from 'vitest';
import { readLaunchFile } from '../launch/read';

const read = (text: string) => {
  const { family, values, notes } = readLaunchFile('run.sh', text, () => null);
  const known = values.filter(({ value }) => value !== null);
  return { family, notes, known: Object.fromEntries(known.map(({ key, value }) => [key, value])) };
};

test('a script that writes its own configuration is DeepSpeed’s by its switch; its degrees are not invented', () => {
  expect(read('deepspeed --num_gpus 8 main.py --zero_stage 3 --deepspeed --output_dir out &> out/log\n')).toEqual({
    family: 'deepspeed',
    notes: ['What the configuration sets is unknown: it was not found.'],
    known: { world_size: 8, 'cluster.nodes': 1, 'cluster.gpus_per_node': 8 },
  });
  expect(read('deepspeed --num_gpus 8 inference.py --batch_size 2\n').family).toBeNull();
});

test('a configuration whose name is unknown is DeepSpeed’s, whatever the script is called', () => {
  const { family, known } = read('deepspeed --num_gpus=2 finetune_zero3.py --deepspeed_config=$CONFIG --lr 1e-5\n');
  expect(family).toBe('deepspeed');
  expect(known).toEqual({ world_size: 2, 'cluster.nodes': 1, 'cluster.gpus_per_node': 2 });
});
