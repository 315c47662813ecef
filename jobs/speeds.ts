import { groupedBy } from './collections';
import type { GroupOperations } from './smokeResult';

/** One operation of a kind of group, at one payload: the numbers of the slowest group, in bytes, ms and GB/s on the bus. */
export type Speed = GroupOperations['ops'][string] & { readonly operation: string };

/** All groups of one name in one module. */
export interface KindOfGroups {
  readonly kind: string;
  readonly module: string | null;
  /** Groups of more than one rank that passed. */
  readonly groups: number;
  /** Ranks in the largest of them. */
  readonly size: number;
  readonly speeds: readonly Speed[];
  /** Operations that the backend does not have. */
  readonly skipped: readonly string[];
}

/** The name of a kind of group: `tp`, or `tp of language`. */
export function nameOfKind({ kind, module }: Pick<KindOfGroups, 'kind' | 'module'>): string {
  return module === null ? kind : `${kind} of ${module}`;
}

/** Results by kind and module, in the order of creation. */
export function kindsOf(groups: readonly GroupOperations[]): KindOfGroups[] {
  const kinds = groupedBy(
    [...groups].sort((a, b) => a.group - b.group),
    nameOfKind,
  );
  return [...kinds.values()].flatMap((members) => {
    const [first] = members;
    return first
      ? [
          {
            kind: first.kind,
            module: first.module,
            groups: members.length,
            size: members.reduce((most, { ranks }) => Math.max(most, ranks.length), 0),
            speeds: Object.keys(first.ops).flatMap((operation) => slowest(operation, members)),
            skipped: Object.keys(first.skippedOps),
          },
        ]
      : [];
  });
}

function slowest(operation: string, members: readonly GroupOperations[]): Speed[] {
  const measured = members.flatMap(({ ops }) => ops[operation] ?? []);
  const [worst] = measured.sort((a, b) => a.busGBs - b.busGBs);
  return worst ? [{ operation, ...worst }] : [];
}

/** Whether the times of a run show the speed of groups: those of gloo on a CPU do not. */
export const measuresSpeed = (device: string): boolean => device !== 'CPU';

/** The result of an operation: its bandwidth, or `ok` on a CPU. */
export function speedText(gigabytes: number, device: string): string {
  return measuresSpeed(device) ? bandwidthText(gigabytes) : 'ok';
}

/** A bandwidth with its significant digits. */
export function bandwidthText(gigabytes: number): string {
  return gigabytes < 1
    ? `${Math.round(gigabytes * 1000)} MB/s`
    : `${gigabytes < 10 ? gigabytes.toPrecision(2) : gigabytes.toFixed(0)} GB/s`;
}

/** A payload, rounded: operations shorten it to equal parts, so that it is seldom a whole number. */
export function bytesText(bytes: number): string {
  const [unit, name] = bytes < 2 ** 20 ? [2 ** 10, 'KiB'] : [2 ** 20, 'MiB'];
  return `${Math.round(bytes / unit)} ${name}`;
}
