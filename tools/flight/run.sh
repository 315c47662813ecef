#!/usr/bin/env bash
# Runs every scenario of scenarios.json, several at a time, and leaves a folder each under OUT: dumps, RAS answers, the log.
# usage: MEGATRON=FOLDER run.sh OUT [JOBS_AT_A_TIME]
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out"
export TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 OMP_NUM_THREADS=1
export NCCL_RAS_ENABLE=1 NCCL_IB_DISABLE=1 NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_SOCKET_IFNAME=lo NCCL_NVLS_ENABLE=0 NCCL_MAX_NCHANNELS=1
one() {
  IFS='|' read -r index name world config <<<"$1"
  mkdir -p "$out/$name"
  export NCCL_RAS_ADDR="localhost:$((28100 + index))"
  export TORCH_FR_DUMP_TEMP_FILE="$out/$name/nccl_trace_rank_" TORCH_NCCL_DEBUG_INFO_TEMP_FILE="$out/$name/nccl_trace_rank_"
  setsid timeout -k 3 60 python3 -m torch.distributed.run --nproc-per-node "$world" --master-port $((29600 + index)) \
    "$here/job.py" "$config" "$out/$name" >"$out/$name/log.txt" 2>&1
  echo "$name: exit $?, $(ls "$out/$name" | grep -c trace_rank) dumps"
}
export -f one
export here out
python3 - "$here/scenarios.json" <<'PY' | xargs -d '\n' -P "${2:-6}" -I{} bash -c 'one "$1"' _ {}
import json, sys
for index, s in enumerate(json.load(open(sys.argv[1]))):
    print(index, s.pop("name"), s.pop("world"), json.dumps(s), sep="|")
PY
