// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are shell scripts
import { expect, test } from 'vitest';
import { reasonText } from '../../value';
import { runScript } from './interpreter';
import { literal, whyUnknown } from './words';

/** The last command that a script starts, as words; `?reason` stands for one that is not known. */
function argv(script: string, files: Readonly<Record<string, string>> = {}): string[] {
  const run = runScript('dir/train.sh', script, (path) => files[path] ?? null);
  const args = run.invocations.at(-1)?.args ?? [];
  return args.map((arg) =>
    arg.kind === 'word'
      ? (literal(arg.text) ?? `?${reasonText(whyUnknown(arg.text) ?? '')}`)
      : `?choice of ${arg.options.length}`,
  );
}

test.each([
  ['A=1\nrun --x $A "$A b" ${A}c', ['run', '--x', '1', '1 b', '1c']],
  ['A="--x 1 \\\n  --y 2"\nrun $A', ['run', '--x', '1', '--y', '2']],
  [
    'A=(--x 1 # note\n --y)\nA+=(--z "p q")\nrun "${A[@]}" ${A[1]} ${#A[@]}',
    ['run', '--x', '1', '--y', '--z', 'p q', '1', '5'],
  ],
  ['A=8\nB=2\nrun $(($A*$B)) $((A*B-1)) $(( (A + 1) * B ))', ['run', '16', '15', '18']],
  ['run $((2 * (3 + N)))', ['run', '?environment variable N']],
  ['N=4\nrun $((N * 2)) ${N:-7} ${M:-7} ${M:=9} $M', ['run', '8', '4', '7', '9', '9']],
  ['X=a/b.sh\nrun ${X##*/} ${X%.sh} ${X/b/c} ${X^^} ${#X}', ['run', 'b.sh', 'a/b', '?${X/b/c}', '?${X^^}', '6']],
  ['if [ -z ${TP} ]; then TP=1; fi\nrun $TP', ['run', '1']],
  ['if [[ -n "$TP" && $TP -gt 1 ]]; then X=--a; else X=--b; fi\nrun $X', ['run', '--b']],
  ['if [ "$1" = big ]; then X=2; else X=1; fi\nrun $X', ['run', '1']],
  ['if [ $# -lt 1 ]; then echo usage; exit 1; fi\nrun $1', ['run', '?argument 1 of the script']],
  [
    'need() { M=(); for V in "$@"; do if [ -z "${!V}" ]; then M+=("$V"); fi; done; if [ ${#M[@]} -gt 0 ]; then exit 1; fi; }\nneed TP PP\nrun $TP',
    ['run', '?environment variable TP'],
  ],
  ['X=4\n[ $X -gt 2 ] && exit 1\nif [ $X = 2 ]; then X=0; else exit 2; fi\nrun $X', ['run', '4']],
  ['if [ "$MODE" = big ]; then X=2; else X=1; fi\nrun $X', ['run', '?choice of 2']],
  ['case 7b in 8b) X=1;; 7*) X=2;; *) X=3;; esac\nrun $X', ['run', '2']],
  ['for i in 1 2 3; do X+=$i; done\nrun $X', ['run', '?environment variable X']],
  ['X=\nfor i in $(seq 3); do X+=$i; done\nrun $X', ['run', '123']],
  ['X=\nfor i in {1..3}; do X+=$i; done\nrun $X', ['run', '?choice of 2']],
  [
    'A=(1 2 3)\nX=8*2\nrun {1,2} "${A[@]:1}" $((A > 0 ? 1 : 2)) $((X)) $(expr 8 / 2)',
    ['run', '?{1,2}', '?${A[@]:1}', '?$((A > 0 ? 1 : 2))', '?$((X))', '?output of `expr 8 / 2`'],
  ],
  ['X=0\nwhile [ $X -lt 5 ]; do X=$((X + 2)); done\nrun $X', ['run', '6']],
  ['f() { local Y=$1; X=$((Y * 2)); }\nf 4\nrun $X', ['run', '8']],
  ['X=$(echo 1,2,3 | tr , "\\n" | wc -l)\nrun $X', ['run', '?output of `tr`']],
  ['D=$(dirname "$0")\nrun $D $(basename $0 .sh)', ['run', 'dir', 'train']],
  ["X=$(echo Qwen3-8B-Instruct | sed 's/-Instruct//')\nrun $X", ['run', '?output of `sed`']],
  ['X=$(nvidia-smi -L | wc -l)\nrun $X', ['run', '?output of `nvidia-smi -L`']],
  ['run "$@" $EXTRA', ['run', '?environment variable EXTRA']],
  ['bash -c "run --x 1"', ['run', '--x', '1']],
  ['bash -c "run --x $A --y 2"', ['run', '--x', '?environment variable A', '--y', '2']],
  ["read -r -d '' T <<'EOF'\nrun --x 1\nEOF\nsrun bash -c \"export A=$B; ${T}\"", ['run', '--x', '1']],
  ["read -r -d EOF T <<< '--x 1'\nrun $T", ['run', '--x', '1']],
  ['X=3; eval "run --x $X"', ['run', '--x', '3']],
  ['declare -A M=([a]=1 [b]=2)\nM[c]=3\nrun ${M[b]} ${M[c]}', ['run', '?${M[b]}', '?${M[c]}']],
  ['X=a\nX[0]+=b\nA=(1 2)\nA[1]=3\nrun ${X[0]} ${A[1]}', ['run', '?X', '3']],
  [`a=(0 1)\nprintf -v F '[%s]' "$(IFS=', '; echo "\${a[*]}")"\nrun $F "\${a[*]}"`, ['run', '[0,1]', '0 1']],
  ["IFS=',' read -r -a G <<< '0,1,2'\nrun ${#G[@]}", ['run', '?output of `read`']],
  ["IFS=',' read -r TP PP REST <<< '2,1,4,8'\nrun $TP $PP $REST", ['run', '2', '1', '4,8']],
  ['set -- 5 6\nrun $2 $#', ['run', '6', '2']],
])('%s', (script, words) => {
  expect(argv(script)).toEqual(words);
});

