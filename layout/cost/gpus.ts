import type { GpuKind } from './job';

const TERA = 1e12;
const GIGA = 1e9;
const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** Dense operations a second, in units of 10^12. */
const AMPERE = { fp32: 19.5, bf16: 312, fp16: 312, fp8: 312, fp4: 312 };
const HOPPER = { fp32: 67, bf16: 989, fp16: 989, fp8: 1979, fp4: 1979 };

/**
 * GPUs by name. Memory, bandwidths (one direction) and dense operations a second are the vendors' data sheets'; the workspace
 * is what Megatron-LM's functional tests hold beside their states, and the last number what matrix products reach of the peak, in
 * parts of what they reach on an A100 (both calibrated on the public rows of docs/cost.md).
 */
const GPUS: readonly GpuKind[] = [
  gpu('a100', 80, 2039, 300, AMPERE, 76, 1),
  gpu('h100', 80, 3350, 450, HOPPER, 105, 0.82),
  gpu('h200', 141, 4800, 450, HOPPER, 105, 0.82),
  gpu('gh200', 96, 4000, 450, HOPPER, 105, 0.82),
  gpu('b200', 180, 8000, 900, { fp32: 80, bf16: 2250, fp16: 2250, fp8: 4500, fp4: 9000 }, 105, 0.75),
  gpu('gb200', 186, 8000, 900, { fp32: 80, bf16: 2500, fp16: 2500, fp8: 5000, fp4: 10000 }, 105, 0.75),
  gpu('b300', 270, 8000, 900, { fp32: 80, bf16: 2250, fp16: 2250, fp8: 4500, fp4: 13500 }, 105, 0.75),
  gpu('gb300', 278, 8000, 900, { fp32: 80, bf16: 2500, fp16: 2500, fp8: 5000, fp4: 15000 }, 105, 0.75),
];

function gpu(
  name: string,
  memoryGib: number,
  memoryGBs: number,
  nvlinkGBs: number,
  tflops: GpuKind['flops'],
  workspaceMib: number,
  matrixShare: number,
): GpuKind {
  const flops = Object.fromEntries(Object.entries(tflops).map(([type, value]) => [type, value * TERA]));
  return {
    name,
    memoryBytes: memoryGib * GIB,
    memoryBytesPerSecond: memoryGBs * GIGA,
    nvlinkBytesPerSecond: nvlinkGBs * GIGA,
    flops: { ...tflops, ...flops },
    workspaceBytes: workspaceMib * MIB,
    matrixShare,
  };
}

/** Stands for a GPU that the file does not name: its memory is estimated, its time is not. */
export const UNKNOWN_GPU: GpuKind = gpu('unknown', 0, 2039, 300, AMPERE, 90, 1);

/**
 * The GPU of a name such as `H100`, `h100-80gb` or `NVIDIA H100 80GB HBM3`; undefined where the table lacks it.
 * A memory size in the name takes the place of the table's.
 */
export function gpuKind(name: string): GpuKind | undefined {
  const words = name.toLowerCase().split(/[^a-z0-9]+/);
  const kind = GPUS.find((one) => words.includes(one.name));
  const memory = words.map((word) => /^(\d{2,3})gi?b?$/.exec(word)?.[1]).find((size) => size !== undefined);
  return kind && (memory === undefined ? kind : { ...kind, memoryBytes: Number(memory) * GIB });
}
