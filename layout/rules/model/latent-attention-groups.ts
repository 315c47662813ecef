import { takesDefaults } from '../../topology/taken';
import { removeFix } from '../fixes';
import { valueRelated } from '../related';
import { job, type Rule, VALIDATE_ARGS } from '../rule';

export const latentAttentionGroups: Rule = {
  code: 'latent-attention-groups',
  severity: 'error',
  title: 'Query groups beside latent attention',
  what: '`multi_latent_attention` is on and `num_query_groups` is written, in a file that describes a whole training job.',
  why: 'Latent attention compresses keys and values itself, and has a head of each for every head of the queries. The training script takes query groups only with `--group-query-attention`, which excludes it.',
  failing: job(
    8,
    'tp: 1',
    'model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8, num_query_groups: 2, multi_latent_attention: true}',
    'sequence: {seq_length: 64}',
    'batch: {micro_batch_size: 1}',
  ),
  sources: [VALIDATE_ARGS],
  *check(facts) {
    const { num_query_groups: groups, multi_latent_attention: latent } = facts.root.model.value ?? {};
    // a file that says less may be of the library, which has no such check
    if (groups?.value === undefined || latent?.value !== true || !takesDefaults(facts)) {
      return;
    }
    yield {
      message: 'Latent attention excludes query groups. Remove num_query_groups.',
      span: groups.span,
      related: [valueRelated('multi_latent_attention', { value: 'true', span: latent.span })],
      predicts: 'Group query attention is mutually exclusive with multi latent attention.',
      fixes: [removeFix(facts.text, 'num_query_groups', groups)],
    };
  },
};
