import { getOrInsert } from '../collections';
import { readJson } from './jsonText';
import { dictOf, intOf, listOf, textOf, type Value } from './value';

/** One process of a communicator, according to NCCL's RAS subsystem. */
export interface RasMember {
  /** The rank inside the communicator. */
  readonly commRank: number;
  readonly host: string;
  readonly pid: number;
  /** The CUDA device of the process. */
  readonly gpu: number | null;
  /** Operations launched, by NCCL's name; null for a process that does not answer RAS. */
  readonly counts: ReadonlyMap<string, number> | null;
}

interface RasCommunicator {
  /** The number of ranks of the communicator, also of unknown ones; null in text answers. */
  readonly size: number | null;
  readonly members: readonly RasMember[];
}

/** An answer of RAS (NCCL src/ras/client_support.cc). */
export interface RasAnswer {
  readonly communicators: readonly RasCommunicator[];
  /** Why a part is missing; null for a whole answer. */
  readonly problem: string | null;
}

/** Whether a text is an answer of RAS: JSON, or the report of `ncclras`, perhaps after protocol lines. */
export function looksLikeRas(text: string): boolean {
  return /^(?:SERVER PROTOCOL \d+\s+OK\s+)?(?:\{\s*"nccl_version"|NCCL version [^\n]*compiled with)/.test(
    text.trimStart(),
  );
}

export function readRas(text: string): RasAnswer {
  const start = text.indexOf('{');
  const json = start >= 0 && text.slice(start).match(/^\{\s*"nccl_version"/) ? text.slice(start) : null;
  return json === null ? { communicators: textCommunicators(text), problem: null } : fromJson(json);
}

function fromJson(text: string): RasAnswer {
  // NCCL 2.28 omits a comma in missing ranks
  const { value, problem } = readJson(text.replaceAll(/("nvml_dev": -?\d+)(\s+"status")/g, '$1,$2'));
  const communicators = listOf(dictOf(value)?.get('communicators')).flatMap((item) => {
    const dict = dictOf(item);
    return dict && textOf(dict.get('hash')) !== undefined
      ? [
          {
            size: intOf(dict.get('size')) ?? null,
            members: [
              ...listOf(dict.get('ranks')).flatMap((rank) => jsonMember(rank, false)),
              ...listOf(dict.get('missing_ranks')).flatMap((rank) => jsonMember(rank, true)),
            ],
          },
        ]
      : [];
  });
  return { communicators, problem };
}

function jsonMember(value: Value, missing: boolean): RasMember[] {
  const dict = dictOf(value);
  const commRank = intOf(dict?.get('rank'));
  const pid = intOf(dict?.get('pid'));
  if (!dict || commRank === undefined || pid === undefined) {
    return [];
  }
  const counts = dictOf(dict.get('collective_counts'))?.entries() ?? [];
  return [
    {
      commRank,
      pid,
      host: textOf(dict.get('host')) ?? '',
      gpu: intOf(dict.get('cuda_dev')) ?? null,
      counts: missing ? null : new Map(Array.from(counts, ([name, count]) => [name, intOf(count) ?? 0])),
    },
  ];
}

const HEAD = /^#\S+ \(([0-9a-f]+)\) (\w+)/;
const RANK = /^\s+Rank (\d{1,9})(.*?)(?: -- GPUs? ([\d,]+) managed by process (\d+) on node (\S+))?$/;
const LAUNCHED = /have launched up to operation (\d+)/;
const NOT_LAUNCHED = /have not launched any operations/;
const KIND = /different (\w+) operation counts/;

/** The members in a text report, which omits those that agree where there are many. */
function textCommunicators(text: string): RasCommunicator[] {
  const found = new Map<string, Map<number, RasMember>>();
  let members: Map<number, RasMember> | undefined;
  let section = { missing: false, kind: 'operation', count: 0 };
  for (const [line] of text.matchAll(/[^\n]+/g)) {
    const [, hash, title] = HEAD.exec(line) ?? [];
    if (hash !== undefined) {
      members = getOrInsert(found, hash, () => new Map());
      section = { missing: title === 'INCOMPLETE', kind: 'operation', count: 0 };
      continue;
    }
    const kind = KIND.exec(line)?.[1];
    const launched = NOT_LAUNCHED.test(line) ? 0 : LAUNCHED.exec(line)?.[1];
    section = {
      ...section,
      kind: kind ?? section.kind,
      count: launched === undefined ? section.count : Number(launched),
    };
    const member = members && textMember(line, section);
    if (member) {
      members?.set(member.commRank, member);
    }
  }
  return [...found.values()].map((byRank) => ({ size: null, members: [...byRank.values()] }));
}

function textMember(
  line: string,
  { missing, kind, count }: { missing: boolean; kind: string; count: number },
): RasMember | undefined {
  const [whole, commRank, said, gpu, pid, host] = RANK.exec(line) ?? [];
  if (whole === undefined || pid === undefined) {
    return undefined;
  }
  const own = /has launched up to operation (\d+)/.exec(said ?? '')?.[1];
  return {
    commRank: Number(commRank),
    pid: Number(pid),
    host: host ?? '',
    gpu: gpu === undefined || gpu.includes(',') ? null : Number(gpu),
    counts: missing ? null : new Map([[kind, own === undefined ? count : Number(own)]]),
  };
}