test('sourced files are looked for beside the script and above it; what is not found is unknown', () => {
  const script = 'source "$(dirname "$0")/models/x.sh"\nsource /root/job/conf/y.sh\nsource z.sh\nrun $X $Y $Z';
  expect(argv(script, { 'dir/models/x.sh': 'X=1', 'dir/conf/y.sh': 'Y=2' })).toEqual([
    'run',
    '1',
    '2',
    '?file z.sh (for Z), which was not found',
  ]);
});

test('$0 is the script also in a file that it sources', () => {
  const common = 'D=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)\nC=$(echo $D/$(basename $0 .sh).yaml)';
  expect(argv('source dir/env/common.env\nrun $C $0', { 'dir/env/common.env': common })).toEqual([
    'run',
    'dir/env/train.yaml',
    'dir/train.sh',
  ]);
});

test('a script that another one writes or starts is followed with its exported variables', () => {
  expect(argv('export TP=2\nPP=3\nbash run.sh 8', { 'dir/run.sh': 'run $TP ${PP:-1} $1' })).toEqual([
    'run',
    '2',
    '1',
    '8',
  ]);
  expect(argv('TP=2\ncat > job.sh <<EOF\nrun $TP \\$NODES\nEOF\nsbatch job.sh')).toEqual([
    'run',
    '2',
    '?environment variable NODES',
  ]);
});

test('what a here-document writes keeps its places through escapes and joined lines', () => {
  const script = [
    'TP=2',
    'cat <<EOF | bash',
    '# \\$HOME \\\\ \\`x\\`',
    'run --nnodes 1 \\\\',
    '  --nproc 8 \\\\',
    '  --tp $TP \\',
    '  --pp 4',
    'EOF',
  ].join('\n');
  const { invocations } = runScript('t.sh', script, () => null);
  const words = invocations.flatMap(({ args }) =>
    args.flatMap((arg) => {
      const piece = arg.kind === 'word' ? arg.text[0] : undefined;
      return piece?.kind === 'text' ? [[piece.text, script.slice(0, piece.place.offset).split('\n').length]] : [];
    }),
  );
  expect(words).toEqual([
    ['bash', 2],
    ...[
      ['run', 4],
      ['--nnodes', 4],
      ['1', 4],
    ],
    ...[
      ['--nproc', 5],
      ['8', 5],
    ],
    ...[
      ['--tp', 6],
      ['2', 1],
    ],
    ...[
      ['--pp', 7],
      ['4', 7],
    ],
  ]);
});

test('endless scripts end', () => {
  expect(runScript('a.sh', 'f() { f; }\nf\nwhile true; do X=$((X + 1)); done', () => null).invocations).toEqual([]);
  expect(runScript('a.sh', 'source a.sh', () => 'source a.sh').problems).toHaveLength(1);
});
