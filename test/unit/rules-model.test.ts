import { describe } from 'vitest';
import { checkTable, job } from './rule-table';

const model = (keys: string) => `model: {${keys}}`;
const sequence = (keys: string) => `sequence: {${keys}}`;
const batch = (keys: string) => `batch: {${keys}}`;

/** All that the training script asks for. */
const SCRIPT = [
  model('num_layers: 8, hidden_size: 64, num_attention_heads: 8'),
  sequence('seq_length: 64'),
  batch('micro_batch_size: 1, global_batch_size: 16'),
];

describe('rules on models, sequences and batches', () => {
  checkTable(
    ['ffn-shards', 'sequence-parallel-with-experts'],
    [
      { title: 'a whole model', text: job(16, 'tp: 2, pp: 2', ...SCRIPT), diagnostics: [] },
      {
        title: 'heads over tp',
        text: job(12, 'tp: 3', model('num_attention_heads: 32')),
        diagnostics: [
          ['attention-heads', '3', 'num_attention_heads (32) must be a multiple of tensor_model_parallel_size (3).'],
        ],
      },
      {
        title: 'query groups over tp',
        text: job(16, 'tp: 4', model('num_attention_heads: 24, num_query_groups: 6')),
        diagnostics: [
          [
            'query-groups',
            '6',
            'num_query_groups (6) must be a multiple or divisor of tensor_model_parallel_size (4).',
          ],
        ],
      },
      { title: 'query groups that divide tp', text: job(16, 'tp: 4', model('num_query_groups: 2')), diagnostics: [] },
      {
        title: 'experts over ep',
        text: job(16, 'ep: 8', model('num_experts: 12')),
        diagnostics: [['experts', '8', 'Number of experts should be a multiple of expert model parallel_size.']],
      },
      {
        title: 'a feed-forward width over tp',
        text: job(16, 'tp: 8', model('ffn_hidden_size: 1860')),
        diagnostics: [['ffn-shards', '1860']],
      },
      {
        title: 'layers over stages, in the library',
        text: job(16, 'pp: 4', model('num_layers: 30')),
        diagnostics: [
          ['pipeline-layers', '4', 'num_layers=30 should be divisible by config.pipeline_model_parallel_size=4'],
        ],
      },
      {
        title: 'layers over stages, in the training script',
        text: job(12, 'pp: 3', ...SCRIPT.slice(0, 2), batch('micro_batch_size: 1')),
        diagnostics: [
          ['pipeline-layers', '3', 'Number of layers should be divisible by the pipeline-model-parallel size'],
        ],
      },
      {
        title: 'layers of a stage over virtual stages',
        text: job(16, 'pp: 4, vpp: 3', model('num_layers: 32')),
        diagnostics: [
          [
            'virtual-pipeline-layers',
            '3',
            'num_layers_per_pipeline_rank 8             should be divisible by vp_size 3',
          ],
        ],
      },
      {
        title: 'ends that leave a rest',
        text: job(16, 'pp: 4', model('num_layers: 8, num_layers_in_first_pipeline_stage: 1')),
        diagnostics: [
          [
            'pipeline-layers',
            '1',
            'number of layers at middle stage: 7 must be divisible bythe middle pipeline model parallel size 3',
          ],
        ],
      },
      {
        title: 'a sequence over cp',
        text: job(8, 'cp: 4', sequence('seq_length: 100')),
        diagnostics: [
          ['sequence-divisible', '100', 'Sequence length should be divisible by 8 for Sequence/Context parallelism'],
        ],
      },
      {
        title: 'a packed sequence',
        text: job(8, 'cp: 4', sequence('seq_length: 100, qkv_format: thd')),
        diagnostics: [],
      },
      {
        title: 'sequence parallelism without tp',
        text: job(8, 'tp: 1', sequence('sequence_parallel: true')),
        diagnostics: [
          ['sequence-parallel-needs-tp', 'true', 'Cannot use sequence parallelism without tensor parallelism'],
        ],
      },
      {
        title: 'experts and tp without sequence parallelism',
        text: job(8, 'tp: 2, ep: 2', sequence('seq_length: 64')),
        diagnostics: [['sequence-parallel-with-experts', 'sequence']],
      },
      {
        title: 'a global batch over replicas, in the training script',
        text: job(16, 'tp: 2', SCRIPT[0] ?? '', SCRIPT[1] ?? '', batch('micro_batch_size: 1, global_batch_size: 12')),
        diagnostics: [
          [
            'global-batch',
            '12',
            'eval_global_batch_size (12) must be divisible by eval_micro_batch_size (1) * data_parallel_size (8) * gtp_weight_remat_size (1)',
          ],
        ],
      },
      {
        title: 'generalized TP without a global batch',
        text: job(8, 'tp: 2, gtp_remat: 2', batch('micro_batch_size: 1')),
        diagnostics: [
          [
            'global-batch',
            'batch',
            'eval_global_batch_size (2) must be divisible by eval_micro_batch_size (1) * data_parallel_size (2) * gtp_weight_remat_size (2)',
          ],
        ],
      },
      {
        title: 'too few micro-batches for the interleaved schedule',
        text: job(8, 'pp: 4, vpp: 2', batch('micro_batch_size: 1, global_batch_size: 4')),
        diagnostics: [['virtual-pipeline-window', '4']],
      },
      {
        title: 'a dense mask under cp',
        text: job(8, 'cp: 2', sequence('attention_mask: dense')),
        diagnostics: [['dense-mask-under-cp', 'dense']],
      },
    ],
  );
});
