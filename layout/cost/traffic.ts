import { type Collective, collectives } from './collectives';
import type { Sent } from './groupPlacement';
import type { CostJob } from './job';

/** Over which link bytes travel: inside an NVLink domain, or through the network. */
export type Tier = 'nvlink' | 'network';

/** What a rank sends over one kind of link for one purpose. */
export interface Traffic extends Pick<Collective, 'group' | 'carries' | 'collective'> {
  /** Bytes that the rank sends in one optimizer step. */
  readonly bytesPerStep: number;
  readonly timesPerStep: number;
  readonly tier: Tier;
}

/**
 * What travels in one optimizer step from a rank of the pipeline stage that sends most: the rows of the table of collectives, one
 * for each kind of link that they use.
 */
export function trafficOf(job: CostJob): Traffic[] {
  const rows = busiestStage(job);
  const traffic = new Map<string, Traffic>();
  for (const row of rows) {
    for (const [tier, bytes] of [
      ['nvlink', row.nvlinkBytes],
      ['network', row.networkBytes],
    ] as const) {
      const { group, carries, collective, timesPerStep } = row;
      const key = `${group} ${carries} ${collective} ${tier}`;
      const known = traffic.get(key);
      traffic.set(key, {
        group,
        carries,
        collective,
        tier,
        timesPerStep: timesPerStep + (known?.timesPerStep ?? 0),
        bytesPerStep: bytes * timesPerStep + (known?.bytesPerStep ?? 0),
      });
    }
  }
  return [...traffic.values()].filter(({ bytesPerStep }) => bytesPerStep > 0);
}

/** Bytes that one rank of a stage sends in a step. */
export function sentBytes(rows: readonly Collective[]): Sent {
  const sum = (bytes: (row: Collective) => number) =>
    rows.reduce((total, row) => total + bytes(row) * row.timesPerStep, 0);
  return { nvlinkBytes: sum((row) => row.nvlinkBytes), networkBytes: sum((row) => row.networkBytes) };
}

function busiestStage(job: CostJob): readonly Collective[] {
  const sent = (one: readonly Collective[]) => {
    const { nvlinkBytes, networkBytes } = sentBytes(one);
    return nvlinkBytes + networkBytes;
  };
  return collectives(job).reduce((most, one) => (sent(one) > sent(most) ? one : most), []);
}
