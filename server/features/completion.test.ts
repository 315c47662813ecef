import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { check, hasErrors } from '../../layout';
import { marked } from '../testing';
import { completion } from './completion';

/** The labels that are offered at the mark, the first ones. */
function offered(text: string, most = 6): string[] {
  const { checked, position } = marked(text);
  return completion(checked, position)
    .toSorted((a, b) => ((a.sortText ?? '') < (b.sortText ?? '') ? -1 : 1))
    .slice(0, most)
    .map(({ label }) => label);
}

describe('completion', () => {
  test.each<readonly [what: string, text: string, labels: readonly string[]]>([
    [
      'the keys of the file that are not there yet',
      'layout: 1\n|',
      ['megatron', 'name', 'description', 'world_size', 'cluster', 'launch'],
    ],
    [
      'the keys of a section',
      'layout: 1\ncheckpoint:\n  |',
      ['ckpt_format', 'optimizer_sharding', 'fully_parallel_save'],
    ],
    [
      'the options of a key',
      'layout: 1\ncheckpoint:\n  ckpt_format: |',
      ['torch', 'torch_dist', 'torch_dcp', 'fsdp_dtensor'],
    ],
    [
      'degrees that divide the world, the written one too',
      'layout: 1\nworld_size: 12\nparallelism:\n  tp: |',
      ['1', '2', '3', '4', '6', '12'],
    ],
    ['names of modules', 'layout: 1\nmodules:\n  |', ['language', 'images', 'vision', 'audio', 'video']],
    [
      'names of process groups in a list',
      'layout: 1\ncommunicators:\n  high_priority_stream_groups: [|]',
      ['tp', 'cp', 'hcp', 'pp', 'mp', 'embd'],
    ],
    [
      'kinds of GPU that estimates know',
      'layout: 1\ncluster:\n  gpu: |',
      ['V100', 'A100', 'A800', 'H100', 'H800', 'H200'],
    ],
    ['nothing in a comment', 'layout: 1\n# |', []],
    ['nothing under a key that the format lacks', 'layout: 1\nunheard_of:\n  |', []],
  ])('offers %s', (_, text, labels) => {
    expect(offered(text)).toEqual(labels);
  });

  test('a key with a map begins its first line where the editor takes tab stops', () => {
    const { checked, position } = marked('layout: 1\n|');
    const textOf = (snippets: boolean) =>
      completion(checked, position, snippets).find(({ label }) => label === 'parallelism')?.textEdit?.newText;
    expect([textOf(true), textOf(false)]).toEqual(['parallelism:\n  $0', 'parallelism:']);
  });

  test('a flag of Megatron-LM finds its key', () => {
    const { checked, position } = marked('layout: 1\nparallelism:\n  |');
    const tp = completion(checked, position).find(({ label }) => label === 'tp');
    expect(tp?.filterText).toContain('tensor_model_parallel_size --tensor-model-parallel-size');
  });

  const COSTED = `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}
parallelism: {tp: |, pp: 1}
model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 8, vocab_size: 128256, gated_linear_unit: true}
sequence: {seq_length: 4096}
batch: {micro_batch_size: 1, global_batch_size: 64}
optimizer: {use_distributed_optimizer: true}
`;

  /** The items at the mark as they are listed: `8: what follows`. */
  function listed(text: string): string[] {
    const { checked, position } = marked(text);
    return completion(checked, position)
      .toSorted((a, b) => ((a.sortText ?? '') < (b.sortText ?? '') ? -1 : 1))
      .map(({ label, labelDetails }) => `${label}: ${labelDetails?.description ?? ''}`);
  }

  test('a degree says what follows from it, the quickest without warnings first, and none that the heads refuse', () => {
    const found = listed(COSTED);
    const times = found.map((line) => Number(/~([\d.]+) s/.exec(line)?.[1]));
    const shown = found.map((line) => line.replaceAll(/~[\d.]+/g, '~N'));
    expect(shown).toEqual([
      '1: dp 16 · ~N of 80 GiB · ~N s',
      '2: dp 8 · ~N of 80 GiB · ~N s · in node',
      '4: dp 4 · ~N of 80 GiB · ~N s · in node',
      '8: dp 2 · ~N of 80 GiB · ~N s · in node',
    ]);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times).not.toContain(Number.NaN);
  });

  test('a value that does not fit the GPU, or leaves the node, stands behind those without a warning', () => {
    const large = COSTED.replace('num_attention_heads: 8', 'num_attention_heads: 16').replace(
      'num_layers: 32',
      'num_layers: 64',
    );
    const found = listed(large);
    expect(found.map((line) => Number.parseInt(line, 10))).toEqual([2, 4, 8, 16, 1]);
    expect(found.find((line) => line.startsWith('16: '))).toMatch(/across nodes$/);
  });

  test('numbers of nodes and of ranks are whole replicas on whole nodes', () => {
    const degrees = 'parallelism: {tp: 4, pp: 3}\n';
    expect(listed(`layout: 1\nworld_size: |\n${degrees}`).slice(0, 3)).toEqual(['24: dp 2', '48: dp 4', '96: dp 8']);
    expect(listed(`layout: 1\ncluster: {nodes: |, gpus_per_node: 8}\n${degrees}`).slice(0, 2)).toEqual([
      '3: 24 ranks, dp 2',
      '6: 48 ranks, dp 4',
    ]);
    expect(listed(`layout: 1\nworld_size: 48\ncluster: {nodes: |, gpus_per_node: 8}\n${degrees}`)).toEqual([
      '6: 48 ranks',
    ]);
    const modules = 'modules: {language: {rank_offset: 0, num_ranks: 16, tp: 2}}\n';
    expect(listed(`layout: 1\nworld_size: |\n${modules}`)).toEqual(['16: the end of the last module']);
  });

  test('an error elsewhere takes no value away', () => {
    const broken = COSTED.replace('num_layers: 32', 'num_layers: 32, unheard_of: 1');
    expect(listed(broken)).toHaveLength(listed(COSTED).length);
  });

  const examples = readdirSync('examples').filter((name) => name.endsWith('.layout.yaml'));

  test.each(examples)('no value that is offered anywhere in %s is refused', (name) => {
    const text = readFileSync(`examples/${name}`, 'utf8');
    const places = [...text.matchAll(/(?<=[\w]: )[^\s,{}[\]#]+/g)];
    const refused = places.flatMap(({ 0: value, index }) => {
      const { checked, position } = marked(`${text.slice(0, index)}|${text.slice(index + value.length)}`);
      return completion(checked, position)
        .map(({ label }) => `${text.slice(0, index)}${label}${text.slice(index + value.length)}`)
        .filter((changed) => hasErrors(check(changed)))
        .map((changed) => changed.slice(text.lastIndexOf('\n', index) + 1).split('\n', 1)[0]);
    });
    expect(places.length).toBeGreaterThan(5);
    expect(refused).toEqual([]);
  });
});
