import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { dynamicCp } from './dynamic-cp';

test('dynamic-cp', () => {
  const said = reports(dynamicCp, {
    'hybrid on 8 ranks': job(8, 'hybrid_context_parallel: true'),
    'dynamic with a pipeline': job(8, 'pp: 4, dynamic_context_parallel: true'),
    off: job(7, 'hybrid_context_parallel: false'),
    'hybrid with a pipeline': job(8, 'pp: 2, hybrid_context_parallel: true'),
    'an odd number of ranks': job(7, 'hybrid_context_parallel: true'),
    'a number of ranks that is no power of two': job(12, 'hybrid_context_parallel: true'),
    'buffers that are too short': job(
      8,
      'dynamic_context_parallel: true',
      'sequence: {seq_length: 64, max_seqlen_per_dp_cp_rank: 7}',
    ),
    'without the loss a token': job(8, 'hybrid_context_parallel: true', 'sequence: {calculate_per_token_loss: false}'),
    'with Megatron-FSDP': job(8, 'dynamic_context_parallel: true', 'fsdp: {enabled: true}'),
    'both names': job(8, 'dynamic_context_parallel: true, hybrid_context_parallel: true'),
    'a smallest group above all ranks': job(8, 'dynamic_context_parallel: true, min_dynamic_context_parallel_size: 16'),
    'a smallest group below one rank': dynamic(', min_dynamic_context_parallel_size: 0', ''),
    'a scheduler of another kind': dynamic('', ', sequence_packing_scheduler: dp_balanced'),
    'CUDA graphs without padding': dynamic('', '', { cuda_graph: 'cuda_graph_impl: local' }),
    'CUDA graphs with padding of another length': dynamic('', ', pad_packed_seq_alignment: 16', {
      cuda_graph: 'cuda_graph_impl: local',
    }),
    'CUDA graphs with padding to the buffer': dynamic('', ', pad_packed_seq_alignment: max', {
      cuda_graph: 'cuda_graph_impl: local',
    }),
    'CUDA graphs by their former option': scriptJob(8, 'hybrid_context_parallel: true', {
      sequence: 'seq_length: 64, calculate_per_token_loss: true',
      cuda_graph: 'enable_cuda_graph: true',
    }),
  });
  expect(said).toMatchInlineSnapshot(`
    "hybrid with a pipeline: warning at "true": hybrid_context_parallel excludes a pipeline. Use pp 1.
      = Megatron-LM: Hybrid context parallelism not supported with pipeline parallelism
      = suggestion: Change pp to 1: parallelism: {pp: [-2-]{+1+}, hybrid_context_parallel: true}
      = suggestion: Remove hybrid_context_parallel: parallelism: {pp: 2[-, hybrid_context_parallel: true-]}
    an odd number of ranks: error at "true": hybrid_context_parallel needs an even number of data- and context-parallel ranks; dp x cp is 7. Use another world or tp.
      = Megatron-LM: Hybrid context parallel requires an even number of ranks
      = suggestion: Remove hybrid_context_parallel: parallelism: {[-hybrid_context_parallel: true-]}
    a number of ranks that is no power of two: warning at "true": dp x cp 12 is no power of two. Use a world that makes it one.
    buffers that are too short: warning at "true": The buffers of 8 ranks hold 56 tokens, fewer than seq_length 64. Use a larger max_seqlen_per_dp_cp_rank.
      = Megatron-LM: Packed sequence buffer size (56) must be >= single sequence max length (64)
      = suggestion: Remove dynamic_context_parallel: parallelism: {[-dynamic_context_parallel: true-]}
    without the loss a token: warning at "true": hybrid_context_parallel needs calculate_per_token_loss. Write calculate_per_token_loss true under sequence.
      = Megatron-LM: Hybrid context parallelism must be used with --calculate-per-token-loss
      = suggestion: Change calculate_per_token_loss to true: sequence: {calculate_per_token_loss: [-false-]{+true+}}
      = suggestion: Remove hybrid_context_parallel: parallelism: {[-hybrid_context_parallel: true-]}
    with Megatron-FSDP: warning at "true": dynamic_context_parallel excludes Megatron-FSDP. Use one of them.
      = Megatron-LM: Dynamic context parallelism not supported with Megatron FSDP
      = suggestion: Remove dynamic_context_parallel: parallelism: {[-dynamic_context_parallel: true-]}
    both names: warning at "true": hybrid_context_parallel is the former name of dynamic_context_parallel. Use one of them.
      = Megatron-LM: Cannot set both hybrid_context_parallel and dynamic_context_parallel. Please use dynamic_context_parallel only.
      = suggestion: Remove dynamic_context_parallel: parallelism: {[-dynamic_context_parallel: true, -]hybrid_context_parallel: true}
    a smallest group above all ranks: warning at "true": min_dynamic_context_parallel_size 16 is above dp x cp 8. Use 8 or less.
      = Megatron-LM: min_dynamic_context_parallel_size (16) must be <= dp_size * cp_size (8)
      = suggestion: Change min_dynamic_context_parallel_size to 8: parallelism: {dynamic_context_parallel: true, min_dynamic_context_parallel_size: [-16-]{+8+}}
      = suggestion: Remove dynamic_context_parallel: parallelism: {[-dynamic_context_parallel: true, -]min_dynamic_context_parallel_size: 16}
    a smallest group below one rank: error at "0": min_dynamic_context_parallel_size is 0, and no group is smaller than one rank. Use 1 or more.
      = Megatron-LM: min_dynamic_context_parallel_size must be >= 1, got 0
      = suggestion: Remove min_dynamic_context_parallel_size: parallelism: {dynamic_context_parallel: true[-, min_dynamic_context_parallel_size: 0-]}
    a scheduler of another kind: error at "true": dynamic_context_parallel needs sequence_packing_scheduler default_dynamic_cp, not dp_balanced.
      = Megatron-LM: Dynamic context parallelism requires sequence_packing_scheduler=default_dynamic_cp
      = suggestion: Change sequence_packing_scheduler to default_dynamic_cp: sequence: {seq_length: 64, calculate_per_token_loss: true, max_seqlen_per_dp_cp_rank: 32, sequence_packing_scheduler: [-dp_balanced-]{+default_dynamic_cp+}}
      = suggestion: Remove dynamic_context_parallel: parallelism: {[-dynamic_context_parallel: true-]}
    CUDA graphs without padding: error at "true": CUDA graphs of packed sequences need pad_packed_seq_alignment. Write pad_packed_seq_alignment max under sequence.
      = Megatron-LM: THD CUDA Graph requires --pad-packed-seq-alignment to be set.
      = suggestion: Remove dynamic_context_parallel: parallelism: {[-dynamic_context_parallel: true-]}
    CUDA graphs with padding of another length: error at "true": CUDA graphs of packed sequences need pad_packed_seq_alignment max, or max_seqlen_per_dp_cp_rank 32.
      = Megatron-LM: THD CUDA Graph requires --pad-packed-seq-alignment='max' or --pad-packed-seq-alignment equal to --max-seqlen-per-dp-cp-rank (32), got 16.
      = suggestion: Remove dynamic_context_parallel: parallelism: {[-dynamic_context_parallel: true-]}
    CUDA graphs by their former option: error at "true": hybrid_context_parallel excludes CUDA graphs. Remove enable_cuda_graph.
      = suggestion: Remove enable_cuda_graph: cuda_graph: {[-enable_cuda_graph: true-]}
      = suggestion: Remove hybrid_context_parallel: parallelism: {[-hybrid_context_parallel: true-]}"
  `);
});

const dynamic = (more: string, sequence: string, keys: Readonly<Record<string, string>> = {}) =>
  scriptJob(8, `dynamic_context_parallel: true${more}`, {
    sequence: `seq_length: 64, calculate_per_token_loss: true, max_seqlen_per_dp_cp_rank: 32${sequence}`,
    ...keys,
  });
