import { expect, test } from 'vitest';
import { computingTime } from '../../test/harness/computing';
import { untraceable } from '../../test/harness/untraceable';
import { specOf } from '../format/keyPath';
import { layoutOf, layoutYaml } from './importedLayout';
import { readLaunchFile } from './read';

/** Whole numbers below a bound that are the same in every run (xorshift). */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const SCRIPT = `#!/bin/bash
#SBATCH --nodes=2
TP=\${TP:-4}; PP=$((2 * 1))
if [ "$MODE" = x ]; then EXTRA="--micro-batch-size 2"; else EXTRA=(--bf16); fi
for i in 1 2 3; do ARGS+=(--x$i); done
case $KIND in a|b) Y=1 ;; *) Y=2 ;; esac
f() { local Z=$1; echo "$Z"; }
A="--num-layers 32 \\
   --hidden-size $(f 64)"
cat > run.sh <<EOF
torchrun --nproc-per-node 8 pretrain_gpt.py $A --tensor-model-parallel-size $TP
EOF
srun -N 2 bash -c "torchrun --nproc-per-node 8 pretrain_gpt.py \${A} \${EXTRA[@]} --tensor-model-parallel-size $TP"
`;

const RECIPE = `defaults: ../base.yaml
policy:
  train_micro_batch_size: \${mul:2, 3}
  megatron_cfg: &m
    enabled: true
    tensor_model_parallel_size: \${oc.env:TP,2}
    pipeline_model_parallel_size: \${policy.megatron_cfg.tensor_model_parallel_size}
teacher: {megatron_cfg: *m}
cluster: {num_nodes: 2, gpus_per_node: 8}
`;

const TOML = '[parallelism]\ntensor_parallel_degree = 4\n[training]\nseq_len = 8192\n[model]\nname = "x"\n';

const LOG =
  '--- arguments ---\n0:   tensor_model_parallel_size ........ 4\n  world_size .... 16\n--- end of arguments ---\n';

const PYTHON = `SIZE = 2 * 4
def base(tp=2, **kwargs):
    cfg = Config(model=Provider(tensor_model_parallel_size=tp, **{"seq_length": SIZE}))
    return cfg
def recipe():
    """A recipe."""
    cfg = base(tp=int(os.environ.get("TP", 4)))
    if x: cfg.model.context_parallel_size = 2
    cfg.train.micro_batch_size: int = 1
    return cfg
`;

const SOURCES = [
  ['recipe.py', PYTHON],
  ['train.sh', SCRIPT],
  ['recipe.yaml', RECIPE],
  ['job.toml', TOML],
  ['job.log', LOG.replaceAll('---', '-----')],
] as const;

const PIECES = [
  '"',
  "'",
  '$(',
  '${',
  '}',
  ')',
  '((',
  '`',
  '<<EOF\n',
  '\\',
  '\n',
  '|',
  '&&',
  ';;',
  'do ',
  'fi\n',
  '[[',
  '*',
  '\u0000',
  '\uffff',
  '$',
  ': ',
  '- ',
];

function mutate(text: string, random: (below: number) => number): string {
  let result = text;
  for (let step = random(6); step >= 0; step--) {
    const at = random(result.length + 1);
    const kind = random(3);
    const piece = PIECES[random(PIECES.length)] ?? '';
    const until = kind === 0 ? at : at + random(20);
    result = result.slice(0, at) + (kind === 2 ? '' : piece) + result.slice(until);
  }
  return result;
}

/** Reads a file and checks what must hold of every reading: also that every value comes from the text or a table of defaults. */
function read(file: string, text: string): void {
  const reading = readLaunchFile(file, text, (path) => (path.endsWith('base.yaml') ? text : null));
  layoutYaml(reading);
  expect(layoutOf(reading).layout).toBe(1);
  expect(untraceable(reading), text).toEqual([]);
  for (const { key, value, source, lookedFor } of reading.values) {
    expect(source === 'unknown' ? value === null && lookedFor !== undefined : value !== null, key).toBe(true);
    if (typeof source !== 'string') {
      expect(source.line).toBeGreaterThan(0);
    }
    if (specOf(key)?.type === 'integer' && value !== null) {
      expect(Number.isSafeInteger(value), key).toBe(true);
    }
  }
}

test.each(SOURCES)('%s mutated', (file, text) => {
  const random = generator(2026);
  for (let round = 0; round < 50; round++) {
    read(file, mutate(text, random));
  }
});

test('random characters', () => {
  const random = generator(7);
  for (let round = 0; round < 30; round++) {
    const characters = Array.from({ length: random(200) }, () =>
      String.fromCharCode(random(round % 2 === 0 ? 128 : 65_536)),
    );
    for (const [file] of SOURCES) {
      read(file, characters.join(''));
    }
  }
});

