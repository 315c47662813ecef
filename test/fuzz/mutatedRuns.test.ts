import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readEvidence, type Verification, verify } from '../../jobs';
import { soundLayout } from '../harness/layouts';
import { Random } from '../harness/random';
import { SHARED } from '../harness/realRuns';

/*
 * Dumps and logs of real NCCL jobs with one planted fault, in which something is lost, cut, exchanged or damaged: no answer may
 * accuse another rank with confidence, or call a job that hangs healthy.
 */

const FOLDER = 'test/golden/data/flight/shared-gpu';
/** How many mutations are tried. */
const RUNS = 200 * Number(process.env.FUZZ_FACTOR ?? 1);
const CONFIDENT = 0.7;

const root = mkdtempSync(join(tmpdir(), 'mutated-'));
afterAll(() => rmSync(root, { recursive: true }));

type Files = Map<string, Buffer>;

/** A change to the files of a run. */
type Mutation = (files: Files, random: Random) => void;

const dumpsIn = (files: Files) => [...files.keys()].filter((name) => /(?:rank|manual)_\d+$/.test(name));
const logIn = (files: Files) => [...files.keys()].find((name) => name.endsWith('log.txt'));

/** Changes the lines of the log, where there is one. */
const onLog =
  (change: (lines: string[], random: Random) => string[]): Mutation =>
  (files, random) => {
    const name = logIn(files);
    const lines = name === undefined ? [] : (files.get(name)?.toString().split('\n') ?? []);
    if (name !== undefined) {
      files.set(name, Buffer.from(change(lines, random).join('\n')));
    }
  };

/** Changes the bytes of one dump, where there is one. */
const onDump =
  (change: (bytes: Buffer, random: Random) => Buffer | null): Mutation =>
  (files, random) => {
    const name = random.of([...dumpsIn(files), '']);
    const bytes = name === undefined ? undefined : files.get(name);
    const changed = bytes && change(bytes, random);
    if (name !== undefined && changed) {
      files.set(name, changed);
    } else if (name !== undefined) {
      files.delete(name);
    }
  };

const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'a dump is lost': onDump(() => null),
  'a dump is cut': onDump((bytes, random) => bytes.subarray(0, random.below(bytes.length))),
  'a byte of a dump differs': onDump((bytes, random) => {
    const changed = Buffer.from(bytes);
    changed[random.below(changed.length)] = random.below(256);
    return changed;
  }),
  'two dumps have each other’s names': (files, random) => {
    const [a, b] = [random.of([...dumpsIn(files), '']), random.of(dumpsIn(files))];
    const [first, second] = [files.get(a ?? ''), files.get(b ?? '')];
    if (a !== undefined && b !== undefined && first && second) {
      files.set(a, second);
      files.set(b, first);
    }
  },
  'a dump is empty': onDump(() => Buffer.alloc(0)),
  'all dumps are lost': (files) => {
    for (const name of dumpsIn(files)) {
      files.delete(name);
    }
  },
  'the log is lost': (files) => {
    files.delete(logIn(files) ?? '');
  },
  'the log is cut at both ends': onLog((lines, random) =>
    lines.slice(random.below(lines.length / 2), lines.length - random.below(lines.length / 2)),
  ),
  'lines of the log are lost': onLog((lines, random) => lines.filter(() => random.chance(0.7))),
  'lines of the log are interleaved': onLog((lines, random) =>
    lines
      .map((line, i) => [i + random.below(6), line] as const)
      .sort(([a], [b]) => a - b)
      .map(([, line]) => line),
  ),
  'lines of the log are joined': onLog((lines, random) => {
    const at = random.below(lines.length);
    return [...lines.slice(0, at), lines.slice(at, at + 3).join(''), ...lines.slice(at + 3)];
  }),
  'the log has the prefixes of srun': onLog((lines) => lines.map((line) => `0: ${line}`)),
  'the log has those of Ray': onLog((lines) => lines.map((line) => `(Worker pid=${line.length}, ip=10.0.0.1) ${line}`)),
  'the log holds a traceback of a sample': onLog((lines, random) => {
    const rank = random.below(4);
    const sample = ['Traceback (most recent call last):', '  File "a.py", line 1, in f', 'ValueError: from the data'];
    const training = Array.from({ length: 9 }, (_, i) => `[rank${rank}]: step ${i} loss 2.${i}`);
    return [...sample.map((line) => `[rank${rank}]: ${line}`), ...training, ...lines];
  }),
  'the job was cancelled in the end': onLog((lines) => [
    ...lines,
    'slurmstepd: error: *** STEP 17.0 ON node1 CANCELLED AT 2026-11-21T10:00:00 DUE TO TIME LIMIT ***',
    'srun: error: node1: tasks 0-7: Killed',
  ]),
};

function found(name: string, files: Files): Verification {
  const [world, parallelism] = SHARED[name] ?? [0, ''];
  const folder = join(root, 'run');
  mkdirSync(folder, { recursive: true });
  for (const [file, bytes] of files) {
    writeFileSync(join(folder, file), bytes);
  }
  const checked = soundLayout(
    `layout: 1\nworld_size: ${world}\nparallelism: {${parallelism}}\nmodel: {num_experts: 4}\n`,
  );
  const run = verify('run.layout.yaml', checked, readEvidence([folder], checked.resolved));
  rmSync(folder, { recursive: true });
  return run;
}

test('no mutation of a real run gets a confident wrong answer', () => {
  const wrong: string[] = [];
  const names = Object.keys(SHARED);
  for (let seed = 1; seed <= RUNS; seed++) {
    const random = new Random(seed);
    const name = random.of(names);
    const [, , verdict, planted] = SHARED[name] ?? [0, '', 'unknown', []];
    const files: Files = new Map(
      readdirSync(join(FOLDER, name)).map((file) => [file, readFileSync(join(FOLDER, name, file))]),
    );
    const mutations = Array.from({ length: 1 + random.below(3) }, () => random.of(Object.keys(MUTATIONS)));
    for (const mutation of mutations) {
      MUTATIONS[mutation]?.(files, random);
    }
    const run = found(name, files);
    const accused = run.culprits.filter((one) => one.confidence >= CONFIDENT && !planted.includes(one.rank));
    const claimed = run.verdict === 'healthy' && verdict !== 'healthy';
    if (accused.length > 0 || claimed) {
      wrong.push(`${seed} ${name} (${mutations.join(', ')}): ${run.verdict} ${JSON.stringify(accused)}`);
    }
  }
  expect(wrong).toEqual([]);
});
