import { distance } from 'fastest-levenshtein';
import type { ComputeType, GpuKind } from './job';

const TERA = 1e12;
const GIGA = 1e9;
const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** A GPU as public sources describe it; 10^9 bytes a second and dense operations in units of 10^12, both per device that one rank has. */
interface GpuRow {
  readonly name: string;
  /** Memory in GiB with its bandwidth; the first stands for a name without a size. */
  readonly memory: readonly (readonly [gib: number, gigabytesPerSecond: number])[];
  /** What one GPU sends to the others of its node or NVLink domain, in one direction. */
  readonly link: number;
  /** The network card beside each GPU in the systems that the source describes; left out: no source says it. */
  readonly network?: number;
  /** GPUs that reach one another over `link`, where that is not the node. */
  readonly domain?: number;
  readonly tflops: Readonly<Record<ComputeType, number>>;
  /** Public repository or page that states the figures, and of which figures none was found. */
  readonly source: string;
  /** Other names, as a pattern of whole words. */
  readonly also?: RegExp;
  /** What kernels reach in units of 10^12 operations; left out: nobody measured it. */
  readonly reached?: Reached;
}

/**
 * What large matrix products reach by type, beside the time of their operands, and fused causal attention in bf16 at 4,096 and 8,192
 * tokens. Fitted on the kernels of `ai-dynamo/aiconfigurator` (`systems/data`: `gemm_perf`, `context_attention_perf`), 5 to 13 % off on average
 * (bench/planner/README.md).
 */
interface Reached {
  readonly bf16: number;
  readonly fp8: number;
  readonly fp4: number;
  readonly attention: number;
}

const AMPERE = { fp32: 19.5, bf16: 312, fp16: 312, fp8: 312, fp4: 312 };
const HOPPER = { fp32: 67, bf16: 989, fp16: 989, fp8: 1979, fp4: 1979 };
const BLACKWELL = { fp32: 80, bf16: 2250, fp16: 2250, fp8: 4500 };
const GRACE_BLACKWELL = { fp32: 80, bf16: 2500, fp16: 2500, fp8: 5000 };
const A100_REACHED: Reached = { bf16: 250, fp8: 250, fp4: 250, attention: 197 };
const H100_REACHED: Reached = { bf16: 870, fp8: 1606, fp4: 1606, attention: 495 };
const CDNA3 = { fp32: 163, bf16: 1307, fp16: 1307, fp8: 2615, fp4: 2615 };

/**
 * GPUs by name. Formats that a GPU lacks count at the next wider one that it has (bf16 at fp32 on a V100). An MI250X is two devices,
 * of which each rank has one.
 */
