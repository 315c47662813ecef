import { countOf, type MeasuredRun } from '../../layout';
import { median } from '../../layout/median';
import { groupedBy } from '../collections';
import { milliseconds, rounded } from './texts';
import type { SlowRank } from './verification';

/** From which ratio and difference on a rank counts as slow: timers vary by some percent. Seconds. */
const SLOW = 1.1;
const LEAST = 1e-3;
/** How many peers must agree. */
const PEERS = 2;
/** In which share of the reports of `--log-straggler` a rank must be the slowest. */
const OFTEN = 0.5;
const MAX_SLOW = 64;

/** Timers in which a rank waits for others: there, the slow rank is the one that does not wait. */
const WAITS = /recv|send|sync|reduce|gather|barrier|forward-backward|interval/;

/**
 * The ranks that slow a run, according to the timers of all ranks (`--timing-log-option all`) and the reports of `--log-straggler`.
 * @param programOf the key of a rank's program: ranks of one pipeline stage run the same one
 */
export function slowRanks(
  { parts, stragglers, straggler_reports }: MeasuredRun,
  worldSize: number,
  programOf: (rank: number) => string,
  coordinatesOf: (rank: number) => SlowRank['coordinates'],
): SlowRank[] {
  const timed = parts.filter(({ name }) => !WAITS.test(name)).flatMap((part) => slowIn(part, worldSize, programOf));
  const reported = stragglers
    .filter(({ rank, reports }) => rank < worldSize && straggler_reports > 1 && reports / straggler_reports > OFTEN)
    .map(({ rank, reports, tflops, fastest_tflops }) => ({
      rank,
      part: 'matrix products',
      ratio: rounded(fastest_tflops / tflops),
      because: `It was the slowest in ${reports} of ${countOf(straggler_reports, 'report')}: ${tflops.toFixed(1)} TFLOP/s, where the fastest rank has ${fastest_tflops.toFixed(1)}.`,
    }))
    .filter(({ ratio }) => ratio >= SLOW);
  return [...timed, ...reported]
    .sort((a, b) => b.ratio - a.ratio || a.rank - b.rank)
    .slice(0, MAX_SLOW)
    .map((one) => ({ ...one, coordinates: coordinatesOf(one.rank) }));
}

/** The ranks that are slow in one part. */
function slowIn(
  { name, by_rank }: MeasuredRun['parts'][number],
  worldSize: number,
  programOf: (rank: number) => string,
): Omit<SlowRank, 'coordinates'>[] {
  const times = Object.entries(by_rank)
    .map(([rank, time]) => ({ rank: Number(rank), time }))
    .filter(({ rank }) => rank < worldSize);
  return [...groupedBy(times, ({ rank }) => programOf(rank)).values()].flatMap((peers) => {
    const usual = median(peers.map(({ time }) => time)) ?? 0;
    return peers.length <= PEERS
      ? []
      : peers
          .filter(({ time }) => time >= usual * SLOW && time - usual >= LEAST)
          .map(({ rank, time }) => ({
            rank,
            part: name,
            ratio: rounded(time / usual),
            because: `${name} takes ${milliseconds(time)}; ${countOf(peers.length - 1, 'rank')} with the same program take ${milliseconds(usual)}.`,
          }));
  });
}
