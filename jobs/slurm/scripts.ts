/** The beginning of every script: Slurm in English, and with the PATH of a login shell if needed. */
const FIND_SLURM = `LC_ALL=C
export LC_ALL
command -v squeue >/dev/null 2>&1 || { [ -r /etc/profile ] && . /etc/profile >/dev/null 2>&1 </dev/null; }
command -v squeue >/dev/null 2>&1 || { echo 'Slurm (sbatch, squeue) is not on the PATH' >&2; exit 69; }
`;

/**
 * Writes the files of a run and submits its job, unless an earlier attempt has submitted it.
 * Words: the work directory, the run's folder in it, how many files, a name and a text for each, the command.
 * Prints the job and the folder's whole path, a line each.
 */
export const SUBMIT = `${FIND_SLURM}umask 077
work=$1
case $work in '~/'*) work=$HOME/\${work#'~/'} ;; esac
run=$2 files=$3
mkdir -p "$work/$run/job" && cd "$work/$run" || exit 73
shift 3
if [ ! -s submitted ]; then
  while [ "$files" -gt 0 ]; do
    printf %s "$2" >"$1" || exit 73
    shift 2
    files=$((files - 1))
  done
  # these would make it several jobs, or another command, of one; who pays and where it runs may be anybody's habit
  for name in $(env | sed -n 's/^\\(SBATCH_[A-Z0-9_]*\\)=.*/\\1/p'); do
    case $name in
      SBATCH_ACCOUNT | SBATCH_CONSTRAINT | SBATCH_PARTITION | SBATCH_QOS | SBATCH_RESERVATION) ;;
      *) unset "$name" ;;
    esac
  done
  job=$("$@" </dev/null) || {
    status=$?
    rm -rf "$work/$run"
    exit "$status"
  }
  printf '%s\\n' "$job" >submitted || exit 73
fi
tail -n 1 submitted
printf '%s\\n' "$PWD"
`;

/**
 * Follows a job to its end: the new bytes of its files, and its state according to squeue.
 * Words: the folder, the job, bytes of events and of log that are known, seconds between looks at the files and at squeue.
 * Prints frames: \`events N\` and \`log N\`, each before N bytes; \`state STATE|REASON|NODES\`; \`trouble TEXT\`; \`alive\`,
 * which finds out whether anybody listens; at last \`over\`.
 */
export const FOLLOW = `${FIND_SLURM}cd "$1" || { echo over; exit; }
job=$2 events=$3 log=$4 every=$5 poll=$6 due=0 over=
piece() {
  size=$(wc -c <"$2" 2>/dev/null) || size=0
  n=$((size - $3))
  if [ "$n" -le 0 ]; then n=0; return; fi
  if [ "$n" -gt 262144 ]; then n=262144; fi
  printf '%s %d\\n' "$1" "$n" && tail -c "+$(($3 + 1))" "$2" | head -c "$n" || exit
}
look() {
  said=$(squeue --noheader --states=all --jobs="$job" --format='%T|%r|%N' 2>&1)
  status=$?
  case $status$said in
    0?*) ;;
    0 | *'Invalid job id'*)
      # gone from the controller's memory: the accounts may know it, where there are any
      past=$(sacct --noheader --allocations --parsable2 --jobs="$job" --format=State,NodeList 2>/dev/null | head -n 1)
      said="\${past%%|*}|None|\${past#*|}"
      [ -n "$past" ] || said='UNKNOWN|None|'
      ;;
    *)
      printf 'trouble %s\\n' "$(printf %s "$said" | head -n 1)" || exit
      return
      ;;
  esac
  printf 'state %s\\n' "$(printf %s "$said" | head -n 1)" || exit
  case $said in
    BOOT_FAIL* | CANCELLED* | COMPLETED* | DEADLINE* | FAILED* | NODE_FAIL* | OUT_OF_MEMORY* | PREEMPTED* | REVOKED* | TIMEOUT* | UNKNOWN*) over=1 ;;
  esac
}
while :; do
  if [ -z "$over" ] && [ "$(date +%s)" -ge "$due" ]; then
    look
    due=$(($(date +%s) + poll))
  fi
  # a job that has passed needs no word of squeue: its last act is this file
  if [ -s ended ] && [ "$(cat ended)" = 0 ]; then over=1; fi
  piece events events.jsonl "$events"
  events=$((events + n)) more=$n
  piece log log "$log"
  log=$((log + n)) more=$((more + n))
  if [ "$more" -eq 0 ]; then
    if [ -n "$over" ]; then echo over; exit; fi
    echo alive || exit
    sleep "$every"
  fi
done
`;

/** Ends a job. Words: the job. */
export const CANCEL = `${FIND_SLURM}exec scancel "$1"
`;

/** Removes the folder of a run, and nothing else. Words: the folder. */
export const CLEAN = `case $1 in */smoke-*) rm -rf "$1" ;; esac
`;
