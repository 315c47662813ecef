import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { fsdpOptions } from './fsdp-options';

test('fsdp-options', () => {
  const said = reports(fsdpOptions, {
    'Megatron-FSDP with its format': job(
      8,
      'tp: 2',
      'fsdp: {enabled: true}',
      'checkpoint: {ckpt_format: fsdp_dtensor}',
    ),
    FSDP2: job(8, 'tp: 2', 'fsdp: {torch_fsdp2: true}', 'checkpoint: {ckpt_format: torch_dist}'),
    'another format': job(8, 'tp: 2', 'fsdp: {enabled: true}', 'checkpoint: {ckpt_format: torch}'),
    'the default format of a training script': scriptJob(8, 'tp: 1', { fsdp: 'enabled: true' }),
    'the default of gradient accumulation under FSDP2': scriptJob(8, 'tp: 1', { fsdp: 'torch_fsdp2: true' }),
    'a version that is not': job(8, 'tp: 2', 'fsdp: {enabled: true, megatron_fsdp_version: 3}'),
    'FSDP2 with a pipeline': job(8, 'pp: 2', 'fsdp: {torch_fsdp2: true}'),
    'FSDP2 with experts': job(8, 'ep: 2', 'fsdp: {torch_fsdp2: true}'),
    'FSDP2 with tied embeddings': job(8, 'tp: 1', 'fsdp: {torch_fsdp2: true}', 'model: {num_layers: 8}'),
    'torch_dcp with tensor parallelism': job(
      8,
      'tp: 2',
      'fsdp: {torch_fsdp2: true}',
      'checkpoint: {ckpt_format: torch_dcp}',
    ),
    'a format without its implementation': job(8, 'tp: 2', 'checkpoint: {ckpt_format: fsdp_dtensor}'),
    'an optimizer that it does not run': job(8, 'tp: 2', 'fsdp: {enabled: true}', 'optimizer: {optimizer: muon}'),
    'checkpoints that generalized TP does not write': job(
      8,
      'gtp_remat: 2',
      'batch: {micro_batch_size: 1, global_batch_size: 8}',
      'checkpoint: {ckpt_format: torch_dcp}',
    ),
    'gradient accumulation fusion under torch FSDP2': job(
      8,
      'tp: 1',
      'fsdp: {torch_fsdp2: true}',
      'optimizer: {gradient_accumulation_fusion: true}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "another format: error at "torch": Megatron-FSDP cannot write ckpt_format torch. Use fsdp_dtensor.
      = Megatron-LM: Megatron-FSDP requires the \`fsdp_dtensor\` checkpointing format.
      = suggestion: Change ckpt_format to fsdp_dtensor: checkpoint: {ckpt_format: [-torch-]{+fsdp_dtensor+}}
      = suggestion: Remove ckpt_format: checkpoint: {[-ckpt_format: torch-]}
    the default format of a training script: information at "true": Megatron-FSDP cannot write ckpt_format torch_dist, Megatron-LM's default. Use fsdp_dtensor.
      = Megatron-LM: Megatron-FSDP requires the \`fsdp_dtensor\` checkpointing format.
      = suggestion: Remove enabled: fsdp: {[-enabled: true-]}
    the default of gradient accumulation under FSDP2: information at "true": torch_fsdp2 excludes gradient_accumulation_fusion, Megatron-LM's default. Write gradient_accumulation_fusion false.
      = Megatron-LM: --use-torch-fsdp2 is not supported with gradient accumulation fusion
      = suggestion: Remove torch_fsdp2: fsdp: {[-torch_fsdp2: true-]}
      error at "true": torch_fsdp2 needs an output layer with weights of its own. Write untie_embeddings_and_output_weights true under model.
      = Megatron-LM: --use-torch-fsdp2 requires --untie-embeddings-and-output-weights
      = suggestion: Insert untie_embeddings_and_output_weights: true: model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8{+, untie_embeddings_and_output_weights: true+}}
      = suggestion: Remove torch_fsdp2: fsdp: {[-torch_fsdp2: true-]}
    a version that is not: error at "3": There is no Megatron-FSDP version 3. Use 1 or 2.
      = suggestion: Change megatron_fsdp_version to 1: fsdp: {enabled: true, megatron_fsdp_version: [-3-]{+1+}}
      = suggestion: Remove megatron_fsdp_version: fsdp: {enabled: true[-, megatron_fsdp_version: 3-]}
    FSDP2 with a pipeline: error at "true": torch_fsdp2 excludes a pipeline; pp is 2. Use pp 1.
      = Megatron-LM: --use-torch-fsdp2 is not supported with pipeline parallelism
      = suggestion: Change pp to 1: parallelism: {pp: [-2-]{+1+}}
      = suggestion: Remove torch_fsdp2: fsdp: {[-torch_fsdp2: true-]}
    FSDP2 with experts: error at "true": torch_fsdp2 excludes expert parallelism; ep is 2. Use ep 1.
      = Megatron-LM: --use-torch-fsdp2 is not supported with expert parallelism
      = suggestion: Change ep to 1: parallelism: {ep: [-2-]{+1+}}
      = suggestion: Remove torch_fsdp2: fsdp: {[-torch_fsdp2: true-]}
    FSDP2 with tied embeddings: error at "true": torch_fsdp2 needs an output layer with weights of its own. Write untie_embeddings_and_output_weights true under model.
      = Megatron-LM: --use-torch-fsdp2 requires --untie-embeddings-and-output-weights
      = suggestion: Insert untie_embeddings_and_output_weights: true: model: {num_layers: 8{+, untie_embeddings_and_output_weights: true+}}
      = suggestion: Remove torch_fsdp2: fsdp: {[-torch_fsdp2: true-]}
    torch_dcp with tensor parallelism: error at "torch_dcp": ckpt_format torch_dcp excludes tensor parallelism; tp is 2. Use torch_dist.
      = Megatron-LM: --ckpt-format torch_dcp is not tested with megatron tensor parallelism.
      = suggestion: Change ckpt_format to torch_dist: checkpoint: {ckpt_format: [-torch_dcp-]{+torch_dist+}}
      = suggestion: Remove ckpt_format: checkpoint: {[-ckpt_format: torch_dcp-]}
    a format without its implementation: error at "fsdp_dtensor": ckpt_format fsdp_dtensor needs Megatron-FSDP. Use torch_dist.
      = Megatron-LM: --ckpt-format fsdp_dtensor is only tested with Megatron FSDP.
      = suggestion: Change ckpt_format to torch_dist: checkpoint: {ckpt_format: [-fsdp_dtensor-]{+torch_dist+}}
      = suggestion: Remove ckpt_format: checkpoint: {[-ckpt_format: fsdp_dtensor-]}
    an optimizer that it does not run: error at "true": Megatron-FSDP does not run with optimizer muon. Use adam or sgd.
      = Megatron-LM: Megatron-FSDP does not support the muon optimizer yet.
      = suggestion: Change optimizer to adam: optimizer: {optimizer: [-muon-]{+adam+}}
      = suggestion: Remove enabled: fsdp: {[-enabled: true-]}
    checkpoints that generalized TP does not write: error at "torch_dcp": Generalized TP needs ckpt_format torch or torch_dist, not torch_dcp.
      = Megatron-LM: GTP supports only --ckpt-format 'torch' (legacy) or 'torch_dist', got 'torch_dcp'.
      = suggestion: Change ckpt_format to torch_dist: checkpoint: {ckpt_format: [-torch_dcp-]{+torch_dist+}}
      = suggestion: Remove ckpt_format: checkpoint: {[-ckpt_format: torch_dcp-]}
    gradient accumulation fusion under torch FSDP2: error at "true": torch_fsdp2 excludes gradient_accumulation_fusion. Write gradient_accumulation_fusion false.
      = Megatron-LM: --use-torch-fsdp2 is not supported with gradient accumulation fusion
      = suggestion: Change gradient_accumulation_fusion to false: optimizer: {gradient_accumulation_fusion: [-true-]{+false+}}
      = suggestion: Remove torch_fsdp2: fsdp: {[-torch_fsdp2: true-]}"
  `);
});
