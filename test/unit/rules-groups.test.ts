import { describe } from 'vitest';
import { checkTable, job } from './rule-table';

const BATCH = 'batch: {micro_batch_size: 1, global_batch_size: 1024}';

describe('rank orders', () => {
  checkTable(
    ['order-invalid', 'order-expert-mismatch'],
    [
      { title: 'dims of size 1 may be left out', text: job(8, 'tp: 2, pp: 2, order: tp-dp-pp'), diagnostics: [] },
      { title: 'capitals are read', text: job(8, 'tp: 2, pp: 2, order: TP-CP-EP-DP-PP'), diagnostics: [] },
      { title: 'gtp_remat may stand in it', text: job(8, 'tp: 2, order: gtp_remat-tp-dp'), diagnostics: [] },
      {
        title: 'a word that is no dimension',
        text: job(8, 'tp: 2, order: tp-cp-ep-dp-pp-xx'),
        diagnostics: [['order-invalid', 'tp-cp-ep-dp-pp-xx']],
      },
      {
        title: 'a word too many, and one too few: Megatron-LM says the latter',
        text: job(8, 'tp: 2, order: tp-pd-pp'),
        diagnostics: [
          [
            'order-invalid',
            'tp-pd-pp',
            "The size of (dp) is (4), but you haven'tspecified the order (tp-gtp_remat-pd-pp).",
          ],
        ],
      },
      {
        title: 'an empty order',
        text: job(8, 'tp: 2, order: ""'),
        diagnostics: [
          ['order-invalid', '""', "The size of (dp) is (4), but you haven'tspecified the order (gtp_remat-)."],
        ],
      },
      {
        title: 'a word twice',
        text: job(8, 'tp: 2, order: tp-dp-tp-pp'),
        diagnostics: [['order-invalid', 'tp-dp-tp-pp']],
      },
      {
        title: 'gtp_remat in capitals, beside the one that is put in',
        text: job(8, 'tp: 2, order: TP-GTP_REMAT-DP'),
        diagnostics: [['order-invalid', 'TP-GTP_REMAT-DP']],
      },
      {
        title: 'tp left out, which is looked for in gtp_remat and found',
        text: job(8, 'tp: 2, order: cp-dp-pp'),
        diagnostics: [['order-invalid', 'cp-dp-pp']],
      },
      {
        title: 'tp of size 1 must be named too',
        text: job(8, 'order: cp-dp-pp'),
        diagnostics: [['order-invalid', 'cp-dp-pp']],
      },
      {
        title: 'the dense grid comes first',
        text: job(16, 'tp: 2, cp: 2, ep: 2, order: tp-dp-pp'),
        diagnostics: [
          [
            'order-invalid',
            'tp-dp-pp',
            "The size of (cp) is (2), but you haven'tspecified the order (tp-gtp_remat-dp-pp).",
          ],
        ],
      },
      {
        title: 'also where the expert grid does not divide',
        text: job(16, 'tp: 2, cp: 2, ep: 3, order: tp-dp-pp'),
        diagnostics: [
          [
            'expert-factorization',
            '3',
            'world_size (16) is not divisible by expert_tensor_model_pipeline_parallel size (6)',
          ],
          [
            'order-invalid',
            'tp-dp-pp',
            "The size of (cp) is (2), but you haven'tspecified the order (tp-gtp_remat-dp-pp).",
          ],
        ],
      },
      {
        title: 'ep left out',
        text: job(16, 'tp: 2, ep: 4, order: tp-cp-dp-pp'),
        diagnostics: [
          [
            'order-invalid',
            'tp-cp-dp-pp',
            "The size of (ep) is (4), but you haven'tspecified the order (tp-gtp_remat-cp-dp-pp).",
          ],
        ],
      },
      {
        title: 'dp and expt_dp differ under an order that does not end in pp',
        text: job(16, 'tp: 2, pp: 2, ep: 2, order: tp-cp-ep-pp-dp'),
        diagnostics: [
          [
            'order-expert-mismatch',
            'tp-cp-ep-pp-dp',
            'When not using pp-last rank ordering, the data parallel size of the attention and moe layers must be the same',
          ],
        ],
      },
      {
        title: 'PP does not end in pp',
        text: job(16, 'tp: 2, pp: 2, ep: 2, order: TP-CP-EP-DP-PP'),
        diagnostics: [
          [
            'order-expert-mismatch',
            'TP-CP-EP-DP-PP',
            'When not using pp-last rank ordering, the data parallel size of the attention and moe layers must be the same',
          ],
        ],
      },
      {
        title: 'equal dp, yet other pipelines',
        text: job(8, 'tp: 2, pp: 2, ep: 2, expt_tp: 1, order: tp-cp-pp-ep-dp'),
        diagnostics: [
          [
            'order-expert-mismatch',
            'tp-cp-pp-ep-dp',
            'Pipeline parallel groups are expected to be the same for Non-Expert and Expert part,     but got [[0, 2], [1, 3], [4, 6], [5, 7]] and [[0, 1], [2, 3], [4, 5], [6, 7]]',
          ],
        ],
      },
      {
        title: 'equal dp, and the same pipelines',
        text: job(8, 'tp: 2, pp: 2, order: tp-cp-pp-ep-dp'),
        diagnostics: [],
      },
      {
        title: 'one stage lies anywhere',
        text: job(16, 'tp: 2, ep: 4, order: pp-tp-cp-ep-dp'),
        diagnostics: [],
      },
    ],
  );
});

