import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { forgetLevels, levelsFor } from '../../cli/config';
import { ClusterError, LineSplitter, parseEvent, RunHistory, readEvidence, verify } from '../../jobs';
import { readClusterFile } from '../../jobs/clusterFile';
import { LogReader } from '../../jobs/kubernetes/logs';
import { isSuspended, lastEvent, readPods, uidOf } from '../../jobs/kubernetes/pods';
import { savedRuns } from '../../jobs/savedRuns';
import { FAMILIES, readLaunchFile } from '../../layout/launch';
import { soundLayout } from '../harness/layouts';
import { type Plain, pickled } from '../harness/pickleWriter';
import { runs } from '../harness/property';

/** Each reader of foreign bytes: whatever it gets, it gives a value or one of its own errors, in bounded time and memory. */

const folder = mkdtempSync(join(tmpdir(), 'readers-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Texts near what a reader expects: JSON and YAML of any shape, broken in places, or anything at all. */
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 2000 }),
  fc.json({ maxDepth: 8 }),
  fc
    .json({ maxDepth: 8 })
    .chain((text) =>
      fc
        .tuple(fc.nat(text.length), fc.string({ maxLength: 4 }))
        .map(([at, more]) => text.slice(0, at) + more + text.slice(at + 1)),
    ),
  fc.constantFrom(
    '['.repeat(100_000),
    '{"a":'.repeat(20_000),
    '9'.repeat(5000),
    '\u0000',
    '- '.repeat(20_000),
    '&a [*a]',
    '!!js/function x',
  ),
);

/** An event as the job may write it, with values of other types in some fields. */
const events = fc
  .record(
    {
      ev: fc.constantFrom('start', 'rank', 'phase', 'group', 'check', 'fault', 'end', 'x'),
      t: fc.oneof(fc.double(), fc.string()),
      ranks: fc.oneof(fc.array(fc.oneof(fc.integer(), fc.string())), fc.string()),
      ops: fc.anything({ maxDepth: 3 }),
      msg: fc.oneof(fc.string(), fc.integer()),
      ok: fc.oneof(fc.boolean(), fc.string()),
      suspect: fc.anything({ maxDepth: 2 }),
      stacks: fc.anything({ maxDepth: 2 }),
      limits: fc.anything({ maxDepth: 2 }),
      name: fc.oneof(fc.string(), fc.integer()),
      kind: fc.string(),
      idx: fc.oneof(fc.integer(), fc.string()),
      group: fc.oneof(fc.integer(), fc.string()),
      verdict: fc.string(),
      exit: fc.oneof(fc.integer(), fc.string()),
      secs: fc.oneof(fc.double(), fc.string()),
      code: fc.string(),
    },
    { requiredKeys: ['ev'] },
  )
  .map((event) => JSON.stringify(event, (_, value) => (typeof value === 'bigint' ? String(value) : value)));

describe('a reader of foreign bytes', () => {
  test('of events gives an event or nothing', () => {
    fc.assert(
      fc.property(fc.oneof(texts, events), (text) => {
        const event = parseEvent(text);
        expect(event === null || typeof event.ev === 'string').toBe(true);
      }),
      runs(500),
    );
  });

  test('of a log gives every line, in bounded pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 200 }), { maxLength: 20 }), (parts) => {
        const lines: string[] = [];
        const splitter = new LineSplitter((line) => lines.push(line));
        for (const part of parts) {
          splitter.feed(part);
        }
        splitter.end();
        expect(lines.join('')).toBe(parts.join('').replaceAll(/\r?\n/g, ''));
      }),
      runs(300),
    );
    let [longest, length] = [0, 0];
    const measure = (line: string) => {
      longest = Math.max(longest, line.length);
      length += line.length;
    };
    const splitter = new LineSplitter(measure);
    const reader = new LogReader();
    reader.connect();
    for (let i = 0; i < 64; i++) {
      splitter.feed('x'.repeat(2 ** 20));
      for (const line of reader.feed('x'.repeat(2 ** 20))) {
        measure(line);
      }
    }
    expect(longest).toBeLessThan(2 ** 21);
    expect(length).toBeGreaterThan(126 * 2 ** 20);
  });

  test('of kubectl gives what is there', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(Array.isArray(readPods(text) ?? [])).toBe(true);
        expect(['string', 'undefined']).toContain(typeof lastEvent(text, 'x'));
        expect(typeof isSuspended(text)).toBe('boolean');
        expect(['string', 'undefined']).toContain(typeof uidOf(text));
      }),
      runs(300),
    );
  });

  test('of cluster files refuses with the reason', () => {
    const path = join(folder, 'clusters.yaml');
    fc.assert(
      fc.property(
        fc.oneof(
          texts,
          texts.map((text) => `clusters: ${text}`),
        ),
        (text) => {
          writeFileSync(path, text);
          try {
            readClusterFile(path);
          } catch (error) {
            expect(error).toBeInstanceOf(ClusterError);
          }
        },
      ),
      runs(20),
    );
  });

  test('of remembered runs passes over what is none', () => {
    fc.assert(
      fc.property(texts, (text) => {
        writeFileSync(join(folder, 'run.json'), text);
        expect(savedRuns(folder)).toEqual([]);
      }),
      runs(150),
    );
  });

  test('of launch files of every family gives values or notes', () => {
    const names = ['run.sh', 'job.sbatch', 'conf.yaml', 'recipe.py', 'args.json', 'x.toml', 'log.txt'];
    fc.assert(
      fc.property(texts, fc.constantFrom(...names), fc.constantFrom(undefined, ...FAMILIES), (text, name, family) => {
        const { values, notes, problem } = readLaunchFile(`/x/${name}`, text, () => null, { family: family as never });
        expect(values.length + notes.length > 0 || problem !== null).toBe(true);
      }),
      runs(40),
    );
  });
});

