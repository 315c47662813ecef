import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { nvlinkDomainSize } from './nvlink-domain-size';

const cluster = (nodes: number, each: number, domain: number) =>
  `cluster: {nodes: ${nodes}, gpus_per_node: ${each}, gpus_per_nvlink_domain: ${domain}}`;

test('nvlink-domain-size', () => {
  const said = reports(nvlinkDomainSize, {
    'a machine is a domain': job(16, 'tp: 2', cluster(2, 8, 8)),
    'trays of a rack': job(72, 'tp: 2', cluster(18, 4, 72)),
    'pairs of GPUs': job(8, 'tp: 2', cluster(2, 4, 2)),
    'a rack that is larger than the job': job(8, 'tp: 2', cluster(2, 4, 72)),
    'no domain is written': job(8, 'tp: 2', 'cluster: {nodes: 1, gpus_per_node: 8}'),
    'one and a half machines': job(16, 'tp: 2', cluster(2, 8, 12)),
    'a part of a machine and a half': job(16, 'tp: 2', cluster(2, 8, 6)),
  });
  expect(said).toMatchInlineSnapshot(`
    "one and a half machines: warning at "12": An NVLink domain of 12 GPUs cuts machines of 8. Use 8 or 16.
      = at "8": gpus_per_node is 8 here
      = suggestion: Change gpus_per_nvlink_domain to 8: cluster: {nodes: 2, gpus_per_node: 8, gpus_per_nvlink_domain: [-12-]{+8+}}
      = suggestion: Change gpus_per_nvlink_domain to 16: cluster: {nodes: 2, gpus_per_node: 8, gpus_per_nvlink_domain: [-12-]{+16+}}
    a part of a machine and a half: warning at "6": An NVLink domain of 6 GPUs cuts machines of 8. Use 8.
      = at "8": gpus_per_node is 8 here
      = suggestion: Change gpus_per_nvlink_domain to 8: cluster: {nodes: 2, gpus_per_node: 8, gpus_per_nvlink_domain: [-6-]{+8+}}"
  `);
});
