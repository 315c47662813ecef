import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseEvent } from './events';

describe('an event', () => {
  interface EventSchema {
    readonly required: readonly string[];
    readonly properties: { readonly ev: { readonly const: string } };
  }
  const schema = JSON.parse(readFileSync('schemas/smoke-events.schema.json', 'utf8')) as { oneOf: EventSchema[] };
  const group = { group: 3, kind: 'tp', idx: 1, ranks: [2, 3] };
  const ops = { all_reduce: { bytes: 4, ms: 1, busGBs: 2 }, x: { skipped: 'no' } };
  const limits = { join: 1, import: 1, gate: 1, operation: 1, beat: 1, total: 1 };
  const whole: Record<string, Record<string, unknown>> = {
    start: { version: 1, job: 'local', world: 8, groups: 9, layout: 'x', wall: 1.5, limits },
    rank: { rank: 1, host: 'a', local: 1, pid: 7 },
    phase: { name: 'join', ok: true },
    group: { ok: true, ms: 1, ops, ...group },
    check: { name: 'ntp', ok: false, skipped: 'no' },
    fault: { code: 'op_timeout', exit: 15, msg: 'stuck', suspect: [3], host: 'a', ...group },
    end: { ok: false, verdict: 'op_timeout', exit: 15, secs: 3 },
  };
  test('of the check `bandwidth` tells of one group at one payload', () => {
    expect(parseEvent(JSON.stringify({ ev: 'check', t: 1, name: 'bandwidth', ok: true, ops, ...group }))).toEqual({
      ev: 'check',
      name: 'bandwidth',
      ok: true,
      measured: { ops: { all_reduce: ops.all_reduce }, skippedOps: { x: 'no' }, module: null, ...group },
    });
  });

  test('of the check `all_gather_overlap` tells the ratio', () => {
    const found = { ev: 'check', t: 1, name: 'all_gather_overlap', ok: true, ratio: 1.12, msg: 'faster', ...group };
    expect(parseEvent(JSON.stringify(found))).toMatchObject({ ok: true, ratio: 1.12, msg: 'faster' });
  });

  /** What the schema requires and no reader here needs. */
  const unread: Record<string, string[]> = { start: ['job', 'wall', 'limits'], rank: ['local'] };

  test.each(schema.oneOf.map(({ required, properties }) => ({ ev: properties.ev.const, required })))(
    '$ev is read, and refused without a field that it must have',
    ({ ev, required }) => {
      const event = { ev, t: 1, ...whole[ev] };
      expect(parseEvent(JSON.stringify(event))).toMatchObject({ ev });
      for (const key of required.filter((name) => !unread[ev]?.includes(name))) {
        expect(parseEvent(JSON.stringify({ ...event, [key]: undefined })), key).toBeNull();
        expect(parseEvent(JSON.stringify({ ...event, [key]: { wrong: 'type' } })), key).toBeNull();
      }
    },
  );

  test('names the culprits of a fault, whichever way the job names them', () => {
    const culprits = (fields: object) => parseEvent(JSON.stringify({ ev: 'fault', t: 1, ...whole.fault, ...fields }));
    expect(culprits({})).toMatchObject({ culprits: [3], group: 3, module: null, host: 'a' });
    expect(culprits({ suspect: undefined, missing: [1, 2] })).toMatchObject({ culprits: [1, 2] });
    expect(culprits({ suspect: undefined, rank: 5 })).toMatchObject({ culprits: [5] });
  });

  test.each(['', 'x', 'null', '[]', '{"ev":"other","t":1}'])('%j is none', (line) => {
    expect(parseEvent(line)).toBeNull();
  });
});
