import { expect, test } from 'vitest';
import { driftBetween } from './drift';
import { type LayoutData, layoutOf, layoutYaml } from './importedLayout';
import { readLaunchFile } from './read';
import type { FactValue } from './value';
import { exportLayout } from './write';

const MODULES = `layout: 1
world_size: 12
modules:
  vision: {rank_offset: 0, tp: 2, dp: 2}
  language:
    rank_offset: 4
    num_ranks: 8
    tp: 2
    pp: 2
    ep: 2
    model: {num_layers: 20, num_attention_heads: 32}
batch: {micro_batch_size: 1, global_batch_size: 8}
`;

test('modules become the flags of the MIMO example', () => {
  const exported = exportLayout(MODULES, 'mimo-args');
  expect(exported.left).toEqual([]);
  const reading = readLaunchFile('mimo.sh', exported.text, () => null);
  const modules = layoutOf(reading).modules as LayoutData;
  const expected: Record<string, Record<string, FactValue>> = {
    encoder: { tp: 2, dp: 2 },
    language: { rank_offset: 4, tp: 2, pp: 2, dp: 2, ep: 2, expt_tp: 1 },
  };
  expect(modules).toMatchObject(expected);
  expect(modules.language).toMatchObject({ model: { num_layers: 20, num_attention_heads: 32 } });
  expect(layoutOf(reading)).toMatchObject({ world_size: 12, batch: { micro_batch_size: 1, global_batch_size: 8 } });
});

test('modules become module grids', () => {
  expect(exportLayout(MODULES, 'module-grid-spec')).toEqual({
    notes: [],
    text:
      'specs = [\n' +
      '    ModuleGridSpec(name="vision", num_ranks=4, tp=2, cp=1, pp=1, ep=1, gtp_remat=1, rank_offset=0, expt_tp=1, expt_gtp_remat=1),\n' +
      '    ModuleGridSpec(name="language", num_ranks=8, tp=2, cp=1, pp=2, ep=2, gtp_remat=1, rank_offset=4, expt_tp=1, expt_gtp_remat=1),\n' +
      ']\n',
    left: expect.arrayContaining(['batch.micro_batch_size']),
  });
});

test('module grids and nonuniform tensor parallelism in Python are imported again', () => {
  const grids = layoutOf(readLaunchFile('specs.py', exportLayout(MODULES, 'module-grid-spec').text, () => null));
  expect(grids).toMatchObject({
    world_size: 12,
    modules: { vision: { num_ranks: 4, tp: 2 }, language: { num_ranks: 8, rank_offset: 4, tp: 2, pp: 2, ep: 2 } },
  });
  const text = 'layout: 1\nworld_size: 8\nparallelism: {tp: 4}\nntp: {tp_spares: 1, num_reduced_tp_dp_ranks: 2}\n';
  const nonuniform = layoutOf(readLaunchFile('ntp.py', exportLayout(text, 'ntp-config').text, () => null));
  expect(nonuniform).toMatchObject({ ntp: { tp_base: 4, tp_spares: 1, num_reduced_tp_dp_ranks: 2 } });
});

test('what a form cannot hold is listed, and a form that cannot hold the layout at all is refused', () => {
  const text = 'layout: 1\nworld_size: 8\nparallelism: {tp: 2, order: dp-tp}\nntp: {tp_spares: 1}\n';
  expect(exportLayout(text, 'torchrun').left).toEqual(['parallelism.order', 'ntp.tp_spares']);
  expect(exportLayout(text, 'ntp-config').text).toBe(
    'ntp_config = NonuniformTPConfig(tp_base=2, tp_spares=1, num_reduced_tp_dp_ranks=1)\n',
  );
  expect(() => exportLayout(MODULES, 'torchrun')).toThrow('modules');
  const remat = MODULES.replace('{rank_offset: 0, tp: 2', '{rank_offset: 0, expt_gtp_remat: 2, tp: 2');
  expect(() => exportLayout(remat, 'mimo-args')).toThrow('no expt_gtp_remat; vision has expt_gtp_remat 2');
});

test('batches of evaluation stand under `validation` of Megatron Bridge', () => {
  const batch = { micro_batch_size: 1, global_batch_size: 16, eval_micro_batch_size: 2, eval_global_batch_size: 32 };
  const text = `layout: 1\nworld_size: 8\nparallelism: {tp: 1}\nbatch: ${JSON.stringify(batch)}\n`;
  const exported = exportLayout(text, 'bridge');
  expect(exported.text).toContain('validation:\n  eval_micro_batch_size: 2\n  eval_global_batch_size: 32\n');
  expect(layoutOf(readLaunchFile('run_config.yaml', exported.text, () => null))).toMatchObject({ batch });
});

test('the removed slots of a nonuniform layout are a dict; an entry without a key there is listed', () => {
  const layout = (entries: string) =>
    `layout: 1\nworld_size: 16\nparallelism: {tp: 4}\nntp: {tp_spares: 1, non_active_ranks_per_dp: [${entries}]}\n`;
  expect(
    exportLayout(layout('{dp: 0, local_ranks: [3]}, {dp: 1, cp: 0, pp: 0, local_ranks: [1, 2]}'), 'ntp-config'),
  ).toEqual({
    text: 'ntp_config = NonuniformTPConfig(tp_base=4, tp_spares=1, num_reduced_tp_dp_ranks=1, non_active_ranks_per_dp={0: [3], (1, 0, 0): [1, 2]})\n',
    notes: [],
    left: ['world_size'],
  });
  const slots = [
    { dp: 0, local_ranks: [3] },
    { dp: 1, cp: 0, pp: 0, local_ranks: [1, 2] },
  ];
  const python = 'c = NonuniformTPConfig(tp_base=4, non_active_ranks_per_dp={0: [3], (1, 0, 0): [1, 2]})\n';
  const reading = readLaunchFile('a.py', python, () => null);
  expect(layoutOf(reading).ntp).toEqual({ tp_base: 4, non_active_ranks_per_dp: slots });
  expect(driftBetween('a.layout.yaml', layoutYaml(reading), reading).differences).toEqual([]);
  expect(exportLayout(layout('{dp: 0, cp: 1, local_ranks: [3]}'), 'ntp-config').left).toContain(
    'ntp.non_active_ranks_per_dp',
  );
  expect(exportLayout(layout('{dp: 0, local_ranks: [3]}'), 'torchrun').left).toContain('ntp.non_active_ranks_per_dp');
});

