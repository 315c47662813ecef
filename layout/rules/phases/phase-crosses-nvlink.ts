import { valueOr } from '../../topology/facts';
import { nvlinkDomainOf } from '../../topology/nvlinkDomain';
import { phaseSpans } from '../../topology/phases';
import { job, type Rule } from '../rule';

export const phaseCrossesNvlink: Rule = {
  code: 'phase-crosses-nvlink',
  severity: 'warning',
  title: 'A tensor-parallel group of a phase spans NVLink domains',
  effect: 'each layer of the phase waits for the network',
  what: 'A group of `tp * gtp_remat` ranks of a phase does not lie in one NVLink domain (`gpus_per_nvlink_domain`; left out, a rack of GB200 or GB300, else a node).',
  why: 'Tensor parallelism talks in every layer; between NVLink domains it is many times slower.',
  failing: job(16, 'tp: 2', 'cluster: {nodes: 2, gpus_per_node: 8}', 'phases: {rollout: {engine: vllm, tp: 16}}'),
  passing: job(16, 'tp: 2', 'cluster: {nodes: 2, gpus_per_node: 8}', 'phases: {rollout: {engine: vllm, tp: 8}}'),
  sources: ['NVLink connects the GPUs of one domain only'],
  *check(facts) {
    const cluster = facts.root.cluster.value;
    const node = cluster?.gpus_per_node.value ?? cluster?.gpus_per_nvlink_domain.value;
    const domain = node && nvlinkDomainOf(facts.root, facts.world.size ?? node, node);
    for (const { field, phase, start, end } of domain ? phaseSpans(facts) : []) {
      const size = (valueOr(phase.tp, 1) ?? 1) * (valueOr(phase.gtp_remat, 1) ?? 1);
      const first = domain ? firstCrossing(start, end, size, domain) : null;
      if (first !== null) {
        yield {
          message: `The group of ranks ${first} to ${first + size - 1} of phase '${field.name}' spans NVLink domains of ${domain} GPUs. Use a tp that divides ${domain}, or a rank_offset that is a multiple of it.`,
          span: phase.tp.written ? phase.tp.span : field.keySpan,
        };
      }
    }
  },
};

/** The first rank of the first group of `size` ranks that is cut by a multiple of `domain`; null where none is. */
function firstCrossing(start: number, end: number, size: number, domain: number): number | null {
  if (size === 1) {
    return null;
  }
  // the places of groups in a domain repeat after `domain` groups at most; a group larger than it is cut at once
  const groups = Math.min(Math.floor((end - start) / size), size > domain ? 1 : MAX_GROUPS, domain);
  for (let i = 0; i < groups; i++) {
    const rank = start + i * size;
    if ((rank % domain) + size > domain) {
      return rank;
    }
  }
  return null;
}

/** The most groups that are looked at: more than a domain has GPUs. */
const MAX_GROUPS = 4096;