describe('weight shards and the default of expt_tp', () => {
  checkTable(
    ['weight-shards', 'expert-tp-default', 'conflicting-keys'],
    [
      { title: 'a multiple of tp', text: job(16, 'tp: 2, num_weight_shards: 4', BATCH), diagnostics: [] },
      {
        title: 'fewer than tp',
        text: job(16, 'tp: 4, num_weight_shards: 2'),
        diagnostics: [
          ['weight-shards', '2', 'tensor_parallel_num_weight_shards (2) must be >= tensor_model_parallel_size (4).'],
        ],
      },
      {
        title: 'no multiple of expt_tp, which is tp here',
        text: job(16, 'tp: 2, expt_num_weight_shards: 3'),
        diagnostics: [
          [
            'weight-shards',
            '3',
            'expert_tensor_parallel_num_weight_shards (3) must be divisible by expert_tensor_parallel_size (2).',
          ],
        ],
      },
      {
        title: 'any number of shards of expt_tp 1, which it is in a module',
        text: `layout: 1\nworld_size: 6\nmodules:\n  language: {num_ranks: 6, tp: 2, expt_num_weight_shards: 3}\n`,
        diagnostics: [],
      },
      {
        title: 'shards win over the degree',
        text: job(16, 'tp: 2, gtp_remat: 4, num_weight_shards: 4', BATCH),
        diagnostics: [['conflicting-keys', '4']],
      },
      {
        title: 'an unusable tp has one diagnostic',
        text: job(16, 'tp: two, num_weight_shards: 3'),
        diagnostics: [['wrong-type', 'two']],
      },
      {
        title: 'a module with experts says how they are cut',
        text: 'layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2, ep: 4}\n',
        diagnostics: [['expert-tp-default', '4']],
      },
      {
        title: 'tp 1 leaves nothing to doubt',
        text: 'layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, ep: 4}\n',
        diagnostics: [],
      },
      { title: 'under parallelism the default is tp', text: job(8, 'tp: 2, ep: 4'), diagnostics: [] },
    ],
  );
});

describe('context levels', () => {
  checkTable(
    ['hierarchical-cp', 'cp-comm-type'],
    [
      {
        title: 'levels that make cp',
        text: job(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, 4]'),
        diagnostics: [],
      },
      { title: 'no levels', text: job(16, 'cp: 8, hierarchical_context_parallel_sizes: []'), diagnostics: [] },
      {
        title: 'levels that do not',
        text: job(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, 2]'),
        diagnostics: [['hierarchical-cp', '[2, 2]', '']],
      },
      {
        title: 'an unusable level has one diagnostic',
        text: job(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, x]'),
        diagnostics: [['wrong-type', 'x']],
      },
      {
        title: 'hierarchical exchange without levels',
        text: job(16, 'cp: 8', 'sequence: {cp_comm_type: a2a+p2p}'),
        diagnostics: [
          [
            'cp-comm-type',
            'a2a+p2p',
            '--hierarchical-context-parallel-sizes must be set when a2a+p2p is used in cp comm',
          ],
        ],
      },
      {
        title: 'with levels',
        text: job(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, 4]', 'sequence: {cp_comm_type: a2a+p2p}'),
        diagnostics: [],
      },
      { title: 'all to all needs none', text: job(16, 'cp: 8', 'sequence: {cp_comm_type: a2a}'), diagnostics: [] },
    ],
  );
});
