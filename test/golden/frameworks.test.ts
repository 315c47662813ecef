import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { check, processGroups } from '../../layout';
import { layoutYaml, readLaunchFile } from '../../layout/launch';

/** One case of `tools/frameworks`: degrees, what the framework's own code says of them, and the groups that it makes. */
interface Case {
  readonly id: string;
  readonly input: Readonly<Record<string, number>>;
  readonly error: { readonly type: string; readonly message: string } | null;
  /** Axes with more than one rank a group. */
  readonly groups: Readonly<Record<string, readonly (readonly number[])[]>> | null;
}

/** The launch files of a case, the first of which is imported. */
type Files = readonly (readonly [name: string, text: string])[];

/** Machines of 8 GPUs where that goes. */
function machines(world: number): { nodes: number; perNode: number } {
  return world <= 8
    ? { nodes: 1, perNode: world }
    : world % 8 === 0
      ? { nodes: world / 8, perNode: 8 }
      : { nodes: world, perNode: 1 };
}

function torchrun(world: number, rest: string): string {
  const { nodes, perNode } = machines(world);
  return `torchrun --nnodes=${nodes} --nproc_per_node=${perNode} ${rest}\n`;
}

const lines = (values: Readonly<Record<string, number | undefined>>, separator: string, indent = '') =>
  Object.entries(values)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${indent}${name}${separator}${value}\n`]))
    .join('');

const LAUNCH_FILES: Readonly<Record<string, (input: Case['input']) => Files>> = {
  torchtitan: ({ world_size: world = 1, dp_replicate, dp_shard, tp, pp, cp, ep }) => [
    ['run.sh', torchrun(world, '-m torchtitan.train --job.config_file job.toml')],
    [
      'job.toml',
      `[model]\nname = "debug"\n\n[parallelism]\n${lines(
        {
          data_parallel_replicate_degree: dp_replicate,
          data_parallel_shard_degree: dp_shard,
          tensor_parallel_degree: tp,
          pipeline_parallel_degree: pp,
          context_parallel_degree: cp,
          expert_parallel_degree: ep,
        },
        ' = ',
      )}`,
    ],
  ],
  accelerate: ({ world_size: world = 1, ...sizes }) => [
    [
      'fsdp.yaml',
      `distributed_type: FSDP\nnum_machines: ${machines(world).nodes}\nnum_processes: ${world}\nparallelism_config:\n${lines(sizes, ': ', '  parallelism_config_')}`,
    ],
  ],
  nanotron: ({ world_size: world = 1, ...sizes }) => [
    ['run.sh', torchrun(world, 'run_train.py --config-file config.yaml')],
    [
      'config.yaml',
      `parallelism:\n${lines(
        {
          tp: sizes.tensor_parallel_size,
          pp: sizes.pipeline_parallel_size,
          dp: sizes.data_parallel_size,
          context_parallel_size: sizes.context_parallel_size,
        },
        ': ',
        '  ',
      )}`,
    ],
  ],
  deepspeed: ({ world_size: world = 1, tp, pp, ep }) => {
    const { nodes, perNode } = machines(world);
    const flags = `--num-layers 8 --tensor-model-parallel-size ${tp} --pipeline-model-parallel-size ${pp} --moe-expert-parallel-size ${ep}`;
    return [['run.sh', `deepspeed --num_nodes ${nodes} --num_gpus ${perNode} pretrain_gpt.py --deepspeed ${flags}\n`]];
  },
};

/** The family that a framework's launch files are of, and its name in messages, where these are not its own. */
const READ_AS: Readonly<Record<string, { readonly family: string; readonly title: string }>> = {
  deepspeed: { family: 'megatron-lm', title: 'Megatron-DeepSpeed' },
};

/** Rank lists without the order of lists and of ranks. */
function sorted(lists: Iterable<Iterable<number>>): number[][] {
  return [...lists].map((ranks) => [...ranks].sort((a, b) => a - b)).sort(([a = 0], [b = 0]) => a - b);
}

function read(framework: string): Case[] {
  const path = join(import.meta.dirname, 'data', 'frameworks', `${framework}.jsonl`);
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Case);
}

const cases = Object.keys(LAUNCH_FILES).flatMap((framework) =>
  read(framework).map((one) => [one.id, framework, one] as const),
);

/** Words that numpy has for shapes: the check before them is the framework's own. */
const OF_NUMPY = /^cannot reshape/;

test.each(cases)('%s', (_, framework, { input, error, groups }) => {
  const files = LAUNCH_FILES[framework]?.(input) ?? [];
  const [[file, text] = ['', '']] = files;
  const reading = readLaunchFile(file, text, (path) => files.find(([name]) => name === path)?.[1] ?? null);
  const { family, title } = READ_AS[framework] ?? { family: framework, title: framework };
  expect(reading.family).toBe(family);
  const layout = layoutYaml(reading);
  const { diagnostics, resolved } = check(layout);
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (error === null) {
    expect(errors, layout).toEqual([]);
    const made = (resolved ? processGroups(resolved) : []).map((family) => sorted(family.all()));
    for (const [axis, lists] of Object.entries(groups ?? {})) {
      expect(made, `${axis}\n${layout}`).toContainEqual(sorted(lists));
    }
    return;
  }
  expect(errors, layout).not.toEqual([]);
  if (!OF_NUMPY.test(error.message)) {
    expect(errors.map(({ predicts }) => predicts)).toContain(error.message);
  }
  expect(new Set(errors.map(({ speaker }) => speaker))).toEqual(new Set([title]));
});
