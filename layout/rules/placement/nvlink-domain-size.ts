import { grouped } from '../../format/quantities';
import { changes } from '../fixes';
import { countOf, eitherNumber, nearestMultiples } from '../numbers';
import { job, type Rule } from '../rule';

const KEY = 'gpus_per_nvlink_domain';

export const nvlinkDomainSize: Rule = {
  code: 'nvlink-domain-size',
  severity: 'warning',
  title: 'An NVLink domain cuts a machine',
  effect: 'other rules and estimates judge placement by borders that no machine has',
  what: '`gpus_per_nvlink_domain` is neither a multiple nor a divisor of `gpus_per_node`.',
  why: 'NVSwitch joins whole machines: an HGX machine of 8 GPUs is one domain, an NVL72 rack holds 18 trays of 4 GPUs. Machines whose GPUs are only partly joined have domains of equal size.',
  failing: job(16, 'tp: 2', 'cluster: {nodes: 2, gpus_per_node: 8, gpus_per_nvlink_domain: 12}'),
  sources: ['NVIDIA GB200 NVL72 and HGX H100 data sheets: GPUs a machine and a domain'],
  *check({ root }) {
    const { gpus_per_node: node, gpus_per_nvlink_domain: domain } = root.cluster.value ?? {};
    const [each, size] = [node?.value, domain?.value];
    if (!domain?.written || each === undefined || size === undefined || each % size === 0 || size % each === 0) {
      return;
    }
    const whole = size < each ? [each] : nearestMultiples(each, size);
    yield {
      message: `An NVLink domain of ${countOf(size, 'GPU')} cuts machines of ${grouped(each)}. Use ${eitherNumber(whole)}.`,
      ...changes(KEY, domain, ...whole),
      related: [{ message: `gpus_per_node is ${grouped(each)} here`, span: node?.span ?? domain.span }],
    };
  },
};
