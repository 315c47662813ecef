import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { NODE } from '../harness/programs';

interface Step {
  readonly name: string;
  readonly run: string;
}

const { runs }: { runs: { steps: readonly Step[] } } = parse(readFileSync('action.yml', 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-action-'));
const repository = join(folder, 'repository');
const summary = join(folder, 'summary.md');
afterAll(() => rmSync(folder, { recursive: true }));

const layout = (tp: number) => `layout: 1\nworld_size: 16\nparallelism: {tp: ${tp}}\n`;

function put(name: string, text: string): void {
  mkdirSync(join(repository, name, '..'), { recursive: true });
  writeFileSync(join(repository, name), text);
}

function git(...args: readonly string[]): string {
  const person = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false'];
  return execFileSync('git', [...person, ...args], { cwd: repository, encoding: 'utf8' }).trim();
}

let base = '';
beforeAll(() => {
  mkdirSync(join(folder, 'bin'));
  const program = join(folder, 'bin', 'parallelism-layout');
  writeFileSync(program, `#!/bin/sh\nexec "${NODE}" "${resolve('dist/cli.js')}" "$@"\n`);
  chmodSync(program, 0o755);
  mkdirSync(repository);
  git('init', '--quiet');
  put('jobs/a.layout.yaml', layout(2));
  put('jobs/with space $(touch run).layout.yaml', layout(2));
  put('jobs/b.layout.yaml', layout(4));
  put('jobs/c.layout.yaml', layout(8));
  put('other/d.layout.yaml', layout(2));
  put('jobs/old.layout.yaml', `${layout(2)}# ${'the same '.repeat(20)}\n`);
  git('add', '.');
  git('commit', '--quiet', '-m', 'before');
  base = git('rev-parse', 'HEAD');
  put('jobs/a.layout.yaml', layout(4));
  put('jobs/with space $(touch run).layout.yaml', layout(8));
  put('jobs/c.layout.yaml', layout(3));
  put('jobs/new.layout.yaml', layout(2));
  git('mv', 'jobs/old.layout.yaml', 'jobs/renamed.layout.yaml');
  put('jobs/renamed.layout.yaml', `${layout(4)}# ${'the same '.repeat(20)}\n`);
  put('other/d.layout.yaml', layout(4));
  git('add', '.');
  git('commit', '--quiet', '-m', 'after');
});

/** Runs a step as GitHub runs it, with the program of this repository. */
function step(name: string, inputs: Readonly<Record<string, string>>) {
  const script = runs.steps.find((one) => one.name === name)?.run ?? 'exit 99';
  const env = {
    ...process.env,
    ...inputs,
    GITHUB_STEP_SUMMARY: summary,
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
  };
  return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
    cwd: repository,
    env,
    encoding: 'utf8',
  });
}

