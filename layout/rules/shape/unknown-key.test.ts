import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { unknownKey } from './unknown-key';

const said = (text: string) => report(unknownKey, text);

const block = (...lines: readonly string[]) => ['layout: 1', 'world_size: 8', ...lines, ''].join('\n');

test('a misspelt key', () => {
  expect(said(job(8, 'tpp: 2'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "tpp"
    \`parallelism\` has no key \`tpp\`. Did you mean \`tp\`?
    = safe fix: Rename to \`tp\`
      - parallelism: {tpp: 2}
      + parallelism: {tp: 2}
    = suggestion: Remove \`tpp\`
      - parallelism: {tpp: 2}
      + parallelism: {}"
  `);
});

test('a misspelt key of the whole file', () => {
  expect(said(block('parallelism: {tp: 2}', 'clutser: {nodes: 1, gpus_per_node: 8}'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "clutser"
    A layout has no key \`clutser\`. Did you mean \`cluster\`?
    = safe fix: Rename to \`cluster\`
      - clutser: {nodes: 1, gpus_per_node: 8}
      + cluster: {nodes: 1, gpus_per_node: 8}
    = suggestion: Remove \`clutser\`
      - clutser: {nodes: 1, gpus_per_node: 8}"
  `);
});

test('the name of a flag', () => {
  expect(said(job(8, 'tensor_model_parallel_size: 2'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "tensor_model_parallel_size"
    Write \`tp\`: tensor_model_parallel_size is its Megatron-LM flag.
    = safe fix: Rename to \`tp\`
      - parallelism: {tensor_model_parallel_size: 2}
      + parallelism: {tp: 2}
    = suggestion: Remove \`tensor_model_parallel_size\`
      - parallelism: {tensor_model_parallel_size: 2}
      + parallelism: {}"
  `);
});

test('a flag as the shell has it', () => {
  expect(said(job(8, '--pipeline-model-parallel-size: 2'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "--pipeline-model-parallel-size"
    Write \`pp\`: --pipeline-model-parallel-size is its Megatron-LM flag.
    = safe fix: Rename to \`pp\`
      - parallelism: {--pipeline-model-parallel-size: 2}
      + parallelism: {pp: 2}
    = suggestion: Remove \`--pipeline-model-parallel-size\`
      - parallelism: {--pipeline-model-parallel-size: 2}
      + parallelism: {}"
  `);
});

test('a flag of another map', () => {
  expect(said(block('parallelism: {tp: 2}', 'num_layers: 4'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "num_layers"
    \`num_layers\` belongs under \`model\`.
    = safe fix: Move to \`model\`
      - num_layers: 4
      + model: {num_layers: 4}
    = suggestion: Remove \`num_layers\`
      - num_layers: 4"
  `);
});

test('a degree at the top level', () => {
  expect(said(block('parallelism:', '  pp: 2', 'tp: 2'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "tp"
    \`tp\` belongs under \`parallelism\`.
    = safe fix: Move to \`parallelism\`
      - tp: 2
      +   tp: 2
    = suggestion: Remove \`tp\`
      - tp: 2"
  `);
});

test('a degree at the top level of a file without parallelism', () => {
  expect(said(block('tp: 2'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "tp"
    \`tp\` belongs under \`parallelism\`.
    = safe fix: Move to \`parallelism\`
      - tp: 2
      + parallelism: {tp: 2}"
  `);
});

test('a degree at the top level of a file of modules', () => {
  expect(said(block('modules:', '  language: {num_ranks: 8}', 'tp: 2'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "tp"
    \`tp\` belongs under \`modules.language\`.
    = safe fix: Move to \`modules.language\`
      -   language: {num_ranks: 8}
      - tp: 2
      +   language: {num_ranks: 8, tp: 2}
    = suggestion: Remove \`tp\`
      - tp: 2"
  `);
});

test('a key of the whole file in parallelism', () => {
  expect(said('layout: 1\nparallelism:\n  tp: 2\n  world_size: 8\n')).toMatchInlineSnapshot(`
    "error[unknown-key] at "world_size"
    \`world_size\` belongs at the top level.
    = safe fix: Move to the top level
      - parallelism:
      -   tp: 2
      -   world_size: 8
      + world_size: 8
      + parallelism:
      +   tp: 2"
  `);
});

test('a key of a model in a module', () => {
  expect(said(block('modules:', '  language:', '    num_ranks: 8', '    num_layers: 4'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "num_layers"
    \`num_layers\` belongs under \`modules.language.model\`.
    = safe fix: Move to \`modules.language.model\`
      -     num_layers: 4
      +     model: {num_layers: 4}
    = suggestion: Remove \`num_layers\`
      -     num_layers: 4"
  `);
});

test('a key of a module in its model', () => {
  expect(
    said(block('modules:', '  language:', '    num_ranks: 8', '    model:', '      num_layers: 4', '      tp: 2')),
  ).toMatchInlineSnapshot(`
    "error[unknown-key] at "tp"
    \`tp\` belongs under \`modules.language\`.
    = safe fix: Move to \`modules.language\`
      -     model:
      -       num_layers: 4
      -       tp: 2
      +     tp: 2
      +     model:
      +       num_layers: 4
    = suggestion: Remove \`tp\`
      -       tp: 2"
  `);
});

test('a key that its map has already', () => {
  expect(said(block('parallelism: {tp: 2}', 'tp: 2'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "tp"
    \`tp\` belongs under \`parallelism\`, which has it already.
    = suggestion: Remove \`tp\`
      - tp: 2"
  `);
});

test('a value of several lines is not moved', () => {
  expect(said(block('parallelism:', '  tp: 2', '  model:', '    num_layers: 4'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "model"
    \`model\` belongs at the top level.
    = suggestion: Remove \`model\`
      -   model:
      -     num_layers: 4"
  `);
});

test('a word that is like no key', () => {
  expect(said(job(8, 'tp: 2, colour: red'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "colour"
    \`parallelism\` has no key \`colour\`. Its keys are \`tp\`, \`gtp_remat\`, \`num_weight_shards\`, \`cp\`, \`pp\`, \`vpp\`, \`num_layers_per_virtual_pipeline_stage\`, \`pipeline_model_parallel_layout\`, \`account_for_embedding_in_pipeline_split\`, \`account_for_loss_in_pipeline_split\`, \`overlap_p2p_comm\`, \`microbatch_group_size_per_vp_stage\` and 12 more, which completion lists.
    = suggestion: Remove \`colour\`
      - parallelism: {tp: 2, colour: red}
      + parallelism: {tp: 2}"
  `);
});

test.each(['paralelism: {tp: 2}', 'tp: 2', 'tensor_model_parallel_size: 2'])('%s is one mistake', (line) => {
  const codes = said(block(line)).match(/^\w+\[.*?\]/gm);
  expect(codes).toEqual(['error[unknown-key]']);
});

test.each(['wrold_size: 8', 'clusters: {nodes: 1, gpus_per_node: 8}'])('%s is one mistake', (line) => {
  const codes = said(`layout: 1\n${line}\nparallelism: {tp: 2}\n`).match(/^\w+\[.*?\]/gm);
  expect(codes).toEqual(['error[unknown-key]']);
});

test.each([
  ['heads', 'model: {heads: 8}', 'num_attention_heads'],
  ['a configuration of Hugging Face', 'model: {num_key_value_heads: 8}', 'num_query_groups'],
  ['an abbreviation', 'batch: {gbs: 8}', 'global_batch_size'],
])('a word that people write: %s', (_, line, key) => {
  expect(said(job(8, 'tp: 2', line))).toContain(`Did you mean \`${key}\`?`);
});

test('a map of many keys', () => {
  expect(said(job(8, 'tp: 2', 'model: {xyzzy: 8}'))).toMatchInlineSnapshot(`
    "error[unknown-key] at "xyzzy"
    \`model\` has no key \`xyzzy\`. Its keys are \`num_layers\`, \`num_layers_in_first_pipeline_stage\`, \`num_layers_in_last_pipeline_stage\`, \`num_attention_heads\`, \`num_query_groups\`, \`hidden_size\`, \`ffn_hidden_size\`, \`moe_ffn_hidden_size\`, \`num_experts\`, \`vocab_size\`, \`make_vocab_size_divisible_by\`, \`params_dtype\` and 35 more, which completion lists.
    = suggestion: Remove \`xyzzy\`
      - model: {xyzzy: 8}
      + model: {}"
  `);
});

test.each([
  ['cluster: {gpu_type: H100-80GB, nodes: 1, gpus_per_node: 8}', 'gpu'],
  ['batch: {train_batch_size: 8, micro_batch_size: 1}', 'global_batch_size'],
  ['ntp: {spares: 1, num_reduced_tp_dp_ranks: 1}', 'tp_spares'],
  ['ntp: {failed_gpus: [3]}', 'failed_ranks'],
  ['fsdp: {use_fsdp: true}', 'enabled'],
  ['fsdp: {enabled: true, sharding_strategy: optim}', 'data_parallel_sharding_strategy'],
  ['optimizer: {distributed_optimizer: true}', 'use_distributed_optimizer'],
  ['communicators: {sharp: true}', 'use_sharp'],
  ['recompute: {activation_checkpointing: full}', 'granularity'],
  ['sequence: {sp: true}', 'sequence_parallel'],
  ['model: {moe_topk: 2, num_experts: 8}', 'moe_router_topk'],
])('the word of another framework in %s means %s', (section, name) => {
  expect(said(`layout: 1\nworld_size: 8\nparallelism: {tp: 4}\n${section}\n`)).toContain(`Did you mean \`${name}\`?`);
});
