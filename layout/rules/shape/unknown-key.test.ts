import { expect, test } from 'vitest';
import { job, report, reports } from '../testing';
import { unknownKey } from './unknown-key';

const block = (...lines: readonly string[]) => ['layout: 1', 'world_size: 8', ...lines, ''].join('\n');

test('unknown-key', () => {
  const said = reports(unknownKey, {
    'a misspelt key': job(8, 'tpp: 2'),
    'a misspelt key of the whole file': block('parallelism: {tp: 2}', 'clutser: {nodes: 1, gpus_per_node: 8}'),
    'the name of a flag': job(8, 'tensor_model_parallel_size: 2'),
    'a flag as the shell has it': job(8, '--pipeline-model-parallel-size: 2'),
    'a flag beside its key': job(8, 'ep: 2, expert_model_parallel_size: 2'),
    'nothing follows from the default of a flag': job(64, 'tensor_model_parallel_size: 8, dp: 8'),
    'nor from that of a key in the wrong map': job(
      8,
      'pp: 2, decoder_first_pipeline_num_layers: 3',
      'model: {num_layers: 7}',
    ),
    'a flag of another map': block('parallelism: {tp: 2}', 'num_layers: 4'),
    'a degree at the top level': block('parallelism:', '  pp: 2', 'tp: 2'),
    'a degree at the top level of a file without parallelism': block('tp: 2'),
    'a degree at the top level of a file of modules': block('modules:', '  language: {num_ranks: 8}', 'tp: 2'),
    'a key of the whole file in parallelism': 'layout: 1\nparallelism:\n  tp: 2\n  world_size: 8\n',
    'a key of a model in a module': block('modules:', '  language:', '    num_ranks: 8', '    num_layers: 4'),
    'a key of a module in its model': block(
      'modules:',
      '  language:',
      '    num_ranks: 8',
      '    model:',
      '      num_layers: 4',
      '      tp: 2',
    ),
    'a key that its map has already': block('parallelism: {tp: 2}', 'tp: 2'),
    'a value of several lines is not moved': block('parallelism:', '  tp: 2', '  model:', '    num_layers: 4'),
    'a section that the file lacks': block('parallelism:', '  tp: 2', '  experts: 8'),
    'the only key of its section': block('model:', '  tp: 2'),
    'the only key, and the section is there': block('parallelism: {pp: 2}', 'model:', '  tp: 2'),
    'a word that is like no key': job(8, 'tp: 2, colour: red'),
    'a map of many keys': job(8, 'tp: 2', 'model: {xyzzy: 8}'),
    'a misspelt section': block('paralelism: {tp: 2}'),
    'a key outside its section': block('tp: 2'),
    'a flag outside its section': block('tensor_model_parallel_size: 2'),
    'a misspelt size of the world': 'layout: 1\nwrold_size: 8\nparallelism: {tp: 2}\n',
    'a section of another name': 'layout: 1\nclusters: {nodes: 1, gpus_per_node: 8}\nparallelism: {tp: 2}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "a misspelt key: error at "tpp": parallelism has no key 'tpp'. Did you mean tp?
      = safe fix: Rename to tp: parallelism: {[-tpp-]{+tp+}: 2}
      = suggestion: Remove tpp: parallelism: {[-tpp: 2-]}
    a misspelt key of the whole file: error at "clutser": A layout has no key 'clutser'. Did you mean cluster?
      = safe fix: Rename to cluster: [-clutser-]{+cluster+}: {nodes: 1, gpus_per_node: 8}
      = suggestion: Remove clutser: [-clutser: {nodes: 1, gpus_per_node: 8}⏎-]
    the name of a flag: error at "tensor_model_parallel_size": Write tp: tensor_model_parallel_size is its Megatron-LM flag.
      = safe fix: Rename to tp: parallelism: {[-tensor_model_parallel_size-]{+tp+}: 2}
      = suggestion: Remove tensor_model_parallel_size: parallelism: {[-tensor_model_parallel_size: 2-]}
    a flag as the shell has it: error at "--pipeline-model-parallel-size": Write pp: --pipeline-model-parallel-size is its Megatron-LM flag.
      = safe fix: Rename to pp: parallelism: {[---pipeline-model-parallel-size-]{+pp+}: 2}
      = suggestion: Remove --pipeline-model-parallel-size: parallelism: {[---pipeline-model-parallel-size: 2-]}
    a flag beside its key: error at "expert_model_parallel_size": expert_model_parallel_size is the Megatron-LM flag of ep, which is written too. Remove one.
      = suggestion: Remove expert_model_parallel_size: parallelism: {ep: 2[-, expert_model_parallel_size: 2-]}
    nothing follows from the default of a flag: error at "tensor_model_parallel_size": Write tp: tensor_model_parallel_size is its Megatron-LM flag.
      = safe fix: Rename to tp: parallelism: {[-tensor_model_parallel_size-]{+tp+}: 8, dp: 8}
    nor from that of a key in the wrong map: error at "decoder_first_pipeline_num_layers": num_layers_in_first_pipeline_stage belongs under model: decoder_first_pipeline_num_layers is its Megatron-LM flag.
      = safe fix: Move to model: parallelism: {pp: 2[-, decoder_first_pipeline_num_layers: 3-]} | model: {num_layers: 7{+, num_layers_in_first_pipeline_stage: 3+}}
    a flag of another map: error at "num_layers": num_layers belongs under model.
      = safe fix: Move to model: [-num_layers: 4-]{+model: {num_layers: 4}+}
      = suggestion: Remove num_layers: [-num_layers: 4⏎-]
    a degree at the top level: error at "tp": tp belongs under parallelism.
      = safe fix: Move to parallelism: pp: 2{+⏎  tp: 2+} | [-tp: 2⏎-]
      = suggestion: Remove tp: [-tp: 2⏎-]
    a degree at the top level of a file without parallelism: error at "tp": tp belongs under parallelism.
      = safe fix: Move to parallelism: [-tp: 2-]{+parallelism: {tp: 2}+}
    a degree at the top level of a file of modules: error at "tp": tp belongs under modules.language.
      = safe fix: Move to modules.language: language: {num_ranks: 8{+, tp: 2+}} | [-tp: 2⏎-]
      = suggestion: Remove tp: [-tp: 2⏎-]
    a key of the whole file in parallelism: error at "world_size": world_size belongs at the top level.
      = safe fix: Move to the top level: layout: 1{+⏎world_size: 8+} | [-  world_size: 8⏎-]
    a key of a model in a module: error at "num_layers": num_layers belongs under modules.language.model.
      = safe fix: Move to modules.language.model: [-num_layers: 4-]{+model: {num_layers: 4}+}
      = suggestion: Remove num_layers: [-    num_layers: 4⏎-]
    a key of a module in its model: error at "tp": tp belongs under modules.language.
      = safe fix: Move to modules.language: num_ranks: 8{+⏎    tp: 2+} | [-      tp: 2⏎-]
      = suggestion: Remove tp: [-      tp: 2⏎-]
    a key that its map has already: error at "tp": tp belongs under parallelism, which has it already.
      = suggestion: Remove tp: [-tp: 2⏎-]
    a value of several lines is not moved: error at "model": model belongs at the top level.
      = suggestion: Remove model: [-  model:⏎    num_layers: 4⏎-]
    a section that the file lacks: error at "experts": Did you mean num_experts? It belongs under model.
      = suggestion: Move to model: {+model: {num_experts: 8}⏎+}parallelism: | [-  experts: 8⏎-]
      = suggestion: Remove experts: [-  experts: 8⏎-]
    the only key of its section: error at "tp": tp belongs under parallelism.
      = safe fix: Move to parallelism: {+parallelism: {tp: 2}⏎+}[-model:⏎  tp: 2⏎-]
    the only key, and the section is there: error at "tp": tp belongs under parallelism.
      = safe fix: Move to parallelism: parallelism: {pp: 2{+, tp: 2+}} | [-model:⏎  tp: 2⏎-]
    a word that is like no key: error at "colour": parallelism has no key 'colour'. Its keys are tp, gtp_remat, num_weight_shards, cp, pp, vpp, num_layers_per_virtual_pipeline_stage, pipeline_model_parallel_layout, account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split, pipeline_schedule, overlap_p2p_comm and 14 more, which completion lists.
      = suggestion: Remove colour: parallelism: {tp: 2[-, colour: red-]}
    a map of many keys: error at "xyzzy": model has no key 'xyzzy'. Its keys are from, num_layers, num_layers_in_first_pipeline_stage, num_layers_in_last_pipeline_stage, num_attention_heads, num_query_groups, hidden_size, ffn_hidden_size, moe_ffn_hidden_size, num_experts, vocab_size, make_vocab_size_divisible_by and 39 more, which completion lists.
      = suggestion: Remove xyzzy: model: {[-xyzzy: 8-]}
    a misspelt section: error at "paralelism": A layout has no key 'paralelism'. Did you mean parallelism?
      = safe fix: Rename to parallelism: [-paralelism-]{+parallelism+}: {tp: 2}
    a key outside its section: error at "tp": tp belongs under parallelism.
      = safe fix: Move to parallelism: [-tp: 2-]{+parallelism: {tp: 2}+}
    a flag outside its section: error at "tensor_model_parallel_size": tp belongs under parallelism: tensor_model_parallel_size is its Megatron-LM flag.
      = safe fix: Move to parallelism: [-tensor_model_parallel_size: 2-]{+parallelism: {tp: 2}+}
    a misspelt size of the world: error at "wrold_size": A layout has no key 'wrold_size'. Did you mean world_size?
      = safe fix: Rename to world_size: [-wrold_size-]{+world_size+}: 8
    a section of another name: error at "clusters": A layout has no key 'clusters'. Did you mean cluster?
      = safe fix: Rename to cluster: [-clusters-]{+cluster+}: {nodes: 1, gpus_per_node: 8}"
  `);
});

test.each([
  ['model: {heads: 8}', 'num_attention_heads'],
  ['model: {num_key_value_heads: 8}', 'num_query_groups'],
  ['batch: {gbs: 8}', 'global_batch_size'],
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
  ['batch: {batch_size: 8}', 'micro_batch_size'],
  ['phases: {generate: {ranks: [0, 8], context: 2}}', 'cp'],
  ['model: {moe_topk: 2, num_experts: 8}', 'moe_router_topk'],
])('the word that people or another framework write in %s means %s', (section, name) => {
  expect(report(unknownKey, job(8, 'tp: 4', section))).toContain(`Did you mean ${name}?`);
});
