import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { pipelineLayout } from './pipeline-layout';

const layout = (pp: number, value: string, model = 'num_layers: 8') =>
  job(8, `pp: ${pp}, pipeline_model_parallel_layout: ${value}`, `model: {${model}}`);

test('pipeline-layout', () => {
  const said = reports(pipelineLayout, {
    'a virtual size that agrees, in a job of the library': scriptJob(
      8,
      'pp: 2, vpp: 2, pipeline_model_parallel_layout: Ett|tt|tt|ttL',
      {
        launch: 'family: megatron-bridge',
        batch: 'micro_batch_size: 1, global_batch_size: 32',
      },
    ),
    'a virtual size that disagrees, in a job of the library': scriptJob(
      8,
      'pp: 2, vpp: 4, pipeline_model_parallel_layout: Ett|tt|tt|ttL',
      {
        launch: 'family: megatron-bridge',
        batch: 'micro_batch_size: 1, global_batch_size: 32',
      },
    ),
    'one stage a rank': layout(4, 'Ett|tt|tt|ttL'),
    'stages without decoder layers': layout(4, 'E|tttt|tttt|L'),
    'virtual stages': layout(2, 'Ett|tt|tt|ttL'),
    'a repetition': layout(4, 'E|(tttt|)*2L'),
    'MTP before the loss': layout(4, 'Ett|ttt|ttt|mL', 'num_layers: 8, mtp_num_layers: 1'),
    'a list': layout(2, '[[embedding, decoder], [decoder, loss]]', 'num_layers: 2'),
    'MTP of which the file says nothing more': job(8, 'pp: 2, pipeline_model_parallel_layout: Ett|tmL'),
    'a layer too few': layout(4, 'Ett|tt|tt|tL'),
    'MTP layers of which the model has none': layout(4, 'Ett|tt|tt|ttmL'),
    'a number of stages that pp does not divide': layout(4, 'Ett|tt|ttttL'),
    'parentheses do not nest': layout(4, '"E((t|)*2)*2L"'),
    'a number split by a comma': layout(2, '"Et*1,0|L"', 'num_layers: 10'),
    'beside the size of the first stage': layout(
      4,
      'Ett|tt|tt|ttL',
      'num_layers: 8, num_layers_in_first_pipeline_stage: 2',
    ),
    'a single rank with chunks holds layers twice': layout(1, 'Etttt|ttttL'),
    'repetitions without end': layout(4, '"Et*999999999|L"'),
  });
  expect(said).toMatchInlineSnapshot(`
    "a virtual size that disagrees, in a job of the library: error at "Ett|tt|tt|ttL": The layout gives the number of virtual stages itself. Leave vpp out.
      = Megatron-LM: virtual_pipeline_model_parallel_size conflicts with pipeline_model_parallel_layout, (self.virtual_pipeline_model_parallel_size=4,  detected_vpp_size=2)
      = at "2": pp is 2 here
      = at "8": num_layers is 8 here
      = suggestion: Remove pipeline_model_parallel_layout: parallelism: {pp: 2, vpp: 4[-, pipeline_model_parallel_layout: Ett|tt|tt|ttL-]}
    a layer too few: error at "Ett|tt|tt|tL": The layout holds 7 decoder layers, and num_layers is 8. Use as many 't' as there are layers.
      = Megatron-LM: Number of decoder layers 7must match num_layers 8
      = at "4": pp is 4 here
      = at "8": num_layers is 8 here
      = suggestion: Remove pipeline_model_parallel_layout: parallelism: {pp: 4[-, pipeline_model_parallel_layout: Ett|tt|tt|tL-]}
    MTP layers of which the model has none: error at "Ett|tt|tt|ttmL": The layout holds 1 MTP layer, and mtp_num_layers is not written. Write mtp_num_layers 1 under model.
      = Megatron-LM: Number of mtp layers in layout must match mtp_num_layers
      = at "4": pp is 4 here
      = at "8": num_layers is 8 here
      = suggestion: Insert mtp_num_layers: 1: model: {num_layers: 8{+, mtp_num_layers: 1+}}
      = suggestion: Remove pipeline_model_parallel_layout: parallelism: {pp: 4[-, pipeline_model_parallel_layout: Ett|tt|tt|ttmL-]}
    a number of stages that pp does not divide: error at "Ett|tt|ttttL": The layout has 3 stages, which pp 4 does not divide. Use 4 stages.
      = Megatron-LM: pipeline_model_parallel_layout must be divisible by pipeline_model_parallel_size (len(layout)=3, pipeline_model_parallel_size=4)
      = at "4": pp is 4 here
      = at "8": num_layers is 8 here
      = suggestion: Remove pipeline_model_parallel_layout: parallelism: {pp: 4[-, pipeline_model_parallel_layout: Ett|tt|ttttL-]}
    parentheses do not nest: error at "\\"E((t|)*2)*2L\\"": '(' stands for no layer. Use E, t, m, L, '|', and the repetitions '(...)*n' and 'x*n', which do not nest.
      = Megatron-LM: Invalid layer character: ( (stage='E(t', layout_str='E(t|(t|))L'), known layer characters: ['E', 'L', 't', 'm']
      = at "4": pp is 4 here
      = at "8": num_layers is 8 here
      = suggestion: Remove pipeline_model_parallel_layout: parallelism: {pp: 4[-, pipeline_model_parallel_layout: "E((t|)*2)*2L"-]}
    a number split by a comma: warning at "\\"Et*1,0|L\\"": Megatron-LM removes commas first, so '*1,0' repeats 10 times. Write the number without a comma.
      = at "2": pp is 2 here
      = at "10": num_layers is 10 here
      = suggestion: Remove pipeline_model_parallel_layout: parallelism: {pp: 2[-, pipeline_model_parallel_layout: "Et*1,0|L"-]}
    beside the size of the first stage: error at "Ett|tt|tt|ttL": A pipeline layout excludes the sizes of the first and last stage and the account for embedding and loss. Use one of them.
      = Megatron-LM: pipeline_model_parallel_layout cannot be set with other pipeline layout arguments. self.num_layers_in_first_pipeline_stage=2, self.num_layers_in_last_pipeline_stage=None, self.account_for_embedding_in_pipeline_split=False, self.account_for_loss_in_pipeline_split=False.
      = at "4": pp is 4 here
      = at "8": num_layers is 8 here
      = suggestion: Remove pipeline_model_parallel_layout: parallelism: {pp: 4[-, pipeline_model_parallel_layout: Ett|tt|tt|ttL-]}
    a single rank with chunks holds layers twice: error at "Etttt|ttttL": With pp 1 every chunk of the pipeline begins at layer 0, and Megatron-LM reports nothing: no stage holds t4, t5, t6, t7; several stages hold t0, t1, t2, t3. Use pp 2 or more, or one stage.
      = at "1": pp is 1 here
      = at "8": num_layers is 8 here
      = suggestion: Remove pipeline_model_parallel_layout: parallelism: {pp: 1[-, pipeline_model_parallel_layout: Etttt|ttttL-]}
    repetitions without end: error at "\\"Et*999999999|L\\"": The layout has more than 100,000 layers. Use smaller repetitions.
      = at "4": pp is 4 here
      = at "8": num_layers is 8 here
      = suggestion: Remove pipeline_model_parallel_layout: parallelism: {pp: 4[-, pipeline_model_parallel_layout: "Et*999999999|L"-]}"
  `);
});
