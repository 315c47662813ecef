import { expect, test } from 'vitest';
import { check } from '../check';
import { configModel, modelLayout, publicModel, withModel } from './modelLayout';
import { scoreOf } from './neighbours';

const machine = { gpu: 'H100', gpus: 64, seqLength: 4096, globalBatchSize: 512 };

test('a public model becomes a layout that can be estimated', () => {
  const model = publicModel('Qwen/Qwen3-32B');
  if ('reason' in model) {
    throw new Error(model.reason);
  }
  const text = modelLayout(model.facts, machine);
  expect(check(text).diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(scoreOf(check(text))).toMatchObject({ gpuBytes: 80 * 2 ** 30 });
  expect(text).toContain('cluster: {nodes: 8, gpus_per_node: 8, gpu: "H100"}');
  expect(modelLayout(model.facts, { ...machine, gpu: 'GB200' })).toContain(
    '{nodes: 16, gpus_per_node: 4, gpu: "GB200"}',
  );
});

test('a name that the table lacks has a nearest one', () => {
  expect(publicModel('Qwen/Qwen3-33B')).toMatchObject({
    reason: expect.stringMatching(/^there is no model Qwen\/Qwen3-33B in the table; did you mean Qwen\//),
  });
  expect(publicModel('mixtral')).toEqual({
    reason: expect.stringMatching(/^there is no model mixtral in the table; did you mean mistralai\/Mixtral-.* or /),
  });
  expect(publicModel('llama3-70b')).toEqual({ reason: expect.stringMatching(/did you mean .*llama3-70B\?$/) });
  expect(publicModel('my-own-model-of-no-family')).toEqual({
    reason: 'there is no model my-own-model-of-no-family in the table; give the path of its config.json instead',
  });
});

test('the model of a config.json takes the place of that of a file', () => {
  const config = {
    num_hidden_layers: 2,
    hidden_size: 64,
    num_attention_heads: 4,
    intermediate_size: 128,
    hidden_act: 'silu',
  };
  const model = configModel(JSON.stringify(config), 'config.json');
  const text = 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\nmodel: {num_layers: 9, num_experts: 4}\n';
  const changed = 'facts' in model ? withModel(text, model.facts) : null;
  expect(check(changed ?? '').facts?.root.model.value).toMatchObject({
    num_layers: { value: 2 },
    hidden_size: { value: 64 },
    ffn_hidden_size: { value: 128 },
    num_experts: { written: false },
  });
  expect(configModel('[1, 2]', 'config.json')).toEqual({ reason: 'config.json states no sizes of a language model' });
});
