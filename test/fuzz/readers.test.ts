import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { ClusterError, LineSplitter, parseEvent } from '../../jobs';
import { readClusterFile } from '../../jobs/clusterFile';
import { LogReader } from '../../jobs/kubernetes/logs';
import { isSuspended, lastEvent, readPods, uidOf } from '../../jobs/kubernetes/pods';
import { savedRuns } from '../../jobs/savedRuns';
import { FAMILIES, readLaunchFile } from '../../layout/launch';
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
        const splitter = new LineSplitter();
        const lines = [...parts.flatMap((part) => [...splitter.feed(part)]), ...splitter.end()];
        expect(lines.join('')).toBe(parts.join('').replaceAll(/\r?\n/g, ''));
      }),
      runs(300),
    );
    const splitter = new LineSplitter();
    const reader = new LogReader();
    reader.connect();
    let [longest, length] = [0, 0];
    for (let i = 0; i < 64; i++) {
      for (const line of [...splitter.feed('x'.repeat(2 ** 20)), ...reader.feed('x'.repeat(2 ** 20))]) {
        longest = Math.max(longest, line.length);
        length += line.length;
      }
    }
    expect(longest).toBeLessThan(2 ** 21);
    expect(length).toBeGreaterThan(126 * 2 ** 20);
  });

  test('of kubectl gives what is there', () => {
    fc.assert(
      fc.property(texts, (text) => {
        readPods(text);
        lastEvent(text, 'x');
        isSuspended(text);
        uidOf(text);
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
        readLaunchFile(`/x/${name}`, text, () => null, { family: family as never });
      }),
      runs(40),
    );
  });
});
