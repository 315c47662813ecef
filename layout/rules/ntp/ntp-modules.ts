import { removeFix } from '../fixes';
import { ntpRule } from './example';

export const ntpModules = ntpRule({
  code: 'ntp-modules',
  severity: 'error',
  title: 'Nonuniform TP beside modules',
  effect: 'groups are rebuilt for the wrong ranks',
  what: '`ntp` is written in a file of `modules`.',
  why: 'Megatron-LM computes the ranks of one grid that begins at rank 0.',
  failing: 'layout: 1\nworld_size: 8\nmodules: {language: {num_ranks: 8, tp: 4}}\nntp: {tp_spares: 1}\n',
  *check({ text, root, heterogeneous }) {
    if (heterogeneous && root.ntp.written) {
      yield {
        message: 'ntp does not work with modules: it assumes one grid from rank 0. Remove it, or use parallelism.',
        span: root.ntp.keySpan,
        related: [{ message: 'modules is written here', span: root.modules.keySpan }],
        fixes: [removeFix(text, 'ntp', root.ntp)],
      };
    }
  },
});
