import { expect, test } from 'vitest';
import { gpuKind } from '../../cost/gpus';
import { reports } from '../testing';
import { unknownGpu } from './unknown-gpu';

const file = (gpu: string) => `layout: 1\ncluster: {nodes: 1, gpus_per_node: 8, gpu: ${gpu}}\nparallelism: {tp: 2}\n`;

test('unknown-gpu', () => {
  const said = reports(unknownGpu, {
    known: file('NVIDIA H100 80GB HBM3'),
    'known by another form': file('rtx4090'),
    misspelt: file('H1O0'),
    nothing: file('quantum'),
    TPU: file('TPU v5p'),
  });
  expect(said).toMatchInlineSnapshot(`
    "misspelt: warning at "H1O0": The GPU is not known, so time is not estimated and memory only by gpu_memory. The nearest names are H100, V100 and A100.
      = suggestion: Change gpu to H100: cluster: {nodes: 1, gpus_per_node: 8, gpu: [-H1O0-]{+H100+}}
    nothing: warning at "quantum": The GPU is not known, so time is not estimated and memory only by gpu_memory. The nearest names are A100, A800 and A6000.
      = suggestion: Change gpu to A100: cluster: {nodes: 1, gpus_per_node: 8, gpu: [-quantum-]{+A100+}}
    TPU: warning at "TPU v5p": A TPU runs no jobs of these frameworks. Name a GPU, or leave gpu out."
  `);
});

test.each([
  ['H100', 80, 3350],
  ['h100-80gb', 80, 3350],
  ['NVIDIA-A100-SXM4-40GB', 40, 1555],
  ['A100 40GB', 40, 1555],
  ['A800', 80, 2039],
  ['V100-16GB', 16, 900],
  ['NVIDIA GeForce RTX 4090', 24, 1008],
  ['RTX5090', 32, 1792],
  ['A6000-48GB', 48, 768],
  ['AMD Instinct MI300X', 192, 5300],
  ['Gaudi 3', 128, 3670],
  ['Ascend 910B', 64, 1600],
  ['910B4', 64, 1600],
  ['GB200', 185, 8000],
])('%s has %i GiB at %i GB/s', (name, gib, speed) => {
  expect(gpuKind(name)).toMatchObject({ memoryBytes: gib * 2 ** 30, memoryBytesPerSecond: speed * 1e9 });
});

test.each(['', 'H', 'H1000', 'B20', '100', 'GPU', 'TPU v4'])('%j is no GPU', (name) => {
  expect(gpuKind(name)).toBeUndefined();
});
