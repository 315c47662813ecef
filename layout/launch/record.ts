/** Export targets that are launch lines, and so can switch on recording. */
export const RECORDED_TARGETS = ['torchrun', 'sbatch', 'mimo-args'] as const;

type RecordedTarget = (typeof RECORDED_TARGETS)[number];

/** Whether a form is one of launch lines. */
export function isRecordedTarget(target: string): target is RecordedTarget {
  return (RECORDED_TARGETS as readonly string[]).includes(target);
}

/**
 * What `verify` reads of a run, switched on by the environment (torch/csrc/distributed/c10d/FlightRecorder.hpp and
 * ProcessGroupNCCL.hpp; torch before 2.9 knows the second name of each variable alone).
 */
const VARIABLES = `# What \`parallelism-layout verify\` reads goes to this folder, which all machines must share.
export RECORD_GROUPS="\${RECORD_GROUPS:-$PWD/run}"
mkdir -p "$RECORD_GROUPS"
export TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_TRACE_BUFFER_SIZE=2000
export TORCH_NCCL_DUMP_ON_TIMEOUT=1
export TORCH_FR_DUMP_TEMP_FILE="$RECORD_GROUPS/rank_" TORCH_NCCL_DEBUG_INFO_TEMP_FILE="$RECORD_GROUPS/rank_"
export NCCL_RAS_ENABLE=1
`;

/** The recorder (smoke/record_groups.py), which takes the program as its first argument. */
const RECORDER = 'record_groups.py';

/**
 * The lines that switch on Flight Recorder and NCCL RAS, and the program as it is started under the recorder; neither where the
 * run is not recorded.
 */
export function underRecorder(
  program: string,
  isRecorded: boolean,
): { readonly lines: string; readonly program: string } {
  return isRecorded ? { lines: VARIABLES, program: `${RECORDER} ${program}` } : { lines: '', program };
}
