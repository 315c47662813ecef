import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { latentAttentionGroups } from './latent-attention-groups';

const MODEL = 'num_layers: 8, hidden_size: 64, num_attention_heads: 8';

test('latent-attention-groups', () => {
  const said = reports(latentAttentionGroups, {
    'latent attention alone': scriptJob(8, 'tp: 1', { model: `${MODEL}, multi_latent_attention: true` }),
    'groups alone': scriptJob(8, 'tp: 1', { model: `${MODEL}, num_query_groups: 2` }),
    'a file that says less': job(8, 'tp: 1', `model: {${MODEL}, num_query_groups: 2, multi_latent_attention: true}`),
    both: scriptJob(8, 'tp: 1', { model: `${MODEL}, num_query_groups: 2, multi_latent_attention: true` }),
  });
  expect(said).toMatchInlineSnapshot(`
    "both: error at "2": Latent attention excludes query groups. Remove num_query_groups.
      = Megatron-LM: Group query attention is mutually exclusive with multi latent attention.
      = at "true": multi_latent_attention is true here
      = suggestion: Remove num_query_groups: model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8, [-num_query_groups: 2, -]multi_latent_attention: true}"
  `);
});
