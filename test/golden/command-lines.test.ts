import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { check } from '../../layout';
import { layoutOf, readLaunchFile } from '../../layout/launch';
import { loadGolden, predictions } from './golden';

/*
 * Random command lines of the training script: what its own parser says of each is held against what the rules say of the layout
 * that an import makes of it. Both the words and the defaults that stand where a line is silent are Megatron-LM's.
 */
interface CommandLine {
  readonly world_size: number;
  readonly argv: readonly string[];
}

const lines = loadGolden<CommandLine, object>('command_lines');

/** What the rules predict of a line as a launch script has it. */
function predicted({ world_size: world, argv }: CommandLine): (string | null)[] {
  const launcher = `torchrun --nnodes ${Math.max(1, world / 8)} --nproc-per-node 8`;
  const script = `export CUDA_DEVICE_MAX_CONNECTIONS=1\n${launcher} pretrain_gpt.py ${argv.join(' ')}\n`;
  const layout = layoutOf(readLaunchFile('run.sh', script, () => null));
  return predictions(check(stringify(layout)));
}

const plain = (text: string) => text.replace(/\s+/g, ' ').trim();

describe('command lines', () => {
  test('there are enough of both kinds', () => {
    expect(lines.filter(({ ok }) => ok).length).toBeGreaterThan(30);
    expect(lines.filter(({ ok }) => !ok).length).toBeGreaterThan(150);
  });

  test.each(lines.filter(({ ok }) => !ok))('$id is refused in the words of Megatron-LM', ({ input, error }) => {
    const said = predicted(input).map((words) => plain(words ?? ''));
    expect(said.length).toBeGreaterThan(0);
    // an assertion without a message has no words, and a line may break several
    if (error?.message) {
      expect(said).toContain(plain(error.message));
    }
  });

  test.each(lines.filter(({ ok }) => ok))(
    '$id is accepted, and what is said of it stops the job later',
    ({ input }) => {
      const later = [
        /^world_size \(\d+\) is not divisible by expert_tensor_model_pipeline/,
        /^num_layers(_per_pipeline_rank)?[ =]\d+ +should be divisible/,
        /^During training, performance may degrade if MoE/,
        /^The (number of contiguous micro-batches|remainder of M)/,
      ];
      expect(predicted(input).filter((words) => !later.some((one) => one.test(words ?? '')))).toEqual([]);
    },
  );
});
