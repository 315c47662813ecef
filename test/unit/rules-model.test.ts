import { describe } from 'vitest';
import { checkTable, job } from './rule-table';

const sequence = (keys: string) => `sequence: {${keys}}`;

describe('rules on sequences', () => {
  checkTable(
    ['sequence-parallel-with-experts'],
    [
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
        title: 'a dense mask under cp',
        text: job(8, 'cp: 2', sequence('attention_mask: dense')),
        diagnostics: [['dense-mask-under-cp', 'dense']],
      },
    ],
  );
});
