import { DEFAULT_ORDER } from '../../format/keys';
import type { LayoutFacts } from '../../topology/facts';
import { denseGrid, expertGrid } from '../../topology/processGroups';
import { changeFix } from '../fixes';
import { divisors } from '../numbers';
import { job, type Report, type Rule } from '../rule';

import { crossingText, type Kind, nvlinkRelated, type Placed, placedModules } from './crossing';

export const tpCrossesNvlink: Rule = {
  code: 'tp-crosses-nvlink',
  severity: 'warning',
  title: 'Tensor-parallel groups leave their NVLink domain',
  effect: 'every layer waits for a link that is slower than NVLink',
  what: 'A TP group, a TP x GTP group or an expert TP group has ranks in more than one NVLink domain. `gpus_per_nvlink_domain` gives its size; left out, it is a rack of GB200 or GB300, else a node.',
  why: 'Tensor parallelism communicates in every layer, forward and backward, and waits for the result. Links between domains have about a tenth of the bandwidth.',
  failing: job(16, 'tp: 16', 'cluster: {nodes: 2, gpus_per_node: 8}'),
  sources: ['Parallelism guide of Megatron-LM: tensor parallelism within a node'],
  *check(facts) {
    for (const placed of placedModules(facts)) {
      const domain = { label: 'NVLink domain', size: placed.layout.gpusPerNvlinkDomain };
      for (const kind of tensorKinds(placed)) {
        const text = crossingText(kind, placed, domain);
        if (text !== null) {
          yield tensorReport(facts, placed, kind, text, domain.size);
          // the other kinds contain this one, or follow from the same degree
          break;
        }
      }
    }
  },
};

function tensorKinds({ module: { fields }, degrees }: Placed): Kind[] {
  const shards = fields.num_weight_shards.written ? fields.num_weight_shards : fields.gtp_remat;
  const exptTp = fields.expt_tp.written ? fields.expt_tp : fields.tp;
  return [
    { label: 'TP', grid: denseGrid, dims: ['tp'], degree: degrees.tp, span: fields.tp.span },
    { label: 'TP x GTP', grid: denseGrid, dims: ['tp', 'gtp_remat'], degree: degrees.gtpRemat, span: shards.span },
    { label: 'expert TP', grid: expertGrid, dims: ['expt_tp'], degree: degrees.exptTp, span: exptTp.span },
  ];
}

function tensorReport(
  facts: LayoutFacts,
  { module, layout }: Placed,
  kind: Kind,
  text: string,
  domain: number,
): Report {
  const { fields, degrees, own } = module;
  const degree = kind.label === 'TP' && fields.tp.written ? degrees?.tp : undefined;
  // the largest divisor of the old size whose groups fill a domain
  const better = divisors(domain)
    .filter((size) => degree !== undefined && size > 1 && size < degree && degree % size === 0)
    .at(-1);
  const order = facts.root.parallelism.value?.order;
  return {
    message: `${text} ${better === undefined ? 'Keep' : `Use tp ${better} to keep`} each group in one domain.`,
    span: kind.span,
    related: [
      ...nvlinkRelated(facts, layout),
      ...(own?.rank_offset.written ? [{ message: `'${module.name}' begins here`, span: own.rank_offset.span }] : []),
    ],
    fixes: [
      module.name === null ? changeFix('order', order, DEFAULT_ORDER) : null,
      better === undefined ? null : changeFix('tp', fields.tp, better),
    ],
  };
}