const ROWS: readonly GpuRow[] = [
  {
    name: 'V100',
    memory: [
      [32, 900],
      [16, 900],
    ],
    link: 150,
    tflops: { fp32: 15.7, bf16: 15.7, fp16: 125, fp8: 125, fp4: 125 },
    source: 'winston-zhang-orz/gpu-specs specs.md; ArthurChiao, GPU data sheets',
  },
  {
    name: 'A100',
    memory: [
      [80, 2039],
      [40, 1555],
    ],
    link: 300,
    network: 25,
    tflops: AMPERE,
    source: 'ai-dynamo/aiconfigurator systems/a100_sxm.yaml; of 40 GiB hahnyuan/LLM-Viewer',
    reached: A100_REACHED,
  },
  {
    name: 'A800',
    memory: [
      [80, 2039],
      [40, 1555],
    ],
    link: 200,
    tflops: AMPERE,
    source: 'citsjtu2020/LLM-Prof hardware_spec.md; ArthurChiao, GPU data sheets',
    reached: A100_REACHED,
  },
  {
    name: 'H100',
    memory: [
      [80, 3350],
      [94, 3917],
    ],
    link: 450,
    network: 50,
    tflops: HOPPER,
    source: 'ai-dynamo/aiconfigurator systems/h100_sxm.yaml; of 94 GiB lamonoai/gpumap',
    reached: H100_REACHED,
  },
  {
    name: 'H800',
    memory: [[80, 3350]],
    link: 200,
    network: 50,
    tflops: HOPPER,
    source: 'citsjtu2020/LLM-Prof hardware_spec.md; network card deepseek-ai/DeepEP README.md',
    reached: H100_REACHED,
  },
  {
    name: 'H200',
    memory: [[141, 4800]],
    link: 450,
    network: 50,
    tflops: HOPPER,
    source: 'ai-dynamo/aiconfigurator systems/h200_sxm.yaml; bench/planner/machine.py measured',
    reached: { bf16: 836, fp8: 1529, fp4: 1529, attention: 516 },
  },
  {
    name: 'H20',
    memory: [
      [96, 4022],
      [141, 4800],
    ],
    link: 450,
    tflops: { fp32: 44, bf16: 148, fp16: 148, fp8: 296, fp4: 296 },
    source: 'citsjtu2020/LLM-Prof hardware_spec.md; lamonoai/gpumap; pytorch/torchtitan tools/utils.py',
  },
  {
    name: 'GH200',
    memory: [
      [96, 4000],
      [144, 4900],
    ],
    link: 450,
    network: 25,
    tflops: HOPPER,
    source:
      'memory of 96 GiB nishikiout.net 2023-08-09, products as H100; network card eth-cscs/cscs-docs, one Slingshot 11 a GPU; none found for memory of 144 GiB, link',
    reached: H100_REACHED,
  },
  {
    name: 'B200',
    memory: [
      [180, 7700],
      [192, 8000],
    ],
    link: 900,
    network: 50,
    tflops: { ...BLACKWELL, fp4: 9000 },
    source:
      'ai-dynamo/aiconfigurator systems/b200_sxm.yaml; NVIDIA-NeMo/RL flops_tracker.py; network card Nebius in MLPerf Training 5.1',
    reached: { bf16: 1739, fp8: 3478, fp4: 5012, attention: 935 },
  },
  {
    name: 'GB200',
    memory: [
      [185, 8000],
      [192, 8000],
    ],
    link: 900,
    network: 50,
    domain: 72,
    tflops: { ...GRACE_BLACKWELL, fp4: 10000 },
    source: 'ai-dynamo/aiconfigurator systems/gb200.yaml; network card NVIDIA in MLPerf Training 5.1',
    reached: { bf16: 1905, fp8: 3581, fp4: 5540, attention: 1057 },
  },
  {
    name: 'B300',
    memory: [
      [268.6, 7750],
      [288, 8000],
    ],
    link: 900,
    network: 100,
    tflops: { ...BLACKWELL, fp4: 13125 },
    source:
      'ai-dynamo/aiconfigurator systems/b300_sxm.yaml; fp4 glennklockwood.com B300; network card Nebius in MLPerf Training 5.1',
    reached: { bf16: 1905, fp8: 3693, fp4: 7736, attention: 1120 },
  },
  {
    name: 'GB300',
    memory: [
      [277.5, 8000],
      [288, 8000],
    ],
    link: 900,
    network: 100,
    domain: 72,
    tflops: { ...GRACE_BLACKWELL, fp4: 15000 },
    source: 'ai-dynamo/aiconfigurator systems/gb300.yaml; network card NVIDIA in MLPerf Training 5.1',
    reached: { bf16: 2185, fp8: 4370, fp4: 8816, attention: 1280 },
  },
  {
    name: 'L20',
    memory: [[48, 864]],
    link: 32,
    tflops: { fp32: 59.8, bf16: 119.5, fp16: 119.5, fp8: 239, fp4: 239 },
    source: 'ArthurChiao, GPU data sheets; citsjtu2020/LLM-Prof hardware_spec.md; PCIe 4.0 x16',
  },
  {
    name: 'L40S',
    memory: [
      [45, 864],
      [48, 864],
    ],
    link: 32,
    network: 50,
    tflops: { fp32: 91.6, bf16: 362, fp16: 362, fp8: 733, fp4: 733 },
    source: 'ai-dynamo/aiconfigurator systems/l40s.yaml; winston-zhang-orz/gpu-specs specs.md; PCIe 4.0 x16',
  },
  {
    name: 'A6000',
    memory: [[48, 768]],
    link: 32,
    tflops: { fp32: 38.7, bf16: 154.8, fp16: 154.8, fp8: 154.8, fp4: 154.8 },
    source: 'pytorch/torchtitan tools/utils.py; lamonoai/gpumap; PCIe 4.0 x16, without the NVLink bridge of pairs',
    also: /^rtxa6000$/,
  },
  {
    name: 'RTX 4090',
    memory: [[24, 1008]],
    link: 32,
    tflops: { fp32: 83, bf16: 165, fp16: 165, fp8: 330, fp4: 330 },
    source: 'lamonoai/gpumap, with fp32 accumulation; PCIe 4.0 x16; none found for fp8',
    also: /^(rtx)?4090d?$/,
  },
  {
    name: 'RTX 5090',
    memory: [[32, 1792]],
    link: 64,
    tflops: { fp32: 105, bf16: 210, fp16: 210, fp8: 419, fp4: 838 },
    source: 'lamonoai/gpumap, with fp32 accumulation; PCIe 5.0 x16',
    also: /^(rtx)?5090d?$/,
  },
  {
    name: 'MI250X',
    memory: [[64, 1600]],
    link: 150,
    tflops: { fp32: 47.9, bf16: 191.5, fp16: 191.5, fp8: 191.5, fp4: 191.5 },
    source:
      'pytorch/torchtitan tools/utils.py, one of two devices; an MI250 has fewer units; none found for memory, link, fp32',
    also: /^mi250$/,
  },
  {
    name: 'MI300X',
    memory: [[192, 5300]],
    link: 448,
    network: 50,
    tflops: CDNA3,
    source:
      'AMD-AGI/Primus sdpa_simulator.py; pytorch/torchtitan tools/utils.py; network card AMD-AGI/Primus glossary (Pollara 400); none found for link, fp32',
    also: /^mi300$/,
  },
  {
    name: 'MI325X',
    memory: [[256, 6000]],
    link: 448,
    network: 50,
    tflops: CDNA3,
    source:
      'AMD-AGI/Primus sdpa_simulator.py; network card AMD-AGI/Primus glossary (Pollara 400); none found for link, fp32',
    also: /^mi325$/,
  },
  {
    name: 'MI350X',
    memory: [[288, 8000]],
    link: 537,
    network: 50,
    tflops: { fp32: 144, bf16: 2300, fp16: 2300, fp8: 4600, fp4: 9200 },
    source:
      'gangliao.me, AMD GPU architecture; AMD-AGI/Primus; network card AMD-AGI/Primus glossary (Pollara 400); none found for link, fp32',
    also: /^mi350$/,
  },
  {
    name: 'MI355X',
    memory: [[288, 8000]],
    link: 537,
    network: 50,
    tflops: { fp32: 157, bf16: 2500, fp16: 2500, fp8: 5000, fp4: 10000 },
    source:
      'AMD-AGI/Primus sdpa_simulator.py; pytorch/torchtitan tools/utils.py; network card AMD-AGI/Primus glossary (Pollara 400); none found for link, fp32',
    also: /^mi355$/,
  },
  {
    name: 'Gaudi 3',
    memory: [[128, 3670]],
    link: 525,
    network: 75,
    tflops: { fp32: 229, bf16: 1835, fp16: 1835, fp8: 1835, fp4: 1835 },
    source:
      'Intel, Hot Chips 2024: 24 ports of 200 Gb/s, of which 3 leave the node; none found for split of the ports, fp32',
    also: /^(gaudi3|hl3\d\d)$/,
  },
  {
    name: '910B',
    memory: [
      [64, 1600],
      [32, 800],
    ],
    link: 196,
    tflops: { fp32: 75, bf16: 320, fp16: 320, fp8: 320, fp4: 320 },
    source: 'ArthurChiao, GPU data sheets; none found for memory bandwidth, fp32',
    also: /^(ascend)?910b[1-4]?$/,
  },
];

