import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { cli } from '../harness/commandLine';
import { runs } from '../harness/property';
import { nastyTexts } from './nastyTexts';

/** The command line on any words and any files: one of its exit statuses, no stack, nothing that a terminal obeys. */

const CLI = resolve('dist/cli.js');

const folder = mkdtempSync(join(tmpdir(), 'commands-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Heap of a command, in MiB, and the time that it may take for one file, in milliseconds. */
const HEAP = 512;
const TIME = 60_000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

const COMMANDS = ['check', 'groups', 'sequence', 'ntp', 'stages', 'estimate', 'plan', 'draw', 'import', 'explain'];

const SEEDS = [
  'layout: 1\nworld_size: 8\nparallelism: {tp: 2, pp: 2}\nsequence: {seq_length: 64}\n',
  'layout: 1\nworld_size: 8\nmodules:\n  language: {tp: 2, num_ranks: 4}\n  "\u001b[31m": {tp: 2, num_ranks: 4, rank_offset: 4}\n',
  'layout: 1\nworld_size: 64\nparallelism: {tp: 8}\nntp: {tp_base: 8, tp_spares: 2}\n',
  '#!/bin/bash\ntorchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2\n',
];

/** A layout or launch file with a few places changed. */
const spoilt = fc
  .tuple(
    fc.constantFrom(...SEEDS),
    fc.array(fc.tuple(fc.nat(200), fc.string({ unit: 'binary', maxLength: 3 })), { maxLength: 4 }),
  )
  .map(([text, edits]) =>
    edits.reduce((all, [at, more]) => all.slice(0, at % all.length) + more + all.slice((at % all.length) + 1), text),
  );

const words = fc.array(
  fc.oneof(
    fc.constantFrom(
      '--format',
      'json',
      'jsonl',
      'text',
      'sarif',
      'github',
      '--rank',
      '3',
      '--group',
      'tp',
      '--help',
      '-',
      '--',
      '--num-shards',
    ),
    fc.string({ unit: 'binary', maxLength: 12 }).filter((word) => !word.includes('\0')),
  ),
  { maxLength: 3 },
);

function call(arguments_: readonly string[], input: string, timeout = TIME) {
  const node = [`--max-old-space-size=${HEAP}`, CLI, ...arguments_];
  return spawnSync(process.execPath, node, { cwd: folder, input, encoding: 'utf8', maxBuffer: 2 ** 28, timeout });
}

function expectSound({ status, stdout, stderr }: Pick<ReturnType<typeof call>, 'status' | 'stdout' | 'stderr'>): void {
  expect([0, 1, 2], stderr.slice(-2000)).toContain(status);
  expect(stdout + stderr).not.toMatch(CONTROL);
  expect(stderr).not.toMatch(/^\s+at .*:\d+:\d+\)?$/m);
}

test('any words and any file', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...COMMANDS),
      words,
      fc.oneof(spoilt, fc.string({ unit: 'binary', maxLength: 400 })),
      (command, more, text) => {
        const file = join(folder, 'x.layout.yaml');
        writeFileSync(file, text);
        expectSound(call([command, ...more, file], text));
        expect(readdirSync(folder)).toEqual(['x.layout.yaml']);
      },
    ),
    runs(8),
  );
}, 600_000);

test('files made to break the checker, checked one after another', () => {
  const files = nastyTexts().map(([, text], i) => {
    const file = join(folder, `${i}.layout.yaml`);
    writeFileSync(file, text);
    return file;
  });
  expectSound(call(['check', ...files], '', 5 * TIME));
}, 600_000);

test.each(nastyTexts())(
  'the picture of %s',
  async (_, text) => {
    const file = join(folder, 'x.layout.yaml');
    writeFileSync(file, text);
    expectSound(await cli(folder, 'draw', file));
  },
  300_000,
);
