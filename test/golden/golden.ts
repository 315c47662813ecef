import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
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

const FULL = resolve('../shared/golden');
const COPY = resolve('test/golden/data');

/** All cases of a golden file: the full set where it lies beside the project, else the copy kept with the tests. */
export function loadGolden<Input, Expect>(name: string): GoldenCase<Input, Expect>[] {
  const full = join(FULL, `${name}.jsonl`);
  const path = existsSync(full) ? full : join(COPY, `${name}.jsonl`);
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as GoldenCase<Input, Expect>);
}

/** The text of a layout file with the given keys; undefined and null keys are left out. */
export function layoutText(layout: object): string {
  const lean = JSON.parse(JSON.stringify({ layout: 1, ...layout }, (_, value) => value ?? undefined)) as object;
  return stringify(lean);
}

/** The predictions of a file's findings of severity `error`. */
export function predictions({ findings }: Checked): (string | null)[] {
  return findings.filter(({ severity }) => severity === 'error').map(({ predicts }) => predicts);
}

/** The groups of a name as the golden files write them. */
export function ranksOf(family: GroupFamily): number[][] {
  return Array.from({ length: family.count }, (_, index) => family.ranks(index));
}

/** The digest by which the golden files name long lists of groups. */
export function digest(lists: readonly (readonly number[])[]): string {
  return createHash('sha256').update(JSON.stringify(lists)).digest('hex');
}
