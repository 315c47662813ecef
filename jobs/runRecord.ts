import { createHash } from 'node:crypto';
import type { ResolvedLayout } from '../layout';
import type { GroupOperations, SmokeResult } from './smokeResult';
import { type KindOfGroups, kindsOf, type Speed } from './speeds';

/** The version of saved records; others are not read. */
export const RECORD_VERSION = 1;

/** The share by which a kind of group must be slower than before to be reported. */
const SLOWER = 0.1;

/** The subject of a run. */
export interface RunRequest {
  /** The document's address. */
  readonly uri: string;
  /** The layout's name, else its file's. */
  readonly name: string;
  readonly layoutHash: string;
  readonly cluster: string;
  /** The cluster's kind. */
  readonly kind: string;
  /** When it began, in ISO 8601. */
  readonly started: string;
  readonly world: number;
  /** Groups of more than one rank. */
  readonly allGroups: number;
}

/** A run by its name. */
export interface NamedRun {
  readonly id: string;
  readonly request: RunRequest;
}

/** A run that has ended, as the history keeps it; its size does not grow with the world. */
export interface RunRecord extends RunRequest, Omit<SmokeResult, 'groups'> {
  readonly version: typeof RECORD_VERSION;
  readonly id: string;
  readonly backend: string;
  readonly kinds: readonly KindOfGroups[];
}

/** The details of a run, whose size grows with the world: saved beside the record and read on demand. */
export interface RunDetail {
  readonly version: typeof RECORD_VERSION;
  readonly groups: readonly GroupOperations[];
  readonly log: readonly string[];
}

/** A hash of the resolved layout: comments and blank lines do not change it. */
export function layoutHash(layout: ResolvedLayout): string {
  return createHash('sha256').update(JSON.stringify(layout)).digest('hex').slice(0, 12);
}

/** The record of a run that has ended. */
export function recordOf(
  id: string,
  request: RunRequest,
  backend: string,
  { groups, ...result }: SmokeResult,
): RunRecord {
  return { ...request, ...result, version: RECORD_VERSION, id, backend, kinds: kindsOf(groups) };
}

/** A kind of group with an operation that became slower. */
export interface Slowdown {
  readonly kind: string;
  readonly module: string | null;
  readonly operation: string;
  /** GB/s. */
  readonly now: number;
  readonly before: number;
  /** When that was measured. */
  readonly since: string;
}

/**
 * The kinds of groups that are more than a tenth slower than in the last run on this cluster that measured the same. Runs on the
 * CPU are not compared.
 * @param earlier other runs, the newest first
 */
export function slowdowns(record: RunRecord, earlier: readonly RunRecord[]): Slowdown[] {
  if (record.backend !== 'nccl') {
    return [];
  }
  const comparable = earlier.filter(
    ({ cluster, backend, world, device, started }) =>
      started < record.started &&
      cluster === record.cluster &&
      backend === record.backend &&
      world === record.world &&
      device === record.device,
  );
  return record.kinds.flatMap((kind) =>
    kind.speeds.flatMap((speed) => {
      const last = lastOf(kind, speed, comparable);
      const { operation, busGBs: now } = speed;
      return last && now < last.before * (1 - SLOWER)
        ? [{ kind: kind.kind, module: kind.module, operation, now, ...last }]
        : [];
    }),
  );
}

function lastOf(
  { kind, module, groups, size }: KindOfGroups,
  { operation, bytes }: Speed,
  runs: readonly RunRecord[],
): Pick<Slowdown, 'before' | 'since'> | undefined {
  for (const { kinds, started } of runs) {
    const same = kinds.find(
      (one) => one.kind === kind && one.module === module && one.groups === groups && one.size === size,
    );
    const speed = same?.speeds.find((one) => one.operation === operation && one.bytes === bytes);
    if (speed) {
      return { before: speed.busGBs, since: started };
    }
  }
  return undefined;
}
