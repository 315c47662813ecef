import type { LayoutFacts } from '../../topology/facts';
import { accountedLayers } from '../../topology/pipeline/settings';
import { type StagePlan, stagePlans } from '../../topology/stages';
import { changeFix, removeFix } from '../fixes';
import { eitherNumber, nearestMultiples } from '../numbers';
import { valueRelated } from '../related';
import { job, megatron, type Report, type Rule, TRANSFORMER_CONFIG, VALIDATE_ARGS } from '../rule';

export const pipelineSplit: Rule = {
  code: 'pipeline-split',
  severity: 'error',
  title: 'The layers, with embedding and loss, do not divide into stages',
  what: 'With `account_for_embedding_in_pipeline_split` or `account_for_loss_in_pipeline_split` the layers and one more for each are not a multiple of `pp` (times `vpp`), or the first or last stage has a size of its own as well. With `num_layers_per_virtual_pipeline_stage` the layers of a stage are not a multiple of it.',
  why: 'The embedding and the loss take the place of one layer each, so 62 layers with both make 64 equal parts.',
  failing: job(
    8,
    'pp: 8, account_for_embedding_in_pipeline_split: true, account_for_loss_in_pipeline_split: true',
    'model: {num_layers: 64}',
  ),
  sources: [
    TRANSFORMER_CONFIG,
    megatron('megatron/core/transformer/transformer_block.py', 'get_num_layers_to_build'),
    VALIDATE_ARGS,
  ],
  *check(facts) {
    for (const plan of stagePlans(facts)) {
      const { settings, pattern, error } = plan;
      const { accountForEmbedding, accountForLoss, perVirtualStage } = settings;
      // the rule `vpp-needs-pp` reports virtual stages without a pipeline
      const isBare = settings.pp === 1 && error?.message.includes('virtual_pipeline') === true;
      const concerns = (accountForEmbedding || accountForLoss || perVirtualStage !== null) && !isBare;
      if (error && concerns && pattern === null && settings.layout === null) {
        yield splitReport(facts, plan);
      }
    }
  },
};

function splitReport(facts: LayoutFacts, plan: StagePlan): Report {
  const { settings, error, module } = plan;
  const own = module.own ?? facts.root.parallelism.value;
  const layers = module.model.value?.num_layers;
  const { pp, vpp, first, last, perVirtualStage } = settings;
  const extra = accountedLayers(settings) - settings.numLayers;
  const ends = [own?.account_for_embedding_in_pipeline_split, own?.account_for_loss_in_pipeline_split];
  const field = ends.find((end) => end?.written) ?? facts.root.parallelism.value?.num_layers_per_virtual_pipeline_stage;
  const base = {
    span: field?.span ?? module.nameSpan,
    related: layers ? [valueRelated('num_layers', layers)] : [],
    predicts: error?.checked ? error.message : null,
  };
  if (error?.message.startsWith('No more than one')) {
    const { vpp: chunks, num_layers_per_virtual_pipeline_stage: size } = facts.root.parallelism.value ?? {};
    return {
      ...base,
      message: 'num_layers_per_virtual_pipeline_stage and vpp both set the virtual stages. Remove one.',
      fixes: [
        removeFix(facts.text, 'vpp', chunks),
        removeFix(facts.text, 'num_layers_per_virtual_pipeline_stage', size),
      ],
    };
  }
  if (first !== null || last !== null) {
    return {
      ...base,
      message: 'Sizes of the first or last stage exclude the other ways to split the layers. Use one of them.',
      fixes: field ? [removeFix(facts.text, 'the split', field)] : [],
    };
  }
  const step = pp * (perVirtualStage ?? vpp ?? 1);
  const better = nearestMultiples(step, settings.numLayers + extra)
    .map((total) => total - extra)
    .filter((total) => total > 0);
  const parts = extra === 0 ? '' : ` and ${extra} for embedding and loss`;
  return {
    ...base,
    message: `${settings.numLayers} layers${parts} do not divide into stages of pp ${pp}${vpp === null ? '' : ` x vpp ${vpp}`}${perVirtualStage === null ? '' : ` in chunks of ${perVirtualStage}`}. Use num_layers ${eitherNumber(better)}.`,
    fixes: layers ? better.map((total) => changeFix('num_layers', layers, total)) : [],
  };
}
