import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../test/harness/property';
import {
  activeSlots,
  conflictingSlots,
  firstUnlikeSlices,
  isSpare,
  packedFamilies,
  type ResolvedNtp,
  reducedSlices,
  reshardSplits,
  spareRanks,
  syncStates,
} from '..';

const TP = 4;
const CP = 3;
const DP = 5;
const SHAPE = { cp: CP, dp: DP };

const count = (n: number) => Array.from({ length: n }, (_, i) => i);
const index = (below: number) => fc.integer({ min: 0, max: below });

/** Settings of all kinds, also such as a rule refuses: slots outside, entries for replicas that do not exist. */
const settings: fc.Arbitrary<ResolvedNtp> = fc.record({
  tpBase: fc.constant(TP),
  tpSpares: fc.integer({ min: 1, max: TP - 1 }),
  numReducedTpDpRanks: fc.integer({ min: 1, max: DP + 1 }),
  nonActive: fc.option(
    fc.array(
      fc.record({
        dp: index(DP),
        cp: fc.option(index(CP)),
        pp: fc.constant(null),
        localRanks: fc.array(index(TP), { maxLength: 3 }),
      }),
      { maxLength: 6 },
    ),
  ),
  failedRanks: fc.constant([]),
  placement: fc.constant('nominal' as const),
});

describe('nonuniform TP without looking at every rank', () => {
  test('finds the slots of which groups hang', () => {
    fc.assert(
      fc.property(settings, (ntp) => {
        const slices = count(DP * CP).map((i) => syncStates(ntp, Math.floor(i / CP), i % CP));
        const conflicts = count(TP).filter((slot) => {
          const states = new Set(slices.map((states) => states[slot]));
          return states.has('syncing') && states.size > 1;
        });
        expect(conflictingSlots(ntp, SHAPE)).toEqual(conflicts);
      }),
      runs(200),
    );
  });

  test('finds slices that differ', () => {
    fc.assert(
      fc.property(settings, (ntp) => {
        const kept = (dp: number, cp: number) => activeSlots(ntp, dp, cp, 0).join();
        const named = [...new Set((ntp.nonActive ?? []).map(({ dp }) => dp))].filter(
          (dp) => dp < ntp.numReducedTpDpRanks,
        );
        const all = named.flatMap((dp) => count(CP).map((cp) => ({ dp, cp })));
        const odd = all.find(({ dp, cp }) => kept(dp, cp) !== kept(dp, 0));
        expect(firstUnlikeSlices(ntp, SHAPE)).toEqual(odd ?? null);
      }),
      runs(200),
    );
  });

  test('knows of every rank whether it leaves', () => {
    fc.assert(
      fc.property(settings, (ntp) => {
        const spares = [...reducedSlices(ntp, SHAPE)].flatMap(({ dp, cp, active }) =>
          count(TP).flatMap((slot) => (active.includes(slot) ? [] : [(dp * CP + cp) * TP + slot])),
        );
        expect(spareRanks(ntp, SHAPE)).toEqual(spares);
        expect(count(DP * CP * TP).filter((rank) => isSpare(ntp, SHAPE, rank))).toEqual(spares);
      }),
    );
  });
});

test('packed groups agree however they are asked for', () => {
  fc.assert(
    fc.property(settings, (ntp) => {
      const reduced = Math.min(ntp.numReducedTpDpRanks, DP);
      const launched = (DP * TP - reduced * ntp.tpSpares) * CP;
      for (const { name, count: groups, size, ranks, all, indicesOf } of packedFamilies(ntp, SHAPE)) {
        const lists = count(groups).map(ranks);
        expect(
          [...all()].map((list) => [...list]),
          name,
        ).toEqual(lists);
        expect(
          lists.flat().sort((a, b) => a - b),
          name,
        ).toEqual(count(launched));
        expect(Math.max(...lists.map(({ length }) => length)), name).toBe(size);
        for (const [i, list] of lists.entries()) {
          expect(list.map(indicesOf), name).toEqual(list.map(() => [i]));
        }
        expect(indicesOf(launched)).toEqual([]);
      }
    }),
  );
});

describe('reshard splits', () => {
  /** `ntp_map` step by step: chunks of units, from which the spares take one after another. */
  function folded(tpBase: number, tpSpares: number, units: number): number[][] | null {
    const reduced = tpBase - tpSpares;
    const chunk = Math.ceil(units / reduced);
    const left = count(reduced).map((i) => Math.min(chunk, units - i * chunk));
    const send = count(tpBase).map(() => count(tpBase).map(() => 0));
    let to = 0;
    for (let spare = reduced; spare < tpBase; spare++) {
      for (let i = 0; i < Math.floor(units / tpBase); i++) {
        const row = send[spare];
        const rest = left[to] ?? 0;
        if (!row || rest <= 0) {
          return null;
        }
        left[to] = rest - 1;
        row[to] = (row[to] ?? 0) + 1;
        to = (to + 1) % reduced;
      }
    }
    return left.every((rest, i) => rest > 0 || i * chunk < units) ? send : null;
  }

  test('equal the units taken one by one, and fail where one is missing', () => {
    for (let tpBase = 2; tpBase <= 18; tpBase++) {
      for (let tpSpares = 1; tpSpares < tpBase; tpSpares++) {
        for (let perRank = 1; perRank <= 12; perRank++) {
          const units = perRank * tpBase;
          const splits = reshardSplits(tpBase, tpSpares, units, perRank);
          expect(splits?.send ?? null, `${tpBase} ${tpSpares} ${units}`).toEqual(folded(tpBase, tpSpares, units));
        }
      }
    }
  });

  test('are had at once however many units there are', () => {
    const splits = reshardSplits(8, 2, 2 ** 40, 2 ** 37);
    expect(splits?.send[7]?.reduce((sum, units) => sum + units, 0)).toBe(2 ** 37);
  });
});
