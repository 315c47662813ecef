// How long launch files take to read: `npm run bench:launch`. In fresh processes, beyond Node's own start: `import` of a script of
// 1,000 lines, with `bash -n` on the same script as the peer; in one process: 50 scripts against a layout. It judges nothing.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const RUNS = 7;
const folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-bench-'));
const script = join(folder, 'train.sh');
const layout = join(folder, 'a.layout.yaml');
const cli = resolve('dist/cli.js');

/** A script of 1,000 lines: variables, arrays, conditions and comments, and the job at its end. */
function scriptOf(seed) {
  const lines = ['#!/bin/bash', `TP=\${TP:-${2 ** (seed % 3)}}`];
  for (let index = 0; lines.length < 990; index++) {
    lines.push(`V${index}=$((${index} * 2))`, `ARGS+=(--own-flag-${index} "\${V${index}}")`, `# step ${index}`);
    lines.push(`if [ "$V${index}" -gt 10 ]; then W=1; else W=2; fi`);
  }
  lines.push(
    `torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size $TP --num-layers 8 "\${ARGS[@]}"`,
  );
  return `${lines.join('\n')}\n`;
}

function medianMs(program, args) {
  const times = Array.from({ length: RUNS }, () => {
    const start = performance.now();
    spawnSync(program, args, { stdio: 'ignore' });
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[Math.floor(RUNS / 2)];
}

try {
  writeFileSync(script, scriptOf(1));
  writeFileSync(layout, 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n');
  const scripts = Array.from({ length: 50 }, (_, seed) => join(folder, `job-${seed}.sh`));
  for (const [seed, path] of scripts.entries()) {
    writeFileSync(path, scriptOf(seed));
  }

  const node = medianMs(process.execPath, ['-e', '']);
  const bash = medianMs('bash', ['-n', script]);
  const read = medianMs(process.execPath, [cli, 'import', script]);
  const drift = medianMs(process.execPath, [cli, 'drift', layout, ...scripts]);
  const row = (name, ms) =>
    console.log(`${name.padEnd(46)} ${ms.toFixed(0).padStart(6)} ms  ${(ms / bash).toFixed(1)} x bash -n`);
  row('bash -n of 1,000 lines', bash);
  row("Node's start", node);
  row("import of 1,000 lines, beyond Node's start", read - node);
  row('drift of 50 scripts of 1,000 lines, beyond it', drift - node);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
