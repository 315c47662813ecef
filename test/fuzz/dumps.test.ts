import { expect, test } from 'vitest';
import { EvidenceReader } from '../../jobs/trace/sources';
import { verify } from '../../jobs/trace/verify';
import { computingTime } from '../harness/computing';
import { soundLayout } from '../harness/layouts';

/*
 * Dumps of strangers: each of these is small and would take hours or gigabytes if what it recalls were looked at again and again.
 */

/** Bytes from text (Latin-1), numbers, and other bytes. */
function bytes(...parts: readonly (string | number | readonly number[] | Uint8Array)[]): Buffer {
  return Buffer.concat(
    parts.map((part) =>
      typeof part === 'string'
        ? Buffer.from(part, 'latin1')
        : typeof part === 'number'
          ? Buffer.of(part)
          : Buffer.from(part),
    ),
  );
}

function uint32(value: number): Uint8Array {
  const four = Buffer.alloc(4);
  four.writeUInt32LE(value);
  return four;
}

const text = (value: string) => bytes('X', uint32(value.length), value);
const list = (count: number, item: Uint8Array) => bytes('](', Buffer.alloc(count * item.length, item), 'e');
const dict = (...items: readonly (readonly [string, Uint8Array])[]) =>
  bytes('}(', ...items.flatMap(([key, value]) => [text(key), value]), 'u');
/** A value that is memoized under a number, and how it is recalled. */
const kept = (number: number, value: Uint8Array) => bytes(value, 'q', number);
const recall = (number: number) => bytes('h', number);

const pickle = (root: Uint8Array) => bytes([0x80, 2], root, '.');

const checked = soundLayout('layout: 1\nworld_size: 4\nparallelism: {tp: 2}\n');

function read(dump: Uint8Array) {
  const reader = new EvidenceReader(1, { worldSize: 4, gpusPerNode: 8 });
  reader.dump('nccl_trace_rank_0', dump);
  return reader.evidence();
}

/** What is found in one dump of rank 0 of 4. */
function found(dump: Uint8Array) {
  return verify('run.layout.yaml', checked, read(dump));
}

const ENTRY: readonly (readonly [string, Uint8Array])[] = [
  ['record_id', bytes('K', 0)],
  ['pg_id', bytes('K', 1)],
  ['process_group', bytes(text('1'), text('TENSOR_MODEL_PARALLEL_GROUP'), 0x86)],
  ['collective_seq_id', bytes('K', 1)],
  ['profiling_name', text('nccl:all_reduce')],
  ['state', text('scheduled')],
];
const GROUP = dict(['name', text('1')], ['desc', text('TENSOR_MODEL_PARALLEL_GROUP')], ['ranks', text('[0, 1]')]);
const CONFIG = ['pg_config', dict(['1', GROUP])] as const;

test('entries by the hundred thousand that share thousands of sizes with dozens of dimensions', () => {
  const sizes = bytes('](', kept(0, list(32, bytes('K', 2))), Buffer.alloc(2 * 4095, recall(0)), 'e');
  const entry = dict(...ENTRY, ['input_sizes', sizes], ['output_sizes', list(4096, recall(0))]);
  const entries = bytes('](', kept(1, entry), Buffer.alloc(200_000, recall(1)), 'e');
  const run = found(pickle(dict(['version', text('2.10')], CONFIG, ['entries', entries])));
  expect(run.sources).toEqual([expect.objectContaining({ kind: 'flight-recorder', rank: 0 })]);
  expect(run.verdict).not.toBe('healthy');
});

test('groups without number that share one list of ranks', () => {
  const ranks = `[${Array.from({ length: 100_000 }, (_, rank) => rank).join(', ')}]`;
  const config = bytes(
    '}(',
    text('first'),
    kept(0, dict(['desc', text('TENSOR_MODEL_PARALLEL_GROUP')], ['ranks', text(ranks)])),
    ...Array.from({ length: 100_000 }, (_, i) => bytes(text(String(i)), recall(0))),
    'u',
  );
  const run = found(pickle(dict(['version', text('2.10')], ['pg_config', config], ['entries', list(0, bytes())])));
  expect(run.groups.different.length).toBe(1);
});

test('a dump in which everything is the same dict', () => {
  const root = bytes(
    '}q',
    0,
    '(',
    text('version'),
    text('2.10'),
    ...['pg_config', 'pg_status', 'entries', 'frames'].flatMap((key) => [text(key), recall(0)]),
    'u',
  );
  expect(found(pickle(root)).sources).toEqual([expect.objectContaining({ file: 'nccl_trace_rank_0' })]);
});

