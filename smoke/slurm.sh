#!/bin/bash
# The batch script of a smoke job under Slurm: the referee runs on the first node and starts the ranks through srun.
# No value is ever written into this text: they come as arguments, and the user's lines from setup.sh.
#   slurm.sh REFEREE_PYTHON PYTHON IMAGE MOUNTS SRUN_OPTION...
# It runs in the folder of the run, which holds plan.json, setup.sh and job/, and leaves events.jsonl and ended there.
run=$PWD
words=("$@")
# scripts that the user's lines read must not take these arguments for theirs
set --
. "$run/setup.sh"
set -u
set -- "${words[@]}"

referee=$1 python=$2 image=$3 mounts=$4
shift 4
case $referee in '~/'*) referee=$HOME/${referee#'~/'} ;; esac
case $python in '~/'*) python=$HOME/${python#'~/'} ;; esac
if [ -n "$image" ]; then
  set -- "$@" "--container-image=$image" "--container-mounts=$run:$run${mounts:+,$mounts}"
fi
export PYTHONDONTWRITEBYTECODE=1
# a job on one node speaks with nobody else
bind=0.0.0.0
if [ "${SLURM_JOB_NUM_NODES:-}" = 1 ]; then bind=127.0.0.1; fi

# a signal to the job reaches the referee as well, which ends the ranks and writes the last event: wait for it
trap : TERM INT
"$referee" "$run/job/smoke_job.py" referee --job "$SLURM_JOB_ID" --bind "$bind" --plan "$run/plan.json" -- \
  srun "$@" "$python" "$run/job/smoke_job.py" rank --plan "$run/plan.json" >"$run/events.jsonl"
status=$?
echo "$status" >"$run/ended"
exit "$status"
