import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type Checked, check, type GroupFamily } from '../../layout';

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

/** What Megatron-LM says of a case: it refuses it, in words that a rule must predict where the check is its own. */
export type Verdict = 'accepted' | 'refused' | { readonly words: string };

/** The verdict of an error; only the words of an explicit check count. */
export function verdictOf(error: GoldenError | null | undefined): Verdict {
  if (!error) {
    return 'accepted';
  }
  return error.origin === 'megatron' ? { words: error.message } : 'refused';
}

/** How the cases of a file become layouts, and what must hold for them. */
export interface Kind<Input, Expect> {
  /** Null where a layout cannot say what the case is about. */
  readonly text: (one: GoldenCase<Input, Expect>) => string | null;
  /** By default that of the error. */
  readonly verdict?: (one: GoldenCase<Input, Expect>, checked: Checked) => Verdict;
  /** Rules about what the recorded code does not look at: an accepted case may have their errors. */
  readonly beyond?: (one: GoldenCase<Input, Expect>) => readonly string[];
  /** What else holds for an accepted case. */
  readonly accepted?: (checked: Checked, one: GoldenCase<Input, Expect>) => void;
}

/** The training script only switches sequence parallelism off, so a warning predicts these words. */
const SWITCHED_OFF = 'Cannot use sequence parallelism without tensor parallelism';

/** Holds what the rules say of each case of a file against what Megatron-LM says of it. */
export function testLayouts<Input, Expect>(title: string, file: string, kind: Kind<Input, Expect>): void {
  const { verdict = ({ error }) => verdictOf(error), beyond = () => [], accepted } = kind;
  const cases = loadGolden<Input, Expect>(file).map((one) => ({ ...one, text: kind.text(one) }));
  describe(title, () => {
    test.each(cases.filter(({ text }) => text !== null))('$id', (one) => {
      const text = one.text ?? '';
      const checked = check(text);
      const expected = verdict(one, checked);
      if (expected === 'accepted') {
        const errors = checked.diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code);
        expect(
          errors.filter((code) => !beyond(one).includes(code)),
          text,
        ).toEqual([]);
        accepted?.(checked, one);
        return;
      }
      const isWarning = expected !== 'refused' && expected.words === SWITCHED_OFF;
      const found = isWarning ? checked.diagnostics.map(({ predicts }) => predicts) : predictions(checked);
      expect(found, text).not.toEqual([]);
      if (expected !== 'refused') {
        expect(found, text).toContain(expected.words);
      }
    });
  });
}

/** The groups of a name as the golden files write them. */
export function ranksOf(family: GroupFamily): number[][] {
  return Array.from({ length: family.count }, (_, index) => family.ranks(index));
}

/** Groups by name: inline, or as digests where the world is large. */
export interface GoldenGroups {
  readonly groups?: Readonly<Record<string, number[][]>> | undefined;
  readonly groups_sha256?: Readonly<Record<string, { readonly sha256: string }>> | undefined;
}

/** Compares the groups of a name with the recorded ones. */
export function expectGroups(name: string, lists: readonly number[][], { groups, groups_sha256 }: GoldenGroups): void {
  if (groups) {
    expect(lists, name).toEqual(groups[name]);
  } else {
    expect(createHash('sha256').update(JSON.stringify(lists)).digest('hex'), name).toBe(groups_sha256?.[name]?.sha256);
  }
}
