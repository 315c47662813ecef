import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Checked, GroupFamily } from '../../layout';

/** The error that Megatron-LM raised for a case. */
export interface GoldenError {
  readonly type: string;
  readonly message: string;
  /** `megatron`: an explicit check; `torch`, `python`, `argparse`: it merely fails there. */
  readonly origin: 'megatron' | 'torch' | 'python' | 'argparse';
  readonly where: string;
}

/** One case made by running Megatron-LM's own code. */
export interface GoldenCase<Input, Expect> {
  readonly id: string;
  readonly input: Input;
  readonly ok: boolean;
  readonly error: GoldenError | null;
  readonly expect: Expect;
}

const DATA = join(import.meta.dirname, 'data');

/** The text of a golden file. `tools/megatron` makes these files. */
export function goldenText(file: string): string {
  return readFileSync(join(DATA, file), 'utf8');
}

/** All cases of a kind. */
export function loadGolden<Input, Expect>(name: string): GoldenCase<Input, Expect>[] {
  return goldenText(`${name}.jsonl`)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as GoldenCase<Input, Expect>);
}

/** The text of a layout file with the given keys; undefined and null keys are left out. */
export function layoutText(layout: object): string {
  const lean = JSON.parse(JSON.stringify({ layout: 1, ...layout }, (_, value) => value ?? undefined)) as object;
  return stringify(lean);
}

/** The predictions of a file's diagnostics of severity `error`. */
export function predictions({ diagnostics }: Checked): (string | null)[] {
  return diagnostics.filter(({ severity }) => severity === 'error').map(({ predicts }) => predicts);
}

/** The groups of a name as the golden files write them. */
export function ranksOf(family: GroupFamily): number[][] {
  return Array.from({ length: family.count }, (_, index) => family.ranks(index));
}

/** The digest by which the golden files name long lists of groups. */
export function digest(lists: readonly (readonly number[])[]): string {
  return createHash('sha256').update(JSON.stringify(lists)).digest('hex');
}

/** The flags of examples/mimo/training/args.py. */
export interface MimoFlags {
  readonly world_size: number;
  readonly args: Readonly<Record<string, number | boolean | null>>;
}

/** The layout of a job that is launched with these flags: sizes come from `dp`. */
export function mimoFlagsText({ world_size, args }: MimoFlags, megatron?: string): string {
  const encoder = { tp: args.encoder_tp, dp: args.encoder_dp };
  const language = {
    rank_offset: args.llm_offset,
    tp: args.llm_tp,
    cp: args.llm_cp,
    pp: args.llm_pp,
    dp: args.llm_dp,
    ep: args.llm_ep,
    expt_tp: args.llm_expt_tp,
    num_weight_shards: args.tensor_parallel_num_weight_shards,
    expt_num_weight_shards: args.expert_tensor_parallel_num_weight_shards,
    model: args.num_experts ? { num_experts: args.num_experts } : null,
  };
  const modules = args.llm_only ? { language } : { images: encoder, language };
  return layoutText({ world_size, megatron, modules, batch: { micro_batch_size: args.micro_batch_size } });
}