test('deep nesting, long lines and values that grow', () => {
  for (const text of [
    '('.repeat(20_000),
    '$('.repeat(5_000),
    'if true; then '.repeat(2_000),
    `X=1\n${'X="$X$X"\n'.repeat(60)}torchrun pretrain_gpt.py --num-layers $X`,
    `X=1\n${'[ $A ] && X="$X $X"\n'.repeat(60)}torchrun pretrain_gpt.py $X`,
    `f() { f; f; }\nf`,
    'A=({1..1000}{1..1000}{1..1000})',
    '['.repeat(5_000),
    `a: &a [x]\n${Array.from({ length: 30 }, (_, i) => `b${i}: &b${i} [*${i === 0 ? 'a' : `b${i - 1}`}, *${i === 0 ? 'a' : `b${i - 1}`}]`).join('\n')}`,
  ]) {
    for (const file of ['x.sh', 'x.yaml', 'x.log', 'x.toml']) {
      read(file, text);
    }
  }
});

/** One text repeated up to a length, 60 KB unless told. */
const repeated = (part: string, length = 60_000): string => part.repeat(Math.ceil(length / part.length));

const MEGATRON =
  'torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 64 --tensor-model-parallel-size 2';

const python = (line: string): string =>
  `def recipe():\n    cfg = Config(model=Model(tensor_model_parallel_size=2))\n${line}    return cfg\n`;

const nestedIfs = (count: number): string =>
  `${Array.from({ length: count }, (_, i) => `${' '.repeat(4 + i)}if x:\n`).join('')}${' '.repeat(4 + count)}y = 1\n`;

