import { removeField } from '../../format/edit';
import { problemsOf } from '../../format/problems';
import { suggestion } from '../fixes';
import { job, MIMO_TOPOLOGY, type Rule } from '../rule';

export const duplicateKey: Rule = {
  code: 'duplicate-key',
  severity: 'error',
  title: 'A key is written twice',
  effect: 'only one of the two values counts',
  what: 'The same key is written twice in one map.',
  why: 'Which of the two counts depends on the reader. Two modules of one name silently replace each other in Megatron-LM.',
  failing: job(8, 'tp: 2, tp: 4'),
  sources: ['YAML 1.2, section 3.2.1.1', MIMO_TOPOLOGY],
  *checkShape({ text, problems }) {
    for (const { entry, first } of problemsOf(problems, 'duplicate-key')) {
      const remove = (title: string, { keySpan, value }: typeof entry) =>
        suggestion(title, [removeField(text, { keySpan, span: value.span })]);
      yield {
        message: `'${entry.key}' is written twice in this map. Remove one.`,
        span: entry.keySpan,
        related: [{ message: 'the first one', span: first.keySpan }],
        fixes: [remove(`Remove the second '${entry.key}'`, entry), remove(`Remove the first '${entry.key}'`, first)],
      };
    }
  },
};
