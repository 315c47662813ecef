import { pythonText, shellWord, yamlText } from '../escape';
import type { KeyPath } from '../format/keys';
import type { Engine } from '../frameworks/framework';
import { needsOneQueue } from '../topology/deviceQueues';
import { type OptionRow, writtenRows } from './optionRows';
import { RECORDING } from './record';
import type { FactValue } from './value';
import { effectiveValue, type LayoutValues, worldOf } from './writtenValues';

/** What the settings of a cluster add to the lines that start a job; a form that has no place for them ignores them. */
export interface LauncherSettings {
  /** Options of sbatch, such as `--partition=gpu`; left out where no cluster is chosen. */
  readonly sbatch?: readonly string[];
  /** GPUs to ask for on each node, 0 for none; left out, one for each rank. */
  readonly gpusPerNode?: number;
  /** Where Slurm puts a number of ranks; left out, on the layout's nodes, which hold `perNode` each. */
  readonly shape?: (ranks: number, perNode: number) => { readonly nodes: number; readonly ranksPerNode: number };
  /** Options of the srun that starts the ranks. */
  readonly srun?: readonly string[];
  /** Lines of bash that run before the ranks start. */
  readonly setup?: readonly string[];
  /** The ranks' interpreter. */
  readonly python?: string;
  /** Whether Flight Recorder and NCCL RAS are on, and the program runs under the recorder (smoke/record_groups.py). */
  readonly record?: boolean;
}

/** The nodes of a world. */
export interface Nodes {
  readonly nodes: number;
  readonly perNode: number;
}

/** Nodes and GPUs a node; a world alone is one row of nodes with 8 GPUs where that divides it, and one node otherwise. */
export function nodesOf(values: LayoutValues): Nodes | null {
  const keys = ['cluster.nodes', 'cluster.gpus_per_node'] as const;
  const [nodes, each] = keys.map((key) => values.get(key)?.value);
  const world = worldOf(values)?.value;
  if (typeof nodes === 'number' && typeof each === 'number') {
    // a rollout may have nodes of its own, beside those of the world
    const isPart = typeof world === 'number' && world < nodes * each && world % each === 0;
    const own = isPart ? world / each : nodes;
    return { nodes: own, perNode: each };
  }
  if (typeof world !== 'number') {
    return null;
  }
  return world > 8 && world % 8 === 0 ? { nodes: world / 8, perNode: 8 } : { nodes: 1, perNode: world };
}

/** One flag with its values, as words that are not yet quoted. */
export type Flag = readonly [flag: string, ...values: string[]];

/** The words of a flag as a shell reads them, whatever the layout holds. */
export function words(flag: Flag): string {
  return flag.map(shellWord).join(' ');
}

/** A type of numbers as PyTorch names it. */
function torchType(value: FactValue): FactValue {
  const names: Readonly<Record<string, string>> = { bf16: 'bfloat16', fp16: 'float16', fp32: 'float32' };
  return names[String(value)] ?? value;
}

/** Where the launchers of several nodes meet: a layout names no host, so the shell asks for it. */
const MEETING = `--rdzv-backend c10d --rdzv-endpoint "\${MASTER_ADDR:?the first node}:\${MASTER_PORT:-29500}" `;

/** Reads the values of a layout for one form, and records which were used. */
export class LayoutWriter {
  readonly used = new Set<KeyPath>();
  /** Where the exported form differs from the layout. */
  readonly notes: string[] = [];
  /** What trains in the exported form. */
  engine: Engine = 'megatron';

  constructor(
    readonly values: LayoutValues,
    readonly settings: LauncherSettings,
  ) {}

  /** The value that the layout writes. */
  written(key: KeyPath): FactValue | undefined {
    const value = this.values.get(key)?.value;
    if (value !== undefined) {
      this.used.add(key);
    }
    return value;
  }

  /** The value that the layout means, by default where it does not write it. */
  meant(key: KeyPath): FactValue | undefined {
    return this.written(key) ?? effectiveValue(this.values, key);
  }

  /** An option for a key that the layout writes; none where it does not. */
  renamed(key: KeyPath, option: string): (readonly [option: string, value: FactValue])[] {
    const value = this.written(key);
    return value === undefined ? [] : [[option, value]];
  }