/** Texts whose cost is the square of their length, a power of it, or a call stack, for a reader without limits. */
const COSTLY: readonly (readonly [name: string, file: string, text: string])[] = [
  ['a number that is none', 'x.sh', `${MEGATRON} --hidden-dropout ${repeated('1')}x\n`],
  [
    'a number that is none in YAML',
    'x.yaml',
    `policy:\n  megatron_cfg: {enabled: true, hidden_dropout: ${repeated('1')}x}\n`,
  ],
  ['a pattern of sed', 'x.sh', `X=$(echo a | sed 's/${repeated('s/w ')}')\n${MEGATRON} $X\n`],
  ['a path of many directories', 'x.sh', `. /${repeated('a/')}\n. /${repeated('a/')}b\n${MEGATRON}\n`],
  ['a script of many parts', 'x.sh', `torchrun ${repeated('torchtitan.a.')} --tensor-model-parallel-size 2\n`],
  [
    'an end that no pattern matches',
    'x.sh',
    `X=${repeated('a', 2000)}\n${repeated(`Y=${'$'}{X%%a*a*a*a*a*a*a*a*b*a*c}\n`, 3000)}${MEGATRON} $Y\n`,
  ],
  ['replacements', 'x.sh', `X=${repeated('a', 2000)}\n${repeated(`Y=${'$'}{X//a*a*a*b/c}\n`, 3000)}${MEGATRON} $Y\n`],
  [
    'long texts in a loop',
    'x.sh',
    `X=${repeated('a ', 500_000)}\nfor i in $(seq 1000); do Y=$(echo "$X" | wc -w); done\n${MEGATRON} $Y\n`,
  ],
  [
    'conditions with patterns',
    'x.sh',
    `X=${repeated('a', 250)}\nfor i in $(seq 1000); do if [[ $X =~ [a]*[a]*b ]]; then A=1; fi; done\n${MEGATRON}\n`,
  ],
  [
    'an override of 30,000 parts',
    'x.sh',
    `python -m verl.trainer.main_ppo actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 ${repeated('a.')}b=1\n`,
  ],
  [
    'an option of 30,000 parts',
    'x.sh',
    `torchrun -m torchtitan.train --parallelism.tensor_parallel_degree=2 --${repeated('a.')}b 1\n`,
  ],
  ['signs', 'recipe.py', python(`    y = ${repeated('-')}1\n`)],
  ['a sum', 'recipe.py', python(`    y = ${repeated('1-')}1\n`)],
  ['a product', 'recipe.py', python(`    y = ${repeated('2*')}1\n`)],
  ['a chain of attributes', 'recipe.py', python(`    y = ${repeated('a.')}b\n    ${repeated('a.')}b = 1\n`)],
  [
    'calls in calls',
    'recipe.py',
    `def f(a):\n    return ${repeated('f(', 70)}a${repeated(')', 35)}\ndef g():\n    return ${repeated('f(', 70)}1${repeated(')', 35)}\n`,
  ],
  ['lists in lists', 'recipe.py', python(`    y = ${repeated('[')}\n`)],
  ['conditions in conditions', 'recipe.py', python(nestedIfs(300))],
  [
    'a value of itself',
    'recipe.py',
    python(`    x = dict(a=1)\n${repeated('    x = dict(a=x)\n')}    if z: x.a = 2\n    use(x)\n`),
  ],
  [
    'a value of itself, twice',
    'recipe.py',
    python(`    x = dict(a=1)\n${repeated('    x = dict(a=x, b=x)\n', 1000)}    if z: x.a = 2\n    use(x)\n`),
  ],
  [
    'variables in conditions',
    'recipe.py',
    Array.from({ length: 9_000 }, (_, i) => `v${i} = 1\nif v${i}: pass\n`).join(''),
  ],
  [
    'functions that call each other',
    'recipe.py',
    Array.from(
      { length: 200 },
      (_, i) =>
        `def f${i}(a):\n    return [${Array.from({ length: 9 }, (_, k) => `f${(i + k + 1) % 200}(a)`).join(', ')}]\n`,
    ).join(''),
  ],
  [
    'references in references',
    'x.yaml',
    `policy:\n  a: \${mul:${repeated(`${'$'}{mul:`)}\n  megatron_cfg: {enabled: true, tensor_model_parallel_size: 2}\n`,
  ],
  ['brackets in JSON', 'x.json', repeated('[', 500_000)],
  ['dashes in YAML', 'x.yaml', repeated('- ', 500_000)],
  ['tags of one value', 'x.yaml', `policy: {megatron_cfg: {enabled: true}}\na: ${repeated('!a ', 100_000)}\n`],
  ['anchors of one value', 'x.yaml', `policy: {megatron_cfg: {enabled: true}}\na: ${repeated('&a ', 100_000)}\n`],
  [
    'texts of references to texts',
    'x.yaml',
    `policy:\n  x: ${repeated('a', 5_000)}\n  y: "${repeated(`${'$'}{policy.x}`, 300_000)}"\n  z: "${repeated(`${'$'}{policy.y}`, 1_000)}"\n  megatron_cfg: {enabled: true, tensor_model_parallel_size: 2}\n`,
  ],
  [
    'words of a pod that its manifest writes in another way',
    'x.yaml',
    `apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec:\n  pytorchReplicaSpecs:\n    Worker:\n      template:\n        spec:\n          containers:\n            - command: [torchrun, pretrain_gpt.py${repeated(', "\\x61baaaaaa"', 400_000)}]\n# ${repeated('a', 50_000)}\n`,
  ],
  [
    'a long list in a loop',
    'x.sh',
    `A=(${repeated('a ', 18_000)})\nfor i in $(seq 1000); do B=("${'$'}{A[@]:1}"); done\n${MEGATRON} $B\n`,
  ],
  [
    'a condition of many cases',
    'x.sh',
    `X=${repeated('a', 1_000)}\ncase $X in ${repeated('*a*a*a*b) A=1;; ', 300_000)} esac\n${MEGATRON}\n`,
  ],
  [
    'one condition of many patterns',
    'x.sh',
    `X=${repeated('a', 1_000)}\nif [[ ${repeated('$X == *a*a*a*b || ', 300_000)} a ]]; then A=1; fi\n${MEGATRON}\n`,
  ],
  [
    'one word of many patterns',
    'x.sh',
    `X=${repeated('a', 1_000)}\nY=${repeated(`${'$'}{X%%*a*a*a*b}`, 300_000)}\n${MEGATRON}\n`,
  ],
  [
    'many variables in many conditions',
    'x.sh',
    `export ${Array.from({ length: 20_000 }, (_, i) => `v${i}=1`).join(' ')}\n${'[ $a ] && X=$(echo $X)\n'.repeat(1_900)}${MEGATRON}\n`,
  ],
  [
    'many variables in many substitutions',
    'x.sh',
    `export ${Array.from({ length: 20_000 }, (_, i) => `v${i}=1`).join(' ')}\nX="${repeated('$(:)', 100_000)}"\n${MEGATRON}\n`,
  ],
  ['keys of many parts', 'x.toml', `[parallelism]\ntensor_parallel_degree = 2\n${repeated('a.')}b = 1\n`],
];

test.each(COSTLY)('%s: in bounded time', (_, file, text) => {
  const began = computingTime();
  read(file, text);
  expect(computingTime() - began).toBeLessThan(5_000);
});

test('a file that takes too many steps says so, and holds no value', () => {
  const { notes, values, family } = readLaunchFile('recipe.py', python(nestedIfs(300)), () => null);
  expect({ notes, values, family }).toEqual({
    notes: ['recipe.py takes more steps to read than any launch file; nothing of it is read.'],
    values: [],
    family: null,
  });
});

test.each([
  ['two parents each', 'defaults: [x.yaml, y.yaml]\n'],
  ['a hundred parents each', `defaults: [${Array.from({ length: 100 }, () => 'x.yaml').join(', ')}]\n`],
])('a configuration whose parents have parents, %s: in bounded time', (_, text) => {
  const whole = `${text}policy: {megatron_cfg: {enabled: true, tensor_model_parallel_size: 2}}\n`;
  const began = computingTime();
  const { family } = readLaunchFile('x.yaml', whole, () => whole);
  expect([family, computingTime() - began < 5_000]).toEqual(['nemo-rl', true]);
});
