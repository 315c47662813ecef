import { nearest } from '../../format/nearest';
import { problemsOf } from '../../format/problems';
import { safeFix, suggestion } from '../fixes';
import { either } from '../numbers';
import { job, type Rule } from '../rule';

/** More choices than these are not offered one by one. */
const MAX_CHOICES = 4;

/** What other frameworks call a choice. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  // PyTorch's ShardingStrategy, and DeepSpeed's stages of ZeRO
  ...['full_shard', 'zero3'].map((word) => [word, 'optim_grads_params'] as const),
  ...['shard_grad_op', 'zero2'].map((word) => [word, 'optim_grads'] as const),
  ['zero1', 'optim'],
]);

export const notAnOption: Rule = {
  code: 'not-an-option',
  severity: 'error',
  title: 'Unknown option',
  effect: 'the value cannot be used',
  what: 'A key that takes one of a few words has another.',
  why: 'A word that is not known selects nothing.',
  failing: job(8, 'tp: 2', 'smoke: {checks: [group]}'),
  *checkShape({ problems }) {
    for (const { options, node, path } of problemsOf(problems, 'not-an-option')) {
      const written = String(node.value ?? '');
      const meant = OTHER_WORDS.get(written.toLowerCase()) ?? '';
      const near = options.includes(meant) ? meant : misspelt(written, options);
      const advice = near ? `Did you mean ${near}?` : `Use ${either(options)}.`;
      yield {
        message: `${path} is '${written}', which is not one of its choices. ${advice}`,
        span: node.span,
        fixes: near
          ? [safeFix(`Change to ${near}`, [{ span: node.span, newText: near }])]
          : options
              .slice(0, MAX_CHOICES)
              .map((option) => suggestion(`Change to ${option}`, [{ span: node.span, newText: option }])),
      };
    }
  },
};

/** The option that a word is near to; none where only digits differ: another version is no misspelling. */
function misspelt(written: string, options: readonly string[]): string | null {
  const near = nearest(written, options);
  const letters = (word: string) => word.replace(/\d/g, '');
  return near !== null && letters(near) === letters(written) ? null : near;
}
