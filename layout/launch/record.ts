/** A variable of the environment that decides what a run leaves for `verify`. */
export interface RecordingVariable {
  /** Its name, and the one that torch before 2.9 knows alone. */
  readonly names: readonly string[];
  /** What an export sets it to, as a shell reads it; left out where it need not be set. */
  readonly value?: string;
  /** What it means, in Markdown. */
  readonly meaning: string;
}

/**
 * All of them, in the order of an export: docs/verify.md lists them (torch/csrc/distributed/c10d/FlightRecorder.hpp and
 * ProcessGroupNCCL.hpp, NCCL's RAS, smoke/record_groups.py).
 */
export const RECORDING_VARIABLES: readonly RecordingVariable[] = [
  {
    names: ['RECORD_GROUPS'],
    value: `"\${RECORD_GROUPS:-$PWD/run}"`,
    meaning: "the folder of the recorder's files, `groups_rank_RANK.jsonl`; the working directory by default",
  },
  {
    names: ['TORCH_FR_BUFFER_SIZE', 'TORCH_NCCL_TRACE_BUFFER_SIZE'],
    value: '2000',
    meaning: 'how many operations each rank keeps; 0 records nothing. A dump of 2,000 takes about 1 MB',
  },
  {
    names: ['TORCH_NCCL_DUMP_ON_TIMEOUT'],
    value: '1',
    meaning: 'a rank that times out dumps, and asks all others through the store to dump, too',
  },
  {
    names: ['TORCH_FR_DUMP_TEMP_FILE', 'TORCH_NCCL_DEBUG_INFO_TEMP_FILE'],
    value: '"$RECORD_GROUPS/rank_"',
    meaning: 'where to: the rank follows, `rank_0`, `rank_1`, ... The folder must exist',
  },
  { names: ['NCCL_RAS_ENABLE'], value: '1', meaning: "NCCL's own service, on by default" },
  { names: ['NCCL_RAS_ADDR'], meaning: 'its address; port 28028 of each machine by default' },
  {
    names: ['TORCH_NCCL_DEBUG_INFO_PIPE_FILE'],
    meaning: 'dumps on request: each rank makes a named pipe, the value with its rank and `.pipe` behind it',
  },
];

/** What `verify` reads of a run, switched on for the lines that follow. */
export const RECORDING = [
  '# What `parallelism-layout verify` reads goes to this folder, which all machines must share.',
  ...RECORDING_VARIABLES.flatMap(({ names, value }) =>
    value === undefined ? [] : [`export ${names.map((name) => `${name}=${value}`).join(' ')}`],
  ),
  'mkdir -p "$RECORD_GROUPS"',
  '',
].join('\n');
