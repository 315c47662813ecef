// How long `verify` takes for the dumps of 16,384 ranks with 2,000 entries each: `npm run bench:trace`. The dumps are made in memory, one
// after another, so that no disk is measured; the time to make them is not counted.
import { importSource } from '../scripts/source.mts';

const { check } = await importSource('layout/index.ts');
const { EvidenceReader } = await importSource('jobs/trace/sources.ts');
const { verify } = await importSource('jobs/trace/verify.ts');
const { pickled, Tuple } = await importSource('test/harness/pickleWriter.ts');

const RANKS = Number(process.env.RANKS ?? 16_384);
const ENTRIES = Number(process.env.ENTRIES ?? 2000);
const [TP, DP] = [8, RANKS / 8];
const SLEEPS = Math.floor(RANKS * 0.61);
const START = 1_795_299_293_000_000_000n;

const ranksOf = (kind, rank) =>
  kind === 'tp'
    ? Array.from({ length: TP }, (_, i) => rank - (rank % TP) + i)
    : Array.from({ length: DP }, (_, i) => (rank % TP) + i * TP);
const nameOf = (kind, rank) => String(100_000 + (kind === 'tp' ? Math.floor(rank / TP) : 50_000 + (rank % TP)));
const DESCRIPTIONS = { tp: 'TENSOR_MODEL_PARALLEL_GROUP', dp: 'DATA_PARALLEL_GROUP' };

/** A dump in which the last step waits for the rank that sleeps before its tp all-reduce. */
function dumpOf(rank) {
  const late = rank === SLEEPS;
  const inGroup = Math.floor(rank / TP) === Math.floor(SLEEPS / TP);
  const count = late ? ENTRIES - 2 : ENTRIES;
  const entries = Array.from({ length: count }, (_, i) => {
    const kind = i % 2 === 0 ? 'tp' : 'dp';
    const completed = i < ENTRIES - 2 || (i === ENTRIES - 2 && !inGroup);
    const time = START + BigInt(i) * 1000n;
    return {
      record_id: 900_000 + i,
      pg_id: kind === 'tp' ? 6 : 3,
      process_group: new Tuple([nameOf(kind, rank), DESCRIPTIONS[kind]]),
      thread_name: 'python',
      thread_id: '140543593312576',
      collective_seq_id: 450_001 + (i >> 1),
      p2p_seq_id: 0,
      op_id: 450_001 + (i >> 1),
      profiling_name: 'nccl:all_reduce',
      time_created_ns: time,
      input_sizes: [[65536]],
      input_dtypes: ['Float'],
      output_sizes: [[65536]],
      output_dtypes: ['Float'],
      state: completed ? 'completed' : 'scheduled',
      time_discovered_started_ns: null,
      time_discovered_completed_ns: completed ? time : null,
      retired: completed,
      timeout_ms: 600_000,
      is_p2p: false,
    };
  });
  const kinds = ['tp', 'dp'];
  return pickled({
    version: '2.10',
    pg_config: Object.fromEntries(
      kinds.map((kind) => [
        nameOf(kind, rank),
        { name: nameOf(kind, rank), desc: DESCRIPTIONS[kind], ranks: `[${ranksOf(kind, rank).join(', ')}]` },
      ]),
    ),
    comm_lib_version: '2.28.9',
    pg_status: {},
    entries,
  });
}

/** Dumps of one kind differ only in names and ranks, which stand in their first bytes: only those are made anew. */
const templates = new Map();
function bytesOf(rank) {
  const kind = rank === SLEEPS ? 'late' : Math.floor(rank / TP) === Math.floor(SLEEPS / TP) ? 'near' : 'far';
  if (kind === 'late') {
    return dumpOf(rank);
  }
  const template = templates.get(kind) ?? { rank, bytes: dumpOf(rank) };
  templates.set(kind, template);
  let bytes = template.bytes;
  for (const group of ['tp', 'dp']) {
    const text = (of) => `[${ranksOf(group, of).join(', ')}]`;
    bytes = replaced(bytes, nameOf(group, template.rank), nameOf(group, rank));
    bytes = replaced(bytes, text(template.rank), text(rank));
  }
  return bytes;
}

/** A memoized text stands once in a pickle, behind its length. */
function replaced(bytes, from, to) {
  const at = bytes.indexOf(from);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(to.length);
  return Buffer.concat([bytes.subarray(0, at - 4), length, Buffer.from(to), bytes.subarray(at + from.length)]);
}

const reader = new EvidenceReader(RANKS, { worldSize: RANKS, gpusPerNode: TP });
let size = 0;
let reading = 0;
let peak = 0;
for (let rank = 0; rank < RANKS; rank++) {
  const bytes = bytesOf(rank);
  size += bytes.length;
  const start = performance.now();
  reader.dump(`nccl_trace_rank_${rank}`, bytes);
  reading += performance.now() - start;
  if (rank % 512 === 0) {
    peak = Math.max(peak, process.memoryUsage.rss());
  }
}
const checked = check(`layout: 1\nworld_size: ${RANKS}\nparallelism: {tp: ${TP}}\n`);
const start = performance.now();
const found = verify('bench.layout.yaml', checked, reader.evidence());
const finding = performance.now() - start;
peak = Math.max(peak, process.memoryUsage.rss());

const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;
console.log(`${RANKS} ranks x ${ENTRIES} entries, ${(size / 2 ** 30).toFixed(2)} GiB of dumps`);
console.log(`read ${seconds(reading)}, found ${seconds(finding)}, together ${seconds(reading + finding)}`);
console.log(`largest resident set ${(peak / 2 ** 20).toFixed(0)} MiB`);
console.log(
  `verdict ${found.verdict}, culprits ${found.culprits.map(({ rank }) => rank)} (planted: ${SLEEPS}), ${found.victims.length} waiting`,
);
process.exitCode = found.culprits.length === 1 && found.culprits[0].rank === SLEEPS ? 0 : 1;