describe('the files of a run', () => {
  const run = join(folder, 'run');
  mkdirSync(run);
  const checked = soundLayout('layout: 1\nworld_size: 8\nparallelism: {tp: 2, pp: 2}\n');
  const keys = fc.constantFrom(
    'entries',
    'pg_config',
    'pg_status',
    'state',
    'op',
    'ranks',
    'desc',
    '__proto__',
    'constructor',
    'toString',
  );
  const anything = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, -1, 0, 1, 2 ** 31 - 1, '', 'tp', '[0, 1]', '0', '__proto__'),
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(keys, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  })).value as fc.Arbitrary<Plain>;
  const dump = fc
    .record({
      version: fc.constant('2.9'),
      entries: anything,
      pg_config: anything,
      pg_status: anything,
      rank: anything,
    })
    .map((value): Plain => value);
  const ranks = fc.integer({ min: 0, max: 9 });
  const lines = fc
    .array(
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc
          .tuple(ranks, ranks)
          .map(
            ([rank, seq]) =>
              `[rank${rank}]:[E1 ProcessGroupNCCL.cpp:683] [PG ID 1 PG GUID 1(TENSOR_MODEL_PARALLEL_GROUP) Rank ${rank}] Exception (either an error or timeout) detected by watchdog at work sequence id: ${seq} PG status: last enqueued work: ${seq}, last completed work: ${seq - 1}`,
          ),
        ranks.map((rank) => `srun: error: node: task ${rank}: Killed`),
        fc.constantFrom(
          'Root Cause (first observed failure):',
          '  rank      : 9999999',
          '  exitcode  : -9 (pid: 1)',
          '#0 (0123) MISMATCH',
          '  Rank 0 -- GPU 0 managed by process 1 on node x',
        ),
      ),
      { maxLength: 20 },
    )
    .map((all) => Buffer.from(all.join('\n')));
  const json = fc.oneof(dump, anything).map((value) => Buffer.from(JSON.stringify(value)));
  const ras = anything.map((value) =>
    Buffer.from(JSON.stringify({ nccl_version: '2.28', communicators_count: 1, communicators: [value] })),
  );
  const recorder = anything.map((value) =>
    Buffer.from(`${JSON.stringify({ recorder: 1, rank: 0, world_size: 8 })}\n${JSON.stringify(value)}\n`),
  );
  const file = fc
    .tuple(
      fc.oneof(dump.map(pickled), anything.map(pickled), json, ras, recorder, lines, texts.map(Buffer.from)),
      fc.nat(),
      fc.nat(300),
    )
    .map(([bytes, at, value]) => {
      // every second file is broken somewhere
      if (value < 256 && value % 2 === 0 && bytes.length > 0) {
        bytes[at % bytes.length] = value;
      }
      return bytes;
    });

  test('give a verdict, whatever they hold', () => {
    fc.assert(
      fc.property(fc.array(file, { minLength: 1, maxLength: 3 }), (files) => {
        const paths = files.map((_, rank) => join(run, `dump_${rank}`));
        files.forEach((bytes, rank) => {
          writeFileSync(paths[rank] ?? '', bytes);
        });
        const evidence = readEvidence(paths, { worldSize: 4, gpusPerNode: 8 });
        expect(evidence.files.map(({ file }) => file)).toEqual(paths);
        const found = verify('x', checked, evidence);
        expect(JSON.stringify(found).length).toBeLessThan(2 ** 20);
        expect(found.culprits.every(({ rank }) => Number.isSafeInteger(rank) && rank >= 0)).toBe(true);
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
      runs(150),
    );
  });
});

