import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { graphedRecomputation } from './graphed-recomputation';

const MODEL = 'num_layers: 8, hidden_size: 64, num_attention_heads: 8';
const graphed = (recompute: string, graphs = 'cuda_graph_impl: local', model = '') =>
  scriptJob(8, 'tp: 1', { model: `${MODEL}${model}`, recompute, cuda_graph: graphs });

test('graphed-recomputation', () => {
  const said = reports(graphedRecomputation, {
    'no graphs': graphed('granularity: selective', 'cuda_graph_impl: none'),
    'no dropout': graphed('granularity: selective', undefined, ', attention_dropout: 0'),
    'parts that no graph holds': graphed(
      'granularity: selective',
      'cuda_graph_impl: transformer_engine, cuda_graph_modules: [mlp]',
    ),
    'full recomputation in whole iterations': graphed(
      'granularity: full, method: uniform, num_layers: 1',
      'cuda_graph_impl: full_iteration',
    ),
    'a file that says less': job(
      8,
      'tp: 1',
      'recompute: {granularity: selective}',
      'cuda_graph: {cuda_graph_impl: local}',
    ),
    'the default dropout': graphed('granularity: selective', 'enable_cuda_graph: true'),
    'dropout that is written': graphed(
      'granularity: selective',
      'external_cuda_graph: true',
      ', attention_dropout: 0.2',
    ),
    'a feed-forward layer': graphed('granularity: selective, modules: [mlp]'),
    'full recomputation': graphed('granularity: full, method: uniform, num_layers: 1'),
  });
  expect(said).toMatchInlineSnapshot(`
    "the default dropout: information at "selective": A CUDA graph holds the attention that is recomputed, with Megatron-LM's default 0.1 as its dropout. Use attention_dropout 0.
      = Megatron-LM: attention dropout is not supported with graphed attention recomputation.
      = suggestion: Remove granularity: recompute: {[-granularity: selective-]}
    dropout that is written: error at "selective": A CUDA graph holds the attention that is recomputed, with 0.2 as its dropout. Use attention_dropout 0.
      = Megatron-LM: attention dropout is not supported with graphed attention recomputation.
      = suggestion: Change attention_dropout to 0: model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8, attention_dropout: [-0.2-]{+0+}}
      = suggestion: Remove granularity: recompute: {[-granularity: selective-]}
    a feed-forward layer: information at "selective": A CUDA graph holds the mlp that is recomputed, with Megatron-LM's default 0.1 as its dropout. Use hidden_dropout 0.
      = Megatron-LM: hidden dropout is not supported with graphed MLP/MoE recomputation.
      = suggestion: Remove granularity: recompute: {[-granularity: selective, -]modules: [mlp]}
    full recomputation: error at "full": Full recomputation needs graphs of whole iterations. Use cuda_graph_impl full_iteration, or granularity selective.
      = Megatron-LM: full recompute is only supported with full iteration CUDA graph.
      = suggestion: Remove granularity: recompute: {[-granularity: full, -]method: uniform, num_layers: 1}"
  `);
});
