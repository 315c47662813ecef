import { describe, expect, test } from 'vitest';
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
});