test('the summary draws what changed in each layout of the pull request', () => {
  const { status, stderr } = step('Summarize', {
    LAYOUT_PATHS: 'jobs\n',
    LAYOUT_BASE: base,
    LAYOUT_CHECKPOINT: 'true',
  });
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr:
      "parallelism-layout: ./jobs/c.layout.yaml:3: tp 3 does not divide 16 ranks. Use tp 1, 2 or 4. 'parallelism-layout check' shows the fixes.\n",
  });
  expect(readFileSync(summary, 'utf8')).toMatchInlineSnapshot(`
    "## Parallelism layouts

    \`\`\`text
    6 files checked: 1 error
    \`\`\`

    ### jobs/a.layout.yaml

    **tp 2 → 4**

    | key | before | after |
    | --- | ---: | ---: |
    | parallelism\\.tp | 2 | 4 |

    The cost of both layouts is not known&#58; the layout lacks model\\.hidden_size, model\\.num_attention_heads, model\\.num_layers, batch\\.micro_batch_size, sequence\\.seq_length\\.

    16 ranks of 16 differ\\.

    - tp 2 → 4, dp 8 → 4
    - tp groups 8 × 2 → 4 × 4, dp groups 2 × 8 → 4 × 4

    \`\`\`text
    node 0  ooaabbaa
    node 1  bbaabbaa
    o other peers (2)   a other tp and dp (8)   b other dp (6)
    \`\`\`

    Checkpoint (torch_dist):

    | part | | why | way out |
    | --- | --- | --- | --- |
    | model | loads | The model loads as it is and is resharded&#58; tp 2 → 4, dp 8 → 4\\. |  |
    | optimizer | loads | The optimizer states load as they are&#58; without use_distributed_optimizer they are cut as the weights are\\. |  |
    | RNG state | lost | The random \\(RNG\\) states are lost&#58; tp 2 → 4\\. Dropout draws other numbers from here on; the seed of the run starts anew\\. |  |
    | rerun state | lost | The state of the rerun engine is dropped&#58; tp 2 → 4, dp 8 → 4\\. |  |
    | data order | not known | The data continues at the consumed samples; whether a step takes as many as before is not known without global_batch_size\\. |  |



    ### jobs/c.layout.yaml

    No comparison: one of the two has errors.

    ### jobs/new.layout.yaml

    A new layout.

    ### jobs/renamed.layout.yaml

    It was jobs/old.layout.yaml.

    **tp 2 → 4**

    | key | before | after |
    | --- | ---: | ---: |
    | parallelism\\.tp | 2 | 4 |

    The cost of both layouts is not known&#58; the layout lacks model\\.hidden_size, model\\.num_attention_heads, model\\.num_layers, batch\\.micro_batch_size, sequence\\.seq_length\\.

    16 ranks of 16 differ\\.

    - tp 2 → 4, dp 8 → 4
    - tp groups 8 × 2 → 4 × 4, dp groups 2 × 8 → 4 × 4

    \`\`\`text
    node 0  ooaabbaa
    node 1  bbaabbaa
    o other peers (2)   a other tp and dp (8)   b other dp (6)
    \`\`\`

    Checkpoint (torch_dist):

    | part | | why | way out |
    | --- | --- | --- | --- |
    | model | loads | The model loads as it is and is resharded&#58; tp 2 → 4, dp 8 → 4\\. |  |
    | optimizer | loads | The optimizer states load as they are&#58; without use_distributed_optimizer they are cut as the weights are\\. |  |
    | RNG state | lost | The random \\(RNG\\) states are lost&#58; tp 2 → 4\\. Dropout draws other numbers from here on; the seed of the run starts anew\\. |  |
    | rerun state | lost | The state of the rerun engine is dropped&#58; tp 2 → 4, dp 8 → 4\\. |  |
    | data order | not known | The data continues at the consumed samples; whether a step takes as many as before is not known without global_batch_size\\. |  |



    ### jobs/with?space???touch?run?.layout.yaml

    **tp 2 → 8**

    | key | before | after |
    | --- | ---: | ---: |
    | parallelism\\.tp | 2 | 8 |

    The cost of both layouts is not known&#58; the layout lacks model\\.hidden_size, model\\.num_attention_heads, model\\.num_layers, batch\\.micro_batch_size, sequence\\.seq_length\\.

    16 ranks of 16 differ\\.

    - tp 2 → 8, dp 8 → 2
    - tp groups 8 × 2 → 2 × 8, dp groups 2 × 8 → 8 × 2

    \`\`\`text
    node 0  ooaaaaaa
    node 1  bbaaaaaa
    o other peers (2)   a other tp and dp (12)   b other dp (2)
    \`\`\`

    Checkpoint (torch_dist):

    | part | | why | way out |
    | --- | --- | --- | --- |
    | model | loads | The model loads as it is and is resharded&#58; tp 2 → 8, dp 8 → 2\\. |  |
    | optimizer | loads | The optimizer states load as they are&#58; without use_distributed_optimizer they are cut as the weights are\\. |  |
    | RNG state | lost | The random \\(RNG\\) states are lost&#58; tp 2 → 8\\. Dropout draws other numbers from here on; the seed of the run starts anew\\. |  |
    | rerun state | lost | The state of the rerun engine is dropped&#58; tp 2 → 8, dp 8 → 2\\. |  |
    | data order | not known | The data continues at the consumed samples; whether a step takes as many as before is not known without global_batch_size\\. |  |


    "
  `);
  // names of files are never commands
  expect(git('status', '--porcelain')).toBe('');
});

test('annotations fail the step where a layout has errors', () => {
  const { status, stdout } = step('Check', { LAYOUT_PATHS: 'jobs', LAYOUT_MAX_WARNINGS: '' });
  expect(status).toBe(1);
  expect(stdout).toMatch(/^::error file=jobs\/c\.layout\.yaml,line=3,/);
  expect(step('Check', { LAYOUT_PATHS: 'other', LAYOUT_MAX_WARNINGS: '0' }).status).toBe(0);
});

test('a launch file that changes alone fails the step', () => {
  put('drift/train.sh', 'torchrun --nproc-per-node 16 pretrain_gpt.py --tensor-model-parallel-size 4\n');
  put('drift/a.layout.yaml', layout(4).replace('parallelism', 'launch: {files: [train.sh]}\nparallelism'));
  expect(step('Drift', { LAYOUT_PATHS: 'drift' })).toMatchObject({ status: 0, stdout: '' });
  put('drift/train.sh', 'torchrun --nproc-per-node 16 pretrain_gpt.py --tensor-model-parallel-size 8\n');
  // each difference is annotated once
  expect(step('Check', { LAYOUT_PATHS: 'drift', LAYOUT_MAX_WARNINGS: '0' })).toMatchObject({ status: 0, stdout: '' });
  const { status, stdout } = step('Drift', { LAYOUT_PATHS: 'drift' });
  expect(status).toBe(1);
  expect(stdout).toMatch(/^::error file=drift\/a\.layout\.yaml,line=4,.*\n::error file=drift\/train\.sh,line=1,/);
  // layouts that name no launch file are no failure
  expect(step('Drift', { LAYOUT_PATHS: 'other' }).status).toBe(0);
});