/** Workspaces of cuBLAS and Transformer Engine in Megatron-LM's functional tests: on A100, and on later GPUs. */
const WORKSPACE = { a100: 76 * MIB, later: 105 * MIB };

/** Share of what a kernel reaches alone that it keeps in a long step: later GPUs lower their clocks under load, an A100 does not. */
const SUSTAINED = { a100: 1, later: 0.74 };

/** Shares of the peak that stand for those of a GPU whose kernels nobody measured: the least of those that were. */
const UNMEASURED = { wide: 0.76, narrow: 0.5, attention: 0.4 };

const KINDS: readonly { readonly row: GpuRow; readonly kind: GpuKind }[] = ROWS.map((row) => ({
  row,
  kind: kindOf(row),
}));

function kindOf({ name, memory, link, network, domain, tflops, reached }: GpuRow): GpuKind {
  const [[gib, bandwidth] = [0, 0]] = memory;
  return {
    name: name.toLowerCase(),
    memoryBytes: gib * GIB,
    memoryBytesPerSecond: bandwidth * GIGA,
    nvlinkBytesPerSecond: link * GIGA,
    networkBytesPerSecond: network === undefined ? null : network * GIGA,
    nvlinkDomain: domain ?? null,
    flops: scaled(tflops, TERA),
    products: scaled(
      reached ? { ...reached, fp32: UNMEASURED.wide * tflops.fp32, fp16: reached.bf16 } : unmeasured(tflops),
      TERA * (tflops === AMPERE ? SUSTAINED.a100 : SUSTAINED.later),
    ),
    attention: (reached?.attention ?? UNMEASURED.attention * tflops.bf16) * TERA,
    workspaceBytes: tflops === AMPERE ? WORKSPACE.a100 : WORKSPACE.later,
    isMeasured: reached !== undefined,
  };
}

