import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { pipelineSplit } from './pipeline-split';

const BOTH = 'account_for_embedding_in_pipeline_split: true, account_for_loss_in_pipeline_split: true';

test('pipeline-split', () => {
  const said = reports(pipelineSplit, {
    '62 layers with both ends': job(8, `pp: 8, ${BOTH}`, 'model: {num_layers: 62}'),
    '126 layers with both ends in chunks': job(8, `pp: 8, vpp: 4, ${BOTH}`, 'model: {num_layers: 126}'),
    'chunks of two layers': job(8, 'pp: 4, num_layers_per_virtual_pipeline_stage: 2', 'model: {num_layers: 16}'),
    'a file that says nothing of layers': job(8, `pp: 8, ${BOTH}`),
    'the ends leave a rest': job(8, `pp: 8, ${BOTH}`, 'model: {num_layers: 64}'),
    'chunks leave a rest': job(8, 'pp: 4, num_layers_per_virtual_pipeline_stage: 3', 'model: {num_layers: 16}'),
    'beside the size of the first stage': job(
      8,
      `pp: 4, ${BOTH}`,
      'model: {num_layers: 14, num_layers_in_first_pipeline_stage: 2}',
    ),
    'virtual stages without a pipeline': job(
      8,
      'vpp: 4, account_for_embedding_in_pipeline_split: true',
      'model: {num_layers: 8}',
    ),
    'chunks by two keys': scriptJob(8, 'pp: 4, vpp: 2, num_layers_per_virtual_pipeline_stage: 1'),
  });
  expect(said).toMatchInlineSnapshot(`
    "the ends leave a rest: error at "true": 64 layers and 2 for embedding and loss do not divide into stages of pp 8. Use num_layers 62 or 70.
      = Megatron-LM: number of middle layers: 66 must be divisible by middle pipeline_model_parallel_size 8
      = at "64": num_layers is 64 here
      = suggestion: Change num_layers to 62: model: {num_layers: [-64-]{+62+}}
      = suggestion: Change num_layers to 70: model: {num_layers: [-64-]{+70+}}
    chunks leave a rest: error at "3": 16 layers do not divide into stages of pp 4 in chunks of 3. Use num_layers 12 or 24.
      = Megatron-LM: number of layers per pipeline stage must be divisible number of layers per virtual pipeline stage
      = at "16": num_layers is 16 here
      = suggestion: Change num_layers to 12: model: {num_layers: [-16-]{+12+}}
      = suggestion: Change num_layers to 24: model: {num_layers: [-16-]{+24+}}
    beside the size of the first stage: error at "true": Sizes of the first or last stage exclude the other ways to split the layers. Use one of them.
      = Megatron-LM: num_layers_in_first_pipeline_stage and num_layers_in_last_pipeline_stage cannot beset at the same time with account_for_embedding_in_pipeline_splitand account_for_loss_in_pipeline_split
      = at "14": num_layers is 14 here
    virtual stages without a pipeline: error[vpp-needs-pp] at "4": vpp 4 needs a pipeline, and pp is 1. Remove vpp, or use pp 2 or more.
      = Megatron-LM: number of layers on each pipeline rank: 9(after enable account_for_embedding_in_pipeline_split or account_for_loss_in_pipeline_split) must be divisible byvirtual_pipeline_model_parallel_size4
      = suggestion: Remove vpp: parallelism: {[-vpp: 4, -]account_for_embedding_in_pipeline_split: true}
    chunks by two keys: error at "1": num_layers_per_virtual_pipeline_stage and vpp both set the virtual stages. Remove one.
      = Megatron-LM: No more than one of the following arguments can be set at the same time: --num-layers-per-virtual-pipeline-stage, --num-virtual-stages-per-pipeline-rank,--pipeline-model-parallel-layout. args.num_layers_per_virtual_pipeline_stage=1, args.num_virtual_stages_per_pipeline_rank=2, args.pipeline_model_parallel_layout=None.
      = at "8": num_layers is 8 here
      = suggestion: Remove vpp: parallelism: {pp: 4, [-vpp: 2, -]num_layers_per_virtual_pipeline_stage: 1}
      = suggestion: Remove num_layers_per_virtual_pipeline_stage: parallelism: {pp: 4, vpp: 2[-, num_layers_per_virtual_pipeline_stage: 1-]}"
  `);
});
