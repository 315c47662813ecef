import { expect, test } from 'vitest';
import { layoutOf, layoutYaml } from '../launch/importedLayout';
import { readLaunchFile } from '../launch/read';
import { exportLayout } from '../launch/write';

const SCRIPT = `#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
# usage: train.sh <checkpoints>
GPUS_PER_NODE=\${GPUS_PER_NODE:-8}
NNODES=\${SLURM_NNODES:-1}
TP=4
if [ -z \${PP} ]; then PP=2; fi
if [[ "$FP8" == "yes" ]]; then EXTRA="--fp8-format hybrid --micro-batch-size 2"; fi
DISTRIBUTED_ARGS=(--nproc-per-node $GPUS_PER_NODE --nnodes=$NNODES)
MODEL_ARGS="
    --num-layers 32 \\
    --hidden-size 4096
    --num-attention-heads 32 --num-query-groups 8
    --seq-length 4096 --max-position-embeddings 4096
    --swiglu --bf16
"
torchrun \${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \\
    --tensor-model-parallel-size 8 \\
    --tensor-model-parallel-size=$TP \\
    --pipeline-model-parallel-size $PP \\
    --num-layers-per-virtual-pipeline-stage 4 \\
    --sequence-parallel \\
    $MODEL_ARGS $EXTRA --micro-batch-size \${MBS} --load "$1" \\
    --global-batch-size 256
    --context-parallel-size 2
`;

test('a script with variables, an unknown branch and a lost line', () => {
  const reading = readLaunchFile('jobs/train.sh', SCRIPT, () => null);
  expect(reading.family).toBe('megatron-lm');
  expect(layoutOf(reading)).toMatchObject({
    layout: 1,
    world_size: 32,
    cluster: { nodes: 4, gpus_per_node: 8 },
    parallelism: { tp: 4, cp: 1, pp: 2, vpp: 4, ep: 1 },
    model: { num_layers: 32, hidden_size: 4096, num_attention_heads: 32, ffn_hidden_size: 10880 },
    sequence: { seq_length: 4096, sequence_parallel: true },
    batch: { global_batch_size: 256 },
  });
  const value = (key: string) => reading.values.find((one) => one.key === key);
  expect(value('parallelism.tp')).toMatchObject({ value: 4, source: { file: 'jobs/train.sh', line: 7 } });
  expect(value('cluster.nodes')).toMatchObject({ value: 4, source: { file: 'jobs/train.sh', line: 2 } });
  expect(value('batch.micro_batch_size')).toEqual({
    key: 'batch.micro_batch_size',
    value: null,
    source: 'unknown',
    lookedFor: 'environment variable MBS',
  });
  expect(value('parallelism.expt_tp')).toMatchObject({ value: 4, source: 'default' });
  expect(value('model.num_query_groups')).toMatchObject({ value: 32, source: 'default' });
  expect(reading.unmapped.map(({ name, line }) => [name, line])).toEqual([['load', 24]]);
  expect(reading.notes).toEqual([
    '--num-query-groups 8 means nothing without --group-query-attention: every head has its own keys and values.',
    'Flags begin a command of their own: the line before them lacks its `\\`, so the job does not get them.',
    'The script takes values from its environment: MBS. Give them with --set NAME=VALUE.',
  ]);
});

test('the YAML names the source of every value, what was looked for, and what has no key', () => {
  const script =
    'torchrun --nproc_per_node 8 --nnodes $N pretrain_gpt.py --tensor-model-parallel-size 2 --lr 1e-4 --load x';
  expect(layoutYaml(readLaunchFile('t.sh', script, () => null))).toMatchInlineSnapshot(`
    "# Imported from t.sh (megatron-lm); defaults of Megatron-LM main d98e8a64dd.
    # The script takes values from its environment: N. Give them with --set NAME=VALUE.
    # world_size is unknown: environment variable N
    layout: 1
    launch:
      family: megatron-lm
      files: [t.sh]
    parallelism:
      tp: 2  # t.sh:1
      cp: 1  # default
      pp: 1  # default
      ep: 1  # default
    model:
      params_dtype: fp32  # default
    # Layouts have no key for lr, load.
    "
  `);
});

test('jobs that differ leave open what they differ in', () => {
  const script =
    'for TP in 1 2; do torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size $TP --context-parallel-size 2; done';
  const reading = readLaunchFile('t.sh', script, () => null);
  const values = Object.fromEntries(reading.values.map(({ key, value }) => [key, value]));
  expect(values).toMatchObject({ 'parallelism.tp': null, 'parallelism.cp': 2, world_size: 8 });
});

test('a switch that stands for a value is read and written as one', () => {
  const flags = (text: string) =>
    layoutOf(readLaunchFile('a.sh', `torchrun --nproc-per-node 8 pretrain_gpt.py ${text}\n`, () => null));
  expect(flags('--dist-ckpt-optim-fully-reshardable --no-ckpt-fully-parallel-save')).toMatchObject({
    checkpoint: { optimizer_sharding: 'fully_reshardable', fully_parallel_save: false },
  });
  expect(flags('--tensor-model-parallel-size 2')).not.toHaveProperty('checkpoint.optimizer_sharding');
  const layout = (sharding: string) =>
    exportLayout(
      `layout: 1\nworld_size: 8\nparallelism: {}\ncheckpoint: {optimizer_sharding: ${sharding}}\n`,
      'megatron-args',
    );
  expect(layout('fully_reshardable').text).toContain('--dist-ckpt-optim-fully-reshardable');
  expect(layout('dp_reshardable').text).not.toContain('--dist-ckpt');
});