type ByType = GpuKind['flops'];

function scaled({ fp32, bf16, fp16, fp8, fp4 }: ByType, unit: number): ByType {
  return { fp32: unit * fp32, bf16: unit * bf16, fp16: unit * fp16, fp8: unit * fp8, fp4: unit * fp4 };
}

function unmeasured(tflops: ByType): ByType {
  const narrow = tflops.fp4 > tflops.fp8 ? UNMEASURED.narrow : UNMEASURED.wide;
  return { ...scaled(tflops, UNMEASURED.wide), fp4: narrow * tflops.fp4 };
}

/** Stands for a GPU that the file does not name: its memory is estimated, its time is not. */
export const UNKNOWN_GPU: GpuKind = {
  ...kindOf({
    name: 'unknown',
    memory: [[0, 2039]],
    link: 300,
    network: 50,
    tflops: AMPERE,
    source: '',
  }),
  workspaceBytes: 90 * MIB,
};

/** The names of all GPUs, as their vendors write them. */
export const GPU_NAMES: readonly string[] = ROWS.map(({ name }) => name);

/** Forms of one GPU that are sold under its name. */
const FORMS = '(sxm\\d?|hgx|dgx|oam|nvl\\d*|pcie)?';

/**
 * The GPU of a name such as `H100`, `h100-80gb`, `NVIDIA H100 80GB HBM3` or `RTX4090`; undefined where the table lacks it.
 * A memory size in the name takes the place of the table's.
 */
export function gpuKind(name: string): GpuKind | undefined {
  const words = wordsOf(name);
  const found = KINDS.find(({ row }) =>
    words.some(
      (word) => row.also?.test(word) || new RegExp(`^${row.name.toLowerCase().replace(' ', '')}${FORMS}$`).test(word),
    ),
  );
  const size = words.map((word) => /^(\d{2,3})gi?b?$/.exec(word)?.[1]).find((gib) => gib !== undefined);
  if (!found || size === undefined) {
    return found?.kind;
  }
  const bandwidth = found.row.memory.find(([gib]) => gib === Number(size))?.[1];
  return {
    ...found.kind,
    memoryBytes: Number(size) * GIB,
    memoryBytesPerSecond: bandwidth === undefined ? found.kind.memoryBytesPerSecond : bandwidth * GIGA,
  };
}

/** How much of a name is read: it may be as long as the file. */
const MAX_NAME = 80;

/** The words of a name, and each with the one after it: `Gaudi 3` and `40 GB` are one word elsewhere. */
function wordsOf(name: string): string[] {
  const words = name
    .slice(0, MAX_NAME)
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  return [...words, ...words.map((word, i) => word + (words[i + 1] ?? ''))];
}

/** Whether a name is that of a TPU, which has no ranks of these groups and is not estimated. */
export const isTpu = (name: string): boolean =>
  wordsOf(name).some((word) => /^(tpu(v\d.*)?|trillium|ironwood)$/.test(word));

/** The three GPUs whose names are most like a name. */
export function nearestGpus(name: string): readonly string[] {
  const plain = (text: string) =>
    text
      .slice(0, MAX_NAME)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, '');
  const wanted = plain(name.replace(/nvidia|geforce|amd|instinct|intel|(?<!\d)\d+\s{0,2}gi?b?\b/gi, ''));
  return [...GPU_NAMES].sort((a, b) => distance(wanted, plain(a)) - distance(wanted, plain(b))).slice(0, 3);
}

/** The table of GPUs with their sources, in Markdown. */
export function gpusMarkdown(): string {
  const rows = ROWS.map(({ name, memory, link, network, domain, tflops, source, reached }) => {
    const sizes = memory.map(([gib, bandwidth]) => `${gib} at ${bandwidth}`).join(', ');
    const flops = [tflops.bf16, tflops.fp8, tflops.fp4].join(' / ');
    const share = reached ? 'yes' : 'no';
    return `| ${name} | ${sizes} | ${flops} | ${link}${domain ? ` (${domain} GPUs)` : ''} | ${network ?? 'unknown'} | ${share} | ${source} |`;
  });
  return `## GPUs

Names that \`cluster.gpu\` takes: dense operations, one direction of each link. A memory size in the name (\`A100-40GB\`) takes the place of
the first one listed. A GPU without measured runs is estimated by the table alone. Where the network card is unknown, the time of a job on
several nodes needs \`cluster.network_bandwidth\`.

| name | memory in GiB, at GB/s | TFLOPS of bf16 / fp8 / fp4 | link in GB/s | network card in GB/s | measured runs | source |
| --- | --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
}
