/** The operation that has timed out: `WorkNCCL(SeqNum=4, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, ...)`. */
export interface TimedOut {
  readonly kind: 'timed-out';
  readonly groupRank: number;
  /** Null before torch 2.0. */
  readonly seq: number | null;
  /** torch's name in a dump, such as `all_reduce`. */
  readonly op: string;
  /** Elements of all inputs and outputs; -1 for unknown, as before torch 2.1. */
  readonly input: number;
  readonly output: number;
}

/** How far a rank is in a group; `seq` is the operation at fault, null where the line names none. */
export interface GroupStatus {
  readonly kind: 'status';
  /**
   * torch's name of the group, the same on all its members; null where the line has none. torch 2.3 prints a number that counts
   * the groups of one process: it is a name only where it is 0, that of the default group.
   */
  readonly name: string | null;
  readonly desc: string | null;
  /** The rank inside the group. */
  readonly groupRank: number;
  readonly seq: number | null;
  /** The last operation that the rank has enqueued. */
  readonly enqueued: number;
}

/** A rank that waits for the id of a communicator, which another rank has not put into the store. */
export interface SetUp {
  readonly kind: 'set-up';
  readonly name: string | null;
  readonly groupRank: number;
  /** The rank inside the group that makes the id. */
  readonly from: number;
  /** Whether it has waited in vain, rather than lost the connection to the store. */
  readonly waited: boolean;
}

/** What a line of the watchdog tells; at the least, that the rank's process runs. */
export type WatchdogLine = TimedOut | GroupStatus | SetUp | { readonly kind: 'alive' };

/*
 * The forms of torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp. The prefix of the group: 2.0 to 2.2 `[Rank 1]`, 2.3 `[PG 3 Rank 1]`,
 * 2.4 `[PG 3 (desc) Rank 1]`, from 2.5 on `[PG ID 3 PG GUID 8(desc) Rank 1]`. The status: 2.2 and 2.3 `Timeout at NCCL work`, 2.4 and 2.5
 * `Exception (either an error or timeout) detected by watchdog at work`, 2.6 `Work timeout is detected by watchdog at work`, from
 * 2.7 on `failure detected by watchdog at work sequence id: 4 PG status: last enqueued work: 4, last completed work: 3`.
 */
const GROUP = /\[(?:PG (ID \d{1,9} PG GUID )?([^\s()[\]]{1,64}) ?(?:\(([^()[\]]{0,128})\))? )?Rank (\d{1,7})\]/;
const TIMED_OUT =
  /\[Rank (\d{1,7})\] {1,2}(?:Watchdog caught collective operation timeout: |Collective )WorkNCCL\((?:SeqNum=(\d{1,15}), )?OpType=(\w{1,40})(?:, TensorShape=\[[\d, ]{0,200}\])?(?:, NumelIn=(\d{1,15}))?(?:, NumelOut=(\d{1,15}))?/;
const STATUS =
  /(?:Timeout at NCCL work: |detected by watchdog at work(?: sequence id)?: )(\d{1,20})[., ].{0,40}?last enqueued(?: NCCL)? work: (-?\d{1,20}), last completed(?: NCCL)? work: -?\d/;
const DUMPING = /Last enqueued NCCL work: (-?\d{1,20}), last completed NCCL work: -?\d/;
const SET_UP =
  /\[(\d{1,7})\] is setting up NCCL communicator and retr(?:ie|ei)ving ncclUniqueId from \[(\d{1,7})\] via c10d key-value store by key '([^']{0,64})', but (.{0,600})/;
/** The key in the store: `default_pg/0//cuda//KEY`, for other groups `default_pg/0//GROUP//cuda//KEY`; `default_pg/0/KEY` before. */
const STORE_KEY = /default_pg\/([^\s/]{1,64})\/(?:\/([^\s/]{1,64})\/\/[a-z]{2,16}\/\/)?/;
/** What only a process prints that runs. */
const ALIVE =
  /ProcessGroupNCCL\.cpp:\d|flight recorder dump signal|Received a (?:dump signal|global timeout|timeout signal)|preparing to dump debug info|Heartbeat monitor timed out/;

