import { describe, expect, test } from 'vitest';
import { pickled } from '../../test/harness/pickleWriter';
import { readPickle, readPickleEnds } from './pickle';
import { Dict, type Value } from './value';

/** Bytes from text (Latin-1) and numbers. */
function bytes(...parts: readonly (string | number | readonly number[])[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => (typeof part === 'string' ? [...Buffer.from(part, 'latin1')] : part)));
}

const PROTO = [0x80, 2];

function plain(value: Value | undefined): unknown {
  if (value instanceof Dict) {
    return Object.fromEntries([...value.entries()].map(([key, item]) => [key, plain(item)]));
  }
  return Array.isArray(value) ? (value as readonly Value[]).map(plain) : value;
}

/** {'version': '2.10', 'ok': True, 'sizes': [[3], (1, 2)], 'ns': 2**40, 'x': 0.5, 'none': None} by CPython, protocol 2. */
const WHOLE = Buffer.from(
  '80027d710028580700000076657273696f6e71015804000000322e31307102580200000' +
    '06f6b710388580500000073697a657371045d7105285d71064b03614b014b02867107655802000000' +
    '6e7371088a0600000000000158010000007871094' +
    '73fe000000000000058040000006e6f6e65710a4e752e',
  'hex',
);

describe('readPickle', () => {
  test('reads plain values, memoized and not', () => {
    expect(plain(readPickle(WHOLE).value)).toEqual({
      version: '2.10',
      ok: true,
      sizes: [[3], [1, 2]],
      ns: 2 ** 40,
      x: 0.5,
      none: null,
    });
    expect(readPickle(WHOLE).problem).toBeNull();
  });

  test('recalls memoized values', () => {
    const pickle = bytes(PROTO, ']q', 0, '(X', [1, 0, 0, 0], 'aq', 1, 'h', 1, 'e.');
    expect(readPickle(pickle)).toEqual({ value: ['a', 'a'], problem: null });
  });

  test('reads protocol 4 and 5 with frames and short strings', () => {
    for (const version of [4, 5]) {
      const pickle = bytes([0x80, version, 0x95, 9, 0, 0, 0, 0, 0, 0, 0], [0x8c, 1], 'a', [0x94], '.');
      expect(readPickle(pickle)).toEqual({ value: 'a', problem: null });
    }
  });

  test('reads negative and wide integers', () => {
    expect(readPickle(bytes(PROTO, 'J', [255, 255, 255, 255], '.')).value).toBe(-1);
    expect(readPickle(bytes(PROTO, [0x8a, 1, 0xfe], '.')).value).toBe(-2);
    expect(readPickle(bytes(PROTO, [0x8a, 0], '.')).value).toBe(0);
  });

  test('refuses every opcode that dumps do not need, at its byte', () => {
    const allowed = new Set(')(.GJKMNX]aehjqrstu}'.split('').map((one) => one.charCodeAt(0)));
    for (const op of [0x80, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x8d, 0x94, 0x95]) {
      allowed.add(op);
    }
    for (let op = 0; op < 256; op++) {
      if (!allowed.has(op)) {
        const { value, problem } = readPickle(bytes(PROTO, op, 'os\nsystem\n(X', [1, 0, 0, 0], 'atR.'));
        expect(problem).toBe(`opcode 0x${op.toString(16).padStart(2, '0')} at byte 2 is not one that dumps hold`);
        expect(value).toBeUndefined();
      }
    }
  });

  test('refuses other protocols', () => {
    for (const version of [0, 1, 6, 255]) {
      expect(readPickle(bytes([0x80, version], 'N.')).problem).toContain(`protocol ${version}`);
    }
  });

  test.each([
    ['a text of 4 GB', bytes(PROTO, 'X', [255, 255, 255, 255])],
    ['a text of 2^63 bytes', bytes(PROTO, [0x8d, 255, 255, 255, 255, 255, 255, 255, 127])],
    ['an integer of 4 GB', bytes(PROTO, [0x8b, 255, 255, 255, 127])],
    ['a memo that jumps', bytes(PROTO, 'Nr', [255, 255, 255, 127], '.')],
    ['a value that was not memoized', bytes(PROTO, 'j', [0, 0, 0, 64], '.')],
    ['a frame that ends', bytes(PROTO, [0x95, 1])],
    ['items without a dict', bytes(PROTO, '](NNu.')],
    ['a list end without a list', bytes(PROTO, '}(Ne.')],
    ['a mark that was not set', bytes(PROTO, '}u.')],
    ['a key without a value', bytes(PROTO, '}(Nu.')],
    ['nothing to stop with', bytes(PROTO, '.')],
    ['a tuple of nothing', bytes(PROTO, [0x87], '.')],
    ['marks without end', bytes(PROTO, '('.repeat(100_000))],
  ])('refuses %s', (_, pickle) => {
    expect(readPickle(pickle).problem).not.toBeNull();
  });

  test('a value that is recalled a million times takes no memory of its own', () => {
    const nested = Array.from({ length: 30 }, (_, i) => bytes(']q', i + 1, '(', ...Array(50).fill([0x68, i]), 'e'));
    const bomb = Buffer.concat([bytes(PROTO, ']q', 0), ...nested, bytes('.')]);
    expect(readPickle(bomb).problem).toBeNull();
  });

  test('cut at any byte it gives what stands before, and says so', () => {
    for (let end = 0; end < WHOLE.length; end++) {
      const { value, problem } = readPickle(WHOLE.subarray(0, end));
      expect(problem).toBe(`ends at byte ${end}, before the dump does`);
      const whole = plain(readPickle(WHOLE).value) as Record<string, unknown>;
      for (const [key, item] of Object.entries((plain(value) as object | undefined) ?? {})) {
        expect(key === 'sizes' ? whole.sizes : item).toEqual(whole[key]);
      }
    }
  });
});

describe('readPickleEnds', () => {
  const entries = Array.from({ length: 3000 }, (_, i) => ({
    record_id: i,
    profiling_name: i === 2999 ? 'nccl:broadcast' : 'nccl:all_reduce',
    input_sizes: [[i]],
    state: 'completed',
  }));
  const dump = pickled({ version: '2.10', pg_config: { 1: { name: '1' } }, entries });

  test('gives the last entries as they are', () => {
    const found = plain(readPickleEnds(dump, 8192)?.value) as { version: string; entries: unknown[] };
    expect(found.version).toBe('2.10');
    expect(found.entries.length).toBeGreaterThan(100);
    expect(found.entries).toEqual(entries.slice(-found.entries.length));
  });

  test('gives nothing for what is small, cut or built in another way', () => {
    expect(readPickleEnds(WHOLE, 8192)).toBeNull();
    expect(readPickleEnds(dump.subarray(0, -1), 8192)).toBeNull();
    expect(readPickleEnds(Buffer.alloc(100_000, 'entries'), 8192)).toBeNull();
  });
});

test.each([
  ['lists', ']'],
  ['dicts', '}'],
  ['tuples', ')'],
  ['tuples in tuples', '\u0085'],
  ['values that no list takes', 'N'],
])('%s without number are read to a bound', (_, one) => {
  const { problem } = readPickle(
    Buffer.concat([Buffer.from(bytes(PROTO, ']')), Buffer.alloc(12 * 2 ** 20, one, 'latin1')]),
  );
  expect(problem).toMatch(/^holds more values at byte \d+ than any dump$/);
});
