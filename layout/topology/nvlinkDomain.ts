import { gpuKind } from '../cost/gpus';
import type { RootKeys } from '../format/keys';
import type { Section } from '../format/spec';

/**
 * GPUs of a job that reach one another over NVLink: those of a node, or of a rack. Where a rack has more GPUs than the job needs of
 * each, as a scheduler gives whole nodes and equally many of every rack: 256 GPUs take 64 of each of four racks of 72.
 * @param world ranks in the job
 * @param gpusPerNode GPUs in one machine
 */
export function nvlinkDomainOf(
  { cluster }: Pick<Section<RootKeys>, 'cluster'>,
  world: number,
  gpusPerNode: number,
): number {
  const { gpus_per_nvlink_domain: written, gpu } = cluster.value ?? {};
  const ofGpu = gpu?.value === undefined ? undefined : gpuKind(gpu.value)?.nvlinkDomain;
  const domain = written?.value ?? ofGpu ?? gpusPerNode;
  if (domain <= gpusPerNode || domain >= world) {
    return domain;
  }
  const least = Math.ceil(world / domain);
  for (let racks = least; racks <= 2 * least; racks++) {
    if (world % (racks * gpusPerNode) === 0) {
      return world / racks;
    }
  }
  return domain;
}
