import { describe, expect, test } from 'vitest';
import { check } from '../check';
import { type CheckpointFormat, checkpointVerdicts } from '.';

const MODEL = 'model: {num_layers: 8, hidden_size: 1024, num_attention_heads: 16}';
const EXPERTS = 'model: {num_layers: 8, hidden_size: 1024, num_attention_heads: 16, num_experts: 8}';

function layout(parallelism: string, ...sections: readonly string[]): string {
  return ['layout: 1', 'world_size: 8', `parallelism: {${parallelism}}`, ...sections, ''].join('\n');
}

/** A line a part: outcome, why, the framework's words, the commands that lead on. */
function verdicts(before: string, after: string, format: CheckpointFormat | null = null): string[] {
  const [one, other] = [check(before).facts, check(after).facts];
  return (one && other ? checkpointVerdicts(one, other, format) : []).flatMap(({ parts }) =>
    parts.map(({ part, outcome, because, predicts, ways }) =>
      [
        `${part} ${outcome}: ${because}`,
        ...(predicts === null ? [] : [`"${predicts}"`]),
        ...ways.map(({ command }) => command),
      ].join(' | '),
    ),
  );
}

describe('what a layout takes from the checkpoint of another', () => {
  const sharded = 'optimizer: {use_distributed_optimizer: true}';

  test('the same layout takes all of it', () => {
    const same = layout('tp: 2', MODEL, sharded, 'batch: {micro_batch_size: 1, global_batch_size: 8}');
    expect(verdicts(same, same)).toEqual([
      'model loads: The model loads as it is.',
      'optimizer loads: The optimizer states load as they are (dp_reshardable).',
      'rng loads: The random (RNG) states load: tp and pp stay.',
      'rerun loads: The state of the rerun engine loads: world, tp, pp and dp stay.',
      'data loads: The data continues at the consumed samples, 8 a step as before.',
    ]);
  });

  test('another global batch moves a schedule in iterations, which ends the load', () => {
    const of = (batch: number) =>
      layout('tp: 2', MODEL, sharded, `batch: {micro_batch_size: 1, global_batch_size: ${batch}}`);
    expect(verdicts(of(16), of(12)).at(-1)).toBe(
      'data after: The data continues at the consumed samples, 12 a step in place of 16. A learning-rate schedule in samples (--train-samples) goes on; one in iterations (--train-iters) is multiplied by the batch, and loading fails unless --use-checkpoint-opt_param-scheduler keeps the saved one. | "OptimizerParamScheduler: class input value" | --use-checkpoint-opt_param-scheduler | --override-opt_param-scheduler',
    );
  });

  test('other sizes of tp and pp need optimizer states that reshard', () => {
    expect(verdicts(layout('tp: 2', MODEL, sharded), layout('tp: 4, pp: 2', MODEL, sharded)).slice(0, 4)).toEqual([
      'model loads: The model loads as it is and is resharded: tp 2 → 4, pp 1 → 2, dp 4 → 1.',
      'optimizer after: The optimizer states do not load as they are: tp 2 → 4, pp 1 → 2. Saved as dp_reshardable, they follow the gradient buffers of each (tp, pp) rank. | "(TP, PP) mismatch after resume ((4, 2) vs (2, 1) from checkpoint): not supported for DistributedOptimizer with sharding type dp_reshardable. Please use `--ckpt-fully-parallel-save` flag during checkpoint saving." | --dist-ckpt-optim-fully-reshardable | --no-load-optim',
      'rng lost: The random (RNG) states are lost: tp 2 → 4, pp 1 → 2. Dropout draws other numbers from here on; the seed of the run starts anew. | "(TP, PP) mismatch after resume ((4, 2) vs (2, 1) from checkpoint): RNG state will be ignored"',
      'rerun lost: The state of the rerun engine is dropped: tp 2 → 4, pp 1 → 2, dp 4 → 1. | "Job sharding has changed: Rerun state will be ignored"',
    ]);
  });

  test('fully reshardable states load under any tp and pp', () => {
    const full = 'checkpoint: {optimizer_sharding: fully_reshardable}';
    const [, optimizer] = verdicts(layout('tp: 2', MODEL, sharded, full), layout('pp: 4', MODEL, sharded));
    expect(optimizer).toBe('optimizer loads: The optimizer states load as they are (fully_reshardable).');
  });

  test('no sharding carries states over the border of an optimizer for experts', () => {
    const full = 'checkpoint: {optimizer_sharding: fully_reshardable}';
    const [model, optimizer] = verdicts(layout('', EXPERTS, sharded, full), layout('ep: 4', EXPERTS, sharded));
    expect([model, optimizer]).toEqual([
      'model loads: The model loads as it is and is resharded: ep 1 → 4.',
      'optimizer lost: The optimizer states cannot be loaded: in the second layout the experts have an optimizer of their own (ep above 1, or expt_tp other than tp), in the first they share the dense one. | --no-load-optim',
    ]);
  });

  test('buckets of overlapping reductions grow with many data-parallel ranks, which dp_reshardable states do not survive', () => {
    const overlap = 'optimizer: {use_distributed_optimizer: true, overlap_grad_reduce: true}';
    const at = (world: number) => layout('', MODEL, overlap).replace('world_size: 8', `world_size: ${world}`);
    expect(verdicts(at(32), at(16))[1]).toBe(
      'optimizer loads: The optimizer states load as they are (dp_reshardable).',
    );
    expect(verdicts(at(64), at(32))[1]).toMatch(
      /^optimizer after: The optimizer states do not load as they are: gradient buckets of 64000000 → 40000000\./,
    );
  });

  test('the legacy format has a file a rank: it is converted, or written anew', () => {
    const [model, optimizer, rng, rerun] = verdicts(layout('', MODEL), layout('tp: 2', MODEL), 'torch');
    expect([model, optimizer, rng, rerun]).toEqual([
      'model after: The model does not load as it is: tp 1 → 2, and this format has a file a (tp, pp, ep) rank. | "tensor_model_parallel_size value from checkpoint (1) is not equal to the input argument value (2)." | python tools/checkpoint/convert.py --model-type GPT --loader core --saver core --target-tensor-parallel-size 2 --target-pipeline-parallel-size 1 --load-dir LOAD --save-dir SAVE | --ckpt-convert-format torch_dist --ckpt-convert-save SAVE',
      'optimizer after: The optimizer states do not load as they are, and the converter leaves them behind; writing the checkpoint anew keeps them. | --ckpt-convert-format torch_dist --ckpt-convert-save SAVE | --no-load-optim',
      'rng lost: The random (RNG) states are lost: tp 1 → 2. Dropout draws other numbers from here on; the seed of the run starts anew. | --no-load-rng',
      'rerun lost: The state of the rerun engine is read from torch_dist checkpoints alone.',
    ]);
  });

  test('a model of another size does not load', () => {
    const [model] = verdicts(layout('', MODEL), layout('', MODEL.replace('num_layers: 8', 'num_layers: 16')));
    expect(model).toBe(
      'model lost: The model does not load: the two layouts have models of other sizes. | "num_layers value from checkpoint (8) is not equal to the input argument value (16)."',
    );
  });

  test('no states go over from a distributed optimizer to one that is not, or back', () => {
    const [one, other] = [layout('', MODEL, sharded), layout('', MODEL)];
    expect([verdicts(one, other)[1], verdicts(other, one)[1]]).toEqual([
      'optimizer lost: The optimizer states cannot be loaded: the first layout has use_distributed_optimizer, the second does not. | --no-load-optim',
      'optimizer lost: The optimizer states cannot be loaded: the second layout has use_distributed_optimizer, the first does not. | "ShardedTensor.flattened_range is not supported." | --no-load-optim',
    ]);
  });

  test('what nobody tried is said to be unknown', () => {
    const optimizer = verdicts(layout('', MODEL, sharded), layout('', MODEL), 'torch')[1];
    expect(optimizer).toBe(
      'optimizer unknown: Whether the optimizer states load is not known: only the first layout has use_distributed_optimizer, and no such pair was tried. | --no-load-optim',
    );
    const axolotl = 'launch: {family: axolotl}';
    expect(verdicts(layout('', axolotl), layout('tp: 2', axolotl))[0]).toBe(
      'model unknown: What axolotl does with the weights of the model of another layout is not known here.',
    );
  });

  test('parameters in fp32 never take dp_reshardable states back, and no buffer goes over to other types', () => {
    const single = MODEL.replace('}', ', params_dtype: fp32}');
    const [same] = [layout('tp: 2', single, sharded)];
    expect(verdicts(same, same)[1]).toMatch(
      /^optimizer after: .*under the same layout neither\. \| "a view of a leaf Variable.*" \| --dist-ckpt-optim-fully-reshardable \| --no-load-optim$/,
    );
    const full = 'checkpoint: {optimizer_sharding: fully_reshardable}';
    expect(verdicts(layout('', single, sharded, full), layout('', single, sharded))[1]).toMatch(/^optimizer loads: /);
    const half = sharded.replace('}', ', grad_reduce_in_bf16: true}');
    expect(verdicts(layout('', MODEL, sharded), layout('', MODEL, half))[1]).toMatch(
      /^optimizer after: .*: types bf16 with gradients in fp32 → bf16 with gradients in bf16\./,
    );
  });

  /** Of two layouts of a framework the outcome of each part, and what it says. */
  function outcomes(
    family: string,
    before: string,
    after: string,
    world = 8,
    ...sections: readonly string[]
  ): string[] {
    const of = (parallelism: string) => layout(parallelism, `launch: {family: ${family}}`, MODEL, ...sections);
    const all = verdicts(of(before), of(after).replace('world_size: 8', `world_size: ${world}`));
    return all.map((one) => one.slice(0, one.indexOf(':')));
  }

  test.each<
    readonly [family: string, before: string, after: string, world: number, sections: string[], told: string[]]
  >([
    ['slime', '', 'tp: 2', 8, [sharded], ['model loads', 'optimizer after', 'rng lost', 'rerun lost', 'data loads']],
    ['megatron-bridge', 'ep: 2', 'ep: 2', 4, [sharded], ['model loads', 'optimizer loads', 'rng after', 'rerun loads']],
    ['megatron-bridge', 'ep: 2', 'ep: 4', 8, [sharded], ['model loads', 'optimizer loads', 'rng loads', 'rerun loads']],
    ['megatron-bridge', 'tp: 2', '', 8, [sharded], ['model loads', 'optimizer after', 'rng lost', 'rerun lost']],
    ['nemo-rl', '', '', 8, [sharded], ['model loads', 'optimizer loads', 'rng lost', 'rerun loads', 'data loads']],
    ['nemo-rl, engine: fsdp', '', 'tp: 2', 4, [], ['model loads', 'optimizer loads', 'rng lost', 'data loads']],
    ['ms-swift', 'tp: 2', '', 8, [sharded], ['model loads', 'optimizer after', 'rng lost', 'rerun lost']],
    [
      'verl, engine: megatron',
      'tp: 2',
      '',
      8,
      [sharded],
      ['model loads', 'optimizer loads', 'rng after', 'rerun lost', 'data loads'],
    ],
    ['verl, engine: fsdp', '', '', 4, [], ['model after', 'optimizer lost', 'rng lost', 'data lost']],
    [
      'nanotron',
      '',
      'tp: 2',
      8,
      ['optimizer: {zero_stage: 1}'],
      ['model loads', 'optimizer loads', 'rng lost', 'data loads'],
    ],
    [
      'nanotron',
      '',
      '',
      4,
      ['optimizer: {zero_stage: 1}'],
      ['model loads', 'optimizer lost', 'rng lost', 'data loads'],
    ],
    [
      'nanotron',
      '',
      '',
      4,
      ['optimizer: {zero_stage: 0}'],
      ['model loads', 'optimizer loads', 'rng lost', 'data loads'],
    ],
    [
      'deepspeed',
      '',
      '',
      4,
      ['optimizer: {zero_stage: 2}'],
      ['model loads', 'optimizer after', 'rng unknown', 'data unknown'],
    ],
    [
      'deepspeed',
      '',
      '',
      4,
      ['optimizer: {zero_stage: 3}'],
      ['model after', 'optimizer after', 'rng unknown', 'data unknown'],
    ],
    ['torchtitan', '', 'tp: 2', 8, [], ['model loads', 'optimizer loads', 'rng lost', 'data lost']],
  ])('%s, %s to %s on %s ranks, %s', (family, before, after, world, sections, told) => {
    expect(outcomes(family, before, after, world, ...sections).slice(0, told.length)).toEqual(told);
  });

  test('words and options are those of the framework', () => {
    const bridge = 'launch: {family: megatron-bridge}';
    expect(verdicts(layout('tp: 2', bridge, MODEL, sharded), layout('', bridge, MODEL, sharded))[1]).toMatch(
      /Please use `checkpoint_config\.fully_parallel_save=True` for checkpoint saving\." \| checkpoint\.dist_ckpt_optim_fully_reshardable=true \| checkpoint\.load_optim=false$/,
    );
    const zero = (world: number) =>
      layout('', 'launch: {family: deepspeed}', 'optimizer: {zero_stage: 2}').replace(': 8', `: ${world}`);
    expect(verdicts(zero(8), zero(16))[1]).toMatch(
      /"The checkpoint being loaded used a DP world size of 8 but the current world size is 16\. .*ds_to_universal --input_folder/,
    );
  });

  test('weights in the format of Hugging Face load under any layout, and nothing else does', () => {
    expect(
      verdicts(layout('tp: 2', MODEL, sharded), layout('pp: 4', MODEL, sharded), 'hf').map((one) => one.split(':')[0]),
    ).toEqual(['model loads', 'optimizer lost', 'rng lost', 'rerun lost', 'data lost']);
  });

  test('verl on FSDP has a file a rank, so that another number of ranks starts from merged weights', () => {
    const verl = 'launch: {family: verl, engine: fsdp}';
    const [one, other] = [layout('', verl), layout('', verl).replace('world_size: 8', 'world_size: 4')];
    expect(verdicts(one, other)[0]).toBe(
      'model after: The weights of the model do not load as they are: world_size 8 → 4, and every rank reads a file that has the number of ranks in its name. | python -m verl.model_merger merge --backend fsdp --local_dir ACTOR --target_dir MODEL',
    );
    expect(verdicts(one, one)[0]).toMatch(/^model unknown: /);
  });

  describe('Megatron-FSDP', () => {
    const fsdp = (parallelism: string, model: string, ...options: readonly string[]) =>
      layout(parallelism, `model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8, ${model}}`).concat(
        `fsdp: {${['enabled: true', ...options].join(', ')}}\ncheckpoint: {ckpt_format: fsdp_dtensor}\n`,
      );
    const untied = 'untie_embeddings_and_output_weights: true';

    test('all of it loads under any sizes', () => {
      const [before, after] = [fsdp('tp: 2, cp: 2', 'num_experts: 8'), fsdp('ep: 4, expt_tp: 1', 'num_experts: 8')];
      expect(verdicts(before, after).slice(0, 3)).toEqual([
        'model loads: The model loads as it is and is resharded: tp 2 → 1, ep 1 → 4, expt_tp 2 → 1, cp 2 → 1, dp 2 → 8.',
        'optimizer loads: The optimizer states load as they are and are resharded: tp 2 → 1, ep 1 → 4, expt_tp 2 → 1, cp 2 → 1, dp 2 → 8.',
        'rng loads: The random (RNG) states load: under Megatron-FSDP all tensor-parallel ranks have those of the first.',
      ]);
    });

    test('another padding of the vocabulary is undone by the multiple that it is padded to', () => {
      const [model, optimizer] = verdicts(fsdp('', 'vocab_size: 300'), fsdp('tp: 2', 'vocab_size: 300'));
      const error =
        '"Size mismatch between saved torch.Size([384, 64]) and current: torch.Size([512, 64]) for model.module.embedding.word_embeddings.weight"';
      expect([model, optimizer]).toEqual([
        `model after: The model does not load as it is: padded vocabulary 384 → 512. | ${error} | --make-vocab-size-divisible-by 192`,
        `optimizer after: The optimizer states do not load as they are: padded vocabulary 384 → 512. | ${error} | --make-vocab-size-divisible-by 192`,
      ]);
    });

    test('in half precision nothing loads without the states', () => {
      const [half, whole] = [fsdp('', untied), fsdp('', `${untied}, params_dtype: fp32`)];
      const outcomes = (before: string, after: string) =>
        verdicts(before, after)
          .slice(0, 2)
          .map((line) => [line.split(':')[0], line.includes('--no-load-optim')]);
      expect(outcomes(whole, half)).toEqual([
        ['model lost', false],
        ['optimizer lost', false],
      ]);
      expect(outcomes(half, whole)).toEqual([
        ['model after', true],
        ['optimizer lost', true],
      ]);
      expect(outcomes(fsdp('', ''), half)).toEqual([
        ['model lost', false],
        ['optimizer lost', false],
      ]);
    });

    test('a torch_dist checkpoint is converted, which keeps weights and optimizer states', () => {
      const after = fsdp('', '').replace('64', '1024').replace('heads: 8', 'heads: 16');
      const [model, ...others] = verdicts(layout('', MODEL), after);
      expect(model).toMatch(
        /^model after: .* \| "KeyError: 'model'" \| torchrun .*convert-torch-dist-to-fsdp-dtensor LOAD SAVE/,
      );
      expect(others.map((line) => line.split(':')[0])).toEqual([
        'optimizer after',
        'rng lost',
        'rerun lost',
        'data unknown',
      ]);
    });

    test('version 2 is not known', () => {
      expect(verdicts(fsdp('', ''), fsdp('', '', 'megatron_fsdp_version: 2'))[0]).toMatch(/^model unknown: /);
    });
  });

  test('torchtitan reshards all but the state of its data loader', () => {
    const titan = 'launch: {family: torchtitan}';
    const [model, optimizer, , data] = verdicts(layout('', titan), layout('tp: 2', titan));
    expect([model, optimizer, data]).toEqual([
      'model loads: The weights of the model load as they are: torch.distributed.checkpoint reshards DTensors over any mesh.',
      'optimizer loads: The optimizer states load as they are: torch.distributed.checkpoint reshards DTensors over any mesh.',
      'data lost: The data loader\'s states cannot be loaded: dp 8 → 4, and the state of the data loader belongs to the number of data-parallel ranks. | "dp_degree is inconsistent before and after checkpoint, dataloader resharding is not supported yet." | --checkpoint.exclude_from_loading dataloader',
    ]);
  });
});
