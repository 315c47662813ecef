#!/usr/bin/env bash
# Plays a plan on one GPU: MEGATRON=FOLDER run.sh PLAN.json OUT    FOLDER holds megatron/core
set -u
here=$(cd "$(dirname "$0")" && pwd)
plan=$1 out=$2
mkdir -p "$out"
export OMP_NUM_THREADS=1 MASTER_ADDR=127.0.0.1
# ranks that share a GPU talk over sockets
export NCCL_IB_DISABLE=1 NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_SOCKET_IFNAME=lo GLOO_SOCKET_IFNAME=lo
export NCCL_NVLS_ENABLE=0 NCCL_MAX_NCHANNELS=1 NCCL_RAS_ENABLE=0
port=29600 failed=0
for phase in save load; do
  for world in 4 8; do
    port=$((port + 1))
    pids=()
    for ((rank = 0; rank < world; rank++)); do
      RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$world MASTER_PORT=$port timeout -k 2 "${LIMIT:-240}" \
        python3 "$here/main.py" "$phase" "$plan" "$out" >"$out/$phase-$world-$rank.log" 2>&1 &
      pids+=($!)
    done
    for pid in "${pids[@]}"; do
      wait "$pid" || { echo "$phase with $world ranks failed: $out/$phase-$world-*.log" >&2; failed=1; }
    done
  done
done
exit $failed
