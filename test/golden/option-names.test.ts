import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { exportLayout } from '../../layout/launch';
import { PLAIN_OPTIONS } from '../../layout/launch/megatron';
import { goldenText } from './golden';

/** The names that the configuration of each framework has, by its own source at a revision; `section.name`. */
const NAMES: Readonly<Record<string, { readonly revision: string; readonly names: string }>> = JSON.parse(
  goldenText('option_names.json'),
);

/** A value of each kind of option. */
const VALUES: Readonly<Record<(typeof PLAIN_OPTIONS)[number]['kind'], string>> = {
  integer: '2',
  number: '0.5',
  switch: 'true',
  off: 'false',
  text: 'x',
  type: 'bf16',
  texts: '[a, b]',
  oneOrMore: 'x',
  choice: 'fully_reshardable',
  integers: '[1, 2]',
  expression: '3',
};

/** A layout that writes every key that becomes an option, and the phases of a reinforcement-learning job. */
const everything = (engine: string) =>
  [
    ...['layout: 1', 'cluster: {nodes: 2, gpus_per_node: 8}', 'parallelism: {vpp: 2, order: tp-cp-ep-pp-dp}'],
    'model: {num_query_groups: 8, gated_linear_unit: true, params_dtype: fp16}',
    `phases: {rollout: {engine: ${engine}, tp: 2, dp: 2, pp: 2, ep: 2}, reference: {tp: 2}}`,
    ...PLAIN_OPTIONS.filter(({ key }) => key !== 'parallelism.pipeline_model_parallel_layout').map(
      ({ key, kind }) => `${key}: ${VALUES[kind]}`,
    ),
  ].reduce((text, line) => withPath(text, line));

/** A text with a line of a whole path, such as `moe.moe_grouped_gemm: true`, in its section. */
function withPath(text: string, line: string): string {
  const [, section, rest] = /^(\w+)\.(.*)$/.exec(line) ?? [];
  const start = `\n${section}: {`;
  return section === undefined
    ? `${text}\n${line}`
    : text.includes(start)
      ? text.replace(start, `${start}${rest}, `)
      : `${text}${start}${rest}}`;
}

function pathsOf(value: unknown, path = ''): string[] {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([name, inner]) => pathsOf(inner, path === '' ? name : `${path}.${name}`))
    : [path];
}

const dotted = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name ?? '');

test.each([
  ['megatron-bridge', 'bridge', 'vllm', (text: string) => pathsOf(parse(text)), 80],
  ['nemo-rl', 'nemo-rl', 'vllm', (text: string) => pathsOf(parse(text)), 15],
  ['nemo-rl', 'nemo-rl', 'sglang', (text: string) => pathsOf(parse(text)), 15],
  ['verl', 'verl', 'vllm', (text: string) => dotted(text, /^ +([\w.]+)=/gm), 15],
  ['torchtitan', 'torchtitan', 'vllm', (text: string) => dotted(text, /^ +--([\w.]+) /gm), 6],
] as const)(
  'every option that is written for %s (%s, %s) is one that it has',
  (framework, target, engine, pathsIn, least) => {
    const known = new Set(NAMES[framework]?.names.split(' '));
    const paths = pathsIn(exportLayout(everything(engine), target).text);
    expect(paths.length).toBeGreaterThan(least);
    expect(paths.filter((path) => !known.has(path))).toEqual([]);
  },
);

test('Megatron Bridge takes fields of configurations, not flags of the training script', () => {
  const text =
    'layout: 1\nworld_size: 8\nparallelism: {tp: 1, overlap_p2p_comm: true}\nmodel: {add_bias_linear: false, untie_embeddings_and_output_weights: true}\n';
  expect(parse(exportLayout(text, 'bridge').text)).toEqual({
    model: {
      tensor_model_parallel_size: 1,
      overlap_p2p_comm: true,
      add_bias_linear: false,
      share_embeddings_and_output_weights: false,
      bf16: true,
    },
  });
});