test('the settings of a cluster stand in the lines that start the job, quoted for the shell', () => {
  const { text } = exportLayout('layout: 1\ncluster: {nodes: 2, gpus_per_node: 4}\nparallelism: {tp: 2}\n', 'sbatch', {
    sbatch: ['--partition=gpu', '--comment=$(id)', '--exclusive'],
    srun: ['--container-image=a b.sqsh'],
    setup: ['module load cuda'],
    python: '/opt/venv/bin/python',
    gpusPerNode: 0,
  });
  expect(text).toBe(
    '#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --partition=gpu\n' +
      "#SBATCH --comment='$(id)'\n#SBATCH --exclusive\n\nmodule load cuda\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n" +
      'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n' +
      'export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))\nexport WORLD_SIZE=$SLURM_NTASKS\n' +
      "srun --container-image='a b.sqsh' bash -c 'export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID; exec \"$@\"' " +
      'bash /opt/venv/bin/python pretrain_gpt.py \\\n    --tensor-model-parallel-size 2 \\\n    --bf16\n',
  );
});

test.each([
  ['tp: 2', '', 'export CUDA_DEVICE_MAX_CONNECTIONS=1'],
  ['cp: 2', ', gpu: H100', 'export CUDA_DEVICE_MAX_CONNECTIONS=1'],
  ['tp: 2', ', gpu: GB200', 'torchrun'],
  ['pp: 2', '', 'torchrun'],
  ['tp: 2}\nenvironment: {CUDA_DEVICE_MAX_CONNECTIONS: 32', ', gpu: B200', 'export CUDA_DEVICE_MAX_CONNECTIONS=32'],
])('the command for %s%s starts with the queues that Megatron-LM wants', (degrees, gpu, start) => {
  const text = `layout: 1\ncluster: {nodes: 1, gpus_per_node: 8${gpu}}\nparallelism: {${degrees}}\n`;
  expect(exportLayout(text, 'torchrun').text.startsWith(start)).toBe(true);
});

const RECORDED = [
  ['torchrun', 'layout: 1\nworld_size: 16\nparallelism: {tp: 2, order: tp-cp-ep-pp-dp}\n', {}],
  ['mimo-args', 'layout: 1\nworld_size: 8\nmodules:\n  language: {tp: 2, num_ranks: 8}\n', {}],
  ['sbatch', 'layout: 1\nworld_size: 16\nparallelism: {tp: 2}\n', {}],
  ['sbatch', 'layout: 1\nworld_size: 16\nparallelism: {tp: 2}\n', { python: '/opt/venv/bin/python' }],
  ['sbatch', 'layout: 1\nworld_size: 16\nparallelism: {tp: 2}\n', { srun: ['--container-image=a b.sqsh'] }],
] as const;

test.each(RECORDED)(
  '%s starts the program under the recorder, with everything switched on before',
  (target, text, settings) => {
    const plain = exportLayout(text, target, settings).text.split('\n');
    const lines = exportLayout(text, target, { ...settings, record: true }).text.split('\n');
    const at = lines.findIndex((line) => line.includes('record_groups.py'));
    const start = plain.findIndex((line) => /^(?:torchrun|srun) /.test(line));
    expect(lines[at]).toBe(plain[start]?.replace(/(\S+\.py \\)$/, 'record_groups.py $1'));
    expect(lines.slice(0, at).filter((line) => line.startsWith('export ') && !plain.includes(line))).toEqual([
      `export RECORD_GROUPS="\${RECORD_GROUPS:-$PWD/run}"`,
      'export TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_TRACE_BUFFER_SIZE=2000',
      'export TORCH_NCCL_DUMP_ON_TIMEOUT=1',
      'export TORCH_FR_DUMP_TEMP_FILE="$RECORD_GROUPS/rank_" TORCH_NCCL_DEBUG_INFO_TEMP_FILE="$RECORD_GROUPS/rank_"',
      'export NCCL_RAS_ENABLE=1',
    ]);
    // every flag is still there, behind the program
    expect(lines.slice(at + 1)).toEqual(plain.slice(start + 1));
  },
);

test('the sizes of a model that is named are written where the form names no models', () => {
  const text = 'layout: 1\nworld_size: 8\nmodel: {from: Qwen/Qwen3-8B, num_layers: 40}\n';
  const { text: flags, left, notes } = exportLayout(text, 'megatron-args');
  expect(flags.split(/ \\\n|\n/)).toEqual(
    expect.arrayContaining([
      '--num-layers 40',
      '--num-attention-heads 32',
      '--num-query-groups 8',
      '--hidden-size 4096',
    ]),
  );
  expect(left).toEqual(['world_size']);
  expect(notes).toContain('The sizes of Qwen/Qwen3-8B are written out: this form does not name models.');
  expect(exportLayout(text, 'verl').text).toContain('actor_rollout_ref.model.path=Qwen/Qwen3-8B');
});