/** torch's names of operations in logs (`OpType`, torch/csrc/distributed/c10d/Work.cpp) and in dumps. */
const OPERATIONS: Readonly<Record<string, string>> = {
  ALLREDUCE: 'all_reduce',
  ALLREDUCE_COALESCED: 'allreduce_coalesced',
  ALLGATHER: 'all_gather',
  _ALLGATHER_BASE: '_all_gather_base',
  ALLGATHER_BASE: '_all_gather_base',
  ALLGATHER_COALESCED: 'all_gather_into_tensor_coalesced',
  REDUCE_SCATTER: 'reduce_scatter',
  _REDUCE_SCATTER_BASE: '_reduce_scatter_base',
  ALLTOALL_BASE: 'all_to_all',
  ALLTOALL: 'all_to_all',
  BROADCAST: 'broadcast',
  REDUCE: 'reduce',
  GATHER: 'gather',
  SCATTER: 'scatter',
  BARRIER: 'barrier',
  SEND: 'send',
  RECV: 'recv',
  COALESCED: 'coalesced',
};

/** Whether a line may be one of the watchdog or of the set-up of a communicator: a quick look before the expressions. */
function mayTell(text: string): boolean {
  return (
    text.includes('NCCL') ||
    text.includes('Watchdog') ||
    text.includes('watchdog') ||
    text.includes('dump') ||
    text.includes('ncclUniqueId')
  );
}

/** Reads a line of the watchdog, or of the set-up of a communicator; null for any other. */
export function watchdogLine(text: string): WatchdogLine | null {
  if (!mayTell(text)) {
    return null;
  }
  return timedOut(text) ?? setUp(text) ?? status(text) ?? (ALIVE.test(text) ? { kind: 'alive' } : null);
}

function timedOut(text: string): TimedOut | null {
  const [, groupRank, seq, op, input, output] = TIMED_OUT.exec(text) ?? [];
  return op === undefined
    ? null
    : {
        kind: 'timed-out',
        groupRank: Number(groupRank),
        seq: seq === undefined ? null : Number(seq),
        op: OPERATIONS[op] ?? op.toLowerCase(),
        input: input === undefined ? -1 : Number(input),
        output: output === undefined ? -1 : Number(output),
      };
}

function status(text: string): GroupStatus | null {
  const [, guid, number, desc, groupRank] = GROUP.exec(text) ?? [];
  const [, seq, atFault] = STATUS.exec(text) ?? [];
  const [, enqueued = atFault] = DUMPING.exec(text) ?? [];
  if (groupRank === undefined || enqueued === undefined) {
    return null;
  }
  // without a description, torch 2.3 and 2.4 print numbers that cannot be told apart
  const isName = guid !== undefined || desc !== undefined || number === '0';
  return {
    kind: 'status',
    name: isName ? (number ?? null) : null,
    desc: desc === undefined || desc === 'undefined' ? (number === '0' ? 'default_pg' : null) : desc,
    groupRank: Number(groupRank),
    seq: seq === undefined ? null : Number(seq),
    enqueued: plausible(enqueued),
  };
}

/** torch 2.3 prints a number that was never set: 76280750235782912. */
function plausible(digits: string): number {
  const value = Number(digits);
  return value >= -1 && value < 1e9 ? value : -1;
}

function setUp(text: string): SetUp | null {
  const [, own, first, key = '', error = ''] = SET_UP.exec(text) ?? [];
  if (own === undefined) {
    return null;
  }
  // a communicator of two ranks for transfers has the key `LOWER:HIGHER`; the lower one makes the id
  const pair = /^(\d{1,7}):(\d{1,7})$/.exec(key);
  const [, onlyGroup, group] = STORE_KEY.exec(error) ?? [];
  const from = pair && pair[2] === own ? Number(pair[1]) : Number(first);
  return {
    kind: 'set-up',
    name: group ?? onlyGroup ?? null,
    groupRank: Number(own),
    from,
    waited: /time-?d? ?out/i.test(error),
  };
}