test('a configuration is levels, or refused with the reason', () => {
  const project = join(folder, 'project');
  mkdirSync(project);
  const code = fc.constantFrom('dense-factorization', '__proto__', 'constructor', 'toString', 'rules');
  const level = fc.oneof(
    fc.constantFrom('off', 'warning', 'error', '__proto__', 'toString'),
    fc.anything({ maxDepth: 1 }),
  );
  const rules = fc
    .dictionary(code, level)
    .map((value) => `rules: ${JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one))}\n`);
  fc.assert(
    fc.property(
      fc.oneof(
        rules,
        texts,
        texts.map((text) => `rules: ${text}`),
      ),
      (text) => {
        writeFileSync(join(project, '.parallelism-layout.yaml'), text);
        forgetLevels();
        for (const value of levelsFor(join(project, 'x.layout.yaml')).values()) {
          expect(['off', 'information', 'warning', 'error']).toContain(value);
        }
        expect(Object.keys(Object.prototype)).toEqual([]);
      },
    ),
    runs(60),
  );
  process.exitCode = 0;
});

test('a history passes over what is no run', async () => {
  const history = join(folder, 'history');
  mkdirSync(history);
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      writeFileSync(join(history, 'x.run.json'), text);
      const read = new RunHistory(history);
      await read.load();
      expect(read.runs).toEqual([]);
    }),
    runs(60),
  );
});

/** Texts that a reader with a pattern of square cost, or with a list that doubles, would work on for hours. */
// biome-ignore-start lint/suspicious/noTemplateCurlyInString: expansions of a shell
describe('a launch file made to be slow or large is read', () => {
  const repeated = (part: string, length = 200_000) => part.repeat(Math.floor(length / part.length));
  const TRAIN = 'torchrun --nproc-per-node 8 pretrain_gpt.py ';
  const NINE = 'A=(1 2 3 4 5 6 7 8 9)\n';

  test.each([
    ['dashes', repeated('-')],
    ['a printed argument of spaces', `---- arguments ----\n${repeated(' ')}`],
    ['an sbatch option of digits', `#SBATCH --${repeated('0')}.\n${TRAIN}`],
    ['an sbatch option of spaces', `#SBATCH --a${repeated(' ')}.\n${TRAIN}`],
    ['a pattern of repetitions', `[[ ${repeated('a', 200)} =~ ^[a]*[a]*[a]*[a]*[a]*[a]*b$ ]] && X=1\n${TRAIN}`],
    ['a name of parallels', `${TRAIN}model.${repeated('parallel')}`],
    ['a script of runs', repeated('run_')],
    ['a path of environments', `source ./${repeated('setenv')}/\n`],
    ['a module path', `python ${repeated('/torchtitan/')} a`],
    [
      'an interpolation that never closes',
      `modules: {pre_trainer: {framework: megatron, overrides: {a: "${repeated('${a:')}"}}}`,
    ],
    ['an array that doubles', `A=(1)\n${repeated('A=("${A[@]}" "${A[@]}")\n', 3000)}${TRAIN}"\${A[@]}"`],
    ['an array that may double', `A=(1)\n${repeated('[ $Q ] && A=("${A[@]}" x "${A[@]}")\n', 3000)}${TRAIN}"\${A[@]}"`],
    [
      'an array a thousand times over',
      `${NINE}${repeated('A=(${A[@]} ${A[@]} ${A[@]} ${A[@]} ${A[@]} ${A[@]})\n', 300)}${TRAIN}${repeated('${A[@]} ')}`,
    ],
    [
      'an array in one word',
      `${NINE}A=(\${A[@]} \${A[@]} \${A[@]})\nB="${repeated('${A[@]}')}"\n${TRAIN}${repeated('${A[@]}')}`,
    ],
    ['pieces in one word', `X=1${repeated('${Q}1', 12_000)}\nY=$X${repeated('$X')}\n${TRAIN}$Y`],
    ['words of one variable', `X='${repeated('a ')}'\n${TRAIN}$X`],
    ['a sum', `X=$((${repeated('1+')}1))\n${TRAIN}--num-layers $X`],
    ['line breaks', `X='${repeated('\n')}x\n'\nY=$(echo "$X")\n${TRAIN}$Y`],
    ['an error a line', repeated('a: ]\n')],
    ['documents', repeated('---\na: 1\n')],
  ])('%s', (_, text) => {
    for (const name of ['x.sh', 'x.yaml', 'x.toml', 'x.log']) {
      const reading = readLaunchFile(`/x/${name}`, text, () => null);
      expect(reading.values.every(({ value }) => JSON.stringify(value).length < 2 ** 20)).toBe(true);
    }
  });
});
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: expansions of a shell