  /** The options of a framework that the layout sets. */
  rows(rows: readonly OptionRow[]): (readonly [option: string, value: FactValue])[] {
    return writtenRows(rows).flatMap(([key, option, kind]) =>
      this.renamed(key, option).map(([name, value]) => [name, kind === 'type' ? torchType(value) : value] as const),
    );
  }

  /** Marks keys as used for which the form needs no option, as it derives them. */
  derives(...keys: readonly KeyPath[]): void {
    for (const key of keys) {
      this.written(key);
    }
  }

  /** The nodes of the world. Throws where the layout has none. */
  world(): Nodes {
    const cluster = this.cluster();
    if (!cluster) {
      throw new Error('The layout has no world: write world_size, or cluster.');
    }
    return cluster;
  }

  /** The nodes of the world; null where the layout has none. Marks the keys as used. */
  cluster(): Nodes | null {
    const found = nodesOf(this.values);
    const isWhole = found === null || found.nodes === (this.values.get('cluster.nodes')?.value ?? found.nodes);
    this.derives('world_size', ...(isWhole ? (['cluster.nodes', 'cluster.gpus_per_node'] as const) : []));
    return found;
  }

  /** Whether the layout writes something of a phase. */
  hasPhase(phase: string): boolean {
    return [...this.values.keys()].some((key) => key.startsWith(`phases.${phase}.`));
  }

  /** The names of the layout's modules. */
  modules(): string[] {
    return [...new Set([...this.values.keys()].flatMap((key) => /^modules\.([^.]+)\./.exec(key)?.[1] ?? []))];
  }

  /** @throws Error where the layout has modules */
  requireHomogeneous(form: string): void {
    if (this.modules().length > 0) {
      throw new Error(`A layout with modules has no form as ${form}. Use mimo-args or module-grid-spec.`);
    }
  }

  /** The variables that Megatron-LM reads, as lines of bash. */
  variables(): string[] {
    const domain = this.written('cluster.gpus_per_nvlink_domain');
    const queues = this.written('environment.CUDA_DEVICE_MAX_CONNECTIONS') ?? (this.needsOneQueue() ? 1 : undefined);
    return [
      ...(typeof domain === 'number' ? [`export NVLINK_DOMAIN_SIZE=${domain}`] : []),
      ...(typeof queues === 'number' ? [`export CUDA_DEVICE_MAX_CONNECTIONS=${queues}`] : []),
    ];
  }

  private needsOneQueue(): boolean {
    const [tp, cp] = [this.meant('parallelism.tp'), this.meant('parallelism.cp')].map(Number);
    const isFsdp = this.meant('fsdp.enabled') === true || this.meant('fsdp.torch_fsdp2') === true;
    const overlapsExperts = this.meant('moe.overlap_moe_expert_parallel_comm') === true;
    const gpu = String(this.values.get('cluster.gpu')?.value ?? '');
    return !isFsdp && needsOneQueue({ tp: tp ?? 1, cp: cp ?? 1, gpu, overlapsExperts });
  }

  /** The start of a command that starts the ranks of all nodes. */
  torchrun(program: string): string {
    const { nodes, perNode } = this.world();
    const recorder = this.settings.record ? 'record_groups.py ' : '';
    return `${this.settings.record ? RECORDING : ''}torchrun --nnodes ${nodes} --nproc-per-node ${perNode} ${nodes > 1 ? MEETING : ''}${recorder}${program}`;
  }

  /** A command with its flags, one a line. */
  command(start: string, flags: readonly Flag[]): string {
    return `${[start, ...flags.map(words)].join(' \\\n    ')}\n`;
  }

  /** A value as Python writes it; a string of JSON is one of Python too. */
  python(value: FactValue): string {
    return typeof value === 'number'
      ? String(value)
      : typeof value === 'boolean'
        ? value
          ? 'True'
          : 'False'
        : pythonText(String(value));
  }

  /** A YAML file of values at paths. */
  yaml(entries: readonly (readonly [path: string | readonly string[], value: FactValue])[]): string {
    const root = new Map<string, unknown>();
    for (const [path, value] of entries) {
      const parts = typeof path === 'string' ? path.split('.') : [...path];
      const name = parts.pop() ?? '';
      let map = root;
      for (const part of parts) {
        const inner = map.get(part);
        const next = inner instanceof Map ? inner : new Map<string, unknown>();
        map.set(part, next);
        map = next;
      }
      map.set(name, value);
    }
    return yamlText(root);
  }
}