test('a dump that is cut at any byte is taken as far as it goes, and never as a healthy run', () => {
  const entries = bytes('](', dict(...ENTRY), dict(...ENTRY, ['input_sizes', list(1, list(1, bytes('K', 8)))]), 'e');
  const dump = pickle(dict(['version', text('2.10')], CONFIG, ['entries', entries]));
  for (let end = 0; end < dump.length; end++) {
    const run = found(dump.subarray(0, end));
    expect(run.verdict).not.toBe('healthy');
    expect(run.culprits.filter(({ confidence }) => confidence > 0.6)).toEqual([]);
    expect(run.sources).toEqual([expect.objectContaining({ ok: false })]);
  }
});

test('a dump with any byte replaced by another opcode is refused or read, and never breaks the reader', () => {
  const dump = pickle(dict(['version', text('2.10')], CONFIG, ['entries', list(3, dict(...ENTRY))]));
  for (let at = 0; at < dump.length; at++) {
    for (const opcode of 'cR(ehj\x93\x8b') {
      const hostile = Buffer.from(dump);
      hostile.write(opcode, at, 'latin1');
      // it throws nothing
      expect(read(hostile).files.length).toBe(1);
    }
  }
});

/** Dumps of up to 3 MB. Each was chosen to make a reader that is not linear in bytes run for minutes. */
const LARGE: Readonly<Record<string, () => Uint8Array>> = {
  'a dict that is filled one key at a time': () =>
    dict(['version', text('2.10')], CONFIG, ['entries', list(0, bytes())], ['x', bytes('}', filled(500_000))]),
  'a large dict that stands for every entry': () =>
    dict(
      ['version', text('2.10')],
      CONFIG,
      ['x', kept(1, bytes('}(', ...numbered(60_000), 'u'))],
      ['entries', list(200_000, recall(1))],
    ),
  'groups that share one list of 100,000 ranks': () =>
    dict(
      ['version', text('2.10')],
      ['x', kept(1, list(100_000, bytes('K', 1)))],
      [
        'pg_config',
        dict(
          ...Array.from({ length: 160 }, (_, i) => {
            const group = dict(
              ['name', text(String(i))],
              ['desc', text('TENSOR_MODEL_PARALLEL_GROUP')],
              ['ranks', recall(1)],
            );
            return [String(i), group] as const;
          }),
        ),
      ],
      ['entries', list(0, bytes())],
    ),
  'keys that are tuples of tuples of tuples': () =>
    dict(
      ['version', text('2.10')],
      CONFIG,
      [
        'pg_status',
        bytes('}(', 'K', 1, ...Array.from({ length: 60 }, (_, i) => [...doubled(10 + i)]).flat(), 'K', 1, 'u'),
      ],
      ['entries', list(3, dict(...ENTRY))],
    ),
  'batches that are closed again and again': () => {
    const send = dict(...P2P, ['profiling_name', text('nccl:send 0->1')], ['is_p2p', bytes(0x88)]);
    const close = dict(...P2P, ['profiling_name', text('nccl:coalesced')], ['is_p2p', bytes(0x88)]);
    const pair = bytes(recall(2), recall(3));
    return dict(
      ['version', text('2.10')],
      CONFIG,
      ['x', kept(2, send)],
      ['y', kept(3, close)],
      ['entries', bytes('](', Buffer.alloc(100_000, recall(2)), Buffer.alloc(400_000, pair), 'e')],
    );
  },
  'a million transfers that nobody receives': () => {
    const send = dict(...P2P, ['profiling_name', text('nccl:send 0->1')], ['is_p2p', bytes(0x88)]);
    return dict(['version', text('2.10')], CONFIG, ['x', kept(2, send)], ['entries', list(1_000_000, recall(2))]);
  },
};

const P2P = [
  ['record_id', bytes('K', 0)],
  ['pg_id', bytes('K', 1)],
  ['process_group', bytes(text('1'), text('TENSOR_MODEL_PARALLEL_GROUP'), 0x86)],
  ['p2p_seq_id', bytes('K', 1)],
  ['state', text('scheduled')],
] as const;

/** SETITEM by SETITEM. */
function filled(count: number): Uint8Array {
  return Buffer.alloc(count * 5, bytes('K', 1, 'K', 2, 's'));
}

function numbered(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => bytes('J', uint32(i), 'K', 0));
}

/** A pair of what lies on the stack, twice: put, recalled, and paired. */
function doubled(number: number): Uint8Array {
  return bytes('q', number, 'h', number, 0x86);
}

test.each(Object.keys(LARGE))('%s take time in proportion to their bytes', (name) => {
  const dump = pickle(LARGE[name]?.() ?? bytes());
  const started = computingTime();
  const run = found(dump);
  expect(computingTime() - started).toBeLessThan(10_000);
  expect(run.sources.length).toBe(1);
  expect(run.culprits.filter(({ confidence }) => confidence > 0.6)).toEqual([]);
});
