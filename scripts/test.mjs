// Runs the tests: `npm test` the fast ones, `npm test -- GROUP...` those of some groups, `npm test -- all` every one.
// Ends with what failed and a line `N passed, N failed`; a suite that crashes, or runs nothing, counts as a failure.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setPriority } from 'node:os';
import { commandFailure, listFailures, mochaFailures, pytestFailures, vitestFailures } from './failures.mts';

const { execPath } = process;
const vitest = (project) => [
  execPath,
  'node_modules/vitest/vitest.mjs',
  'run',
  '--project',
  project,
  '--reporter=default',
  '--silent=passed-only',
];
/** Debian's torch belongs to the system's Python, which need not be the first on PATH. */
const python = process.env.PYTHON ?? (existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3');

/** What must have run before the suites that use it. */
const BUILD = [
  { name: 'build', groups: [], command: [execPath, 'scripts/build.mjs'], count: single },
  { name: 'package', groups: [], command: [execPath, 'scripts/package.mjs'], count: single },
];

/** How a runner's output tells how many tests passed and failed, and which failed. */
const VITEST = { count: vitestCount, failures: vitestFailures };
const PYTEST = { count: pytestCount, failures: pytestFailures };
const MOCHA = { count: mochaCount, failures: mochaFailures };

/** Every suite: its groups, its command, and how to read its output. */
const SUITES = [
  { name: 'types', groups: ['lint'], command: [execPath, 'node_modules/typescript/bin/tsc', '-b'], count: single },
  {
    name: 'style',
    groups: ['lint'],
    command: [execPath, 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings'],
    count: single,
  },
  { name: 'python style', groups: ['lint'], command: [execPath, 'scripts/lint-python.mjs'], count: single },
  { name: 'generated pages', groups: ['lint'], command: [execPath, 'scripts/docs.mjs', '--check'], count: single },
  { name: 'texts', groups: ['lint'], command: [execPath, 'scripts/l10n.mjs', '--check'], count: single },
  { name: 'fast', groups: ['fast'], command: vitest('fast'), ...VITEST },
  { name: 'protocol', groups: ['protocol'], command: vitest('protocol'), ...VITEST },
  { name: 'jobs', groups: ['jobs'], command: vitest('jobs'), ...VITEST },
  {
    name: 'smoke job',
    groups: ['jobs'],
    command: [python, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--numprocesses=2', 'test/clusters'],
    ...PYTEST,
  },
  { name: 'fuzz', groups: ['fuzz'], command: vitest('fuzz'), ...VITEST },
  { name: 'panel', groups: ['editor'], command: vitest('panel'), ...VITEST },
  {
    name: 'integration',
    groups: ['editor'],
    command: [execPath, 'scripts/test-integration.mjs'],
    ...MOCHA,
  },
  { name: 'end to end', groups: ['editor'], command: vitest('editor'), ...VITEST },
];
const GROUPS = [...new Set(SUITES.flatMap(({ groups }) => groups))];

/** The suites that run one after another, what waits for ranks and what waits for pages; the rest computes beside both. */
const JOBS = ['jobs', 'smoke job'];
const EDITORS = ['integration', 'end to end'];
const LANES = [JOBS, EDITORS, SUITES.map(({ name }) => name).filter((name) => ![...JOBS, ...EDITORS].includes(name))];

/** Groups that only compute leave the processors to suites that wait for others: those end hardly later than alone. */
const COMPUTING = ['lint', 'fast', 'fuzz'];

/** Behind others, but not so far that a busy machine never comes to it. */
const YIELDING = 5;

/** Groups that need no build. */
const UNBUILT = ['lint', 'fast'];

function single(_, code) {
  return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

function vitestCount(output) {
  const line = /^\s*Tests\s+(.*)$/m.exec(output)?.[1] ?? '';
  return { passed: numberBefore(line, 'passed'), failed: numberBefore(line, 'failed') };
}

function pytestCount(output) {
  const line = output.trimEnd().split('\n').at(-1) ?? '';
  return { passed: numberBefore(line, 'passed'), failed: numberBefore(line, 'failed') + numberBefore(line, 'error') };
}

/** A suite may run in several editors, each with a line of its own. */
function mochaCount(output) {
  const lines = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)];
  const total = (group) => lines.reduce((sum, line) => sum + Number(line[group]), 0);
  return { passed: total(1), failed: total(2) };
}

function numberBefore(text, word) {
  return Number(new RegExp(`(\\d+) ${word}`).exec(text)?.[1] ?? 0);
}

/** Runs a command, behind others where it yields; gives its output and its exit code. */
function run([program, ...args], yields) {
  return new Promise((done) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      // on a machine with GPUs too, the jobs of the tests run on its CPUs
      env: {
        ...process.env,
        ...{ NO_COLOR: '1', FORCE_COLOR: '0', PYTHONDONTWRITEBYTECODE: '1', CUDA_VISIBLE_DEVICES: '' },
      },
    });
    if (yields && child.pid !== undefined) {
      setPriority(child.pid, YIELDING);
    }
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.once('error', (error) => done({ output: `${program}: ${error.message}\n`, code: 1 }));
    child.once('close', (code) => done({ output, code: code ?? 1 }));
  });
}

/** Runs one suite and prints its output at its end, as another one may run beside it. */
async function runSuite({ name, groups, command, count, failures = () => [] }) {
  const start = performance.now();
  const yields = groups.some((group) => COMPUTING.includes(group));
  const { output, code } = await run(command, yields);
  const { passed, failed } = count(output, code);
  const crashed = code !== 0 && failed === 0;
  const idle = code === 0 && passed + failed === 0;
  const seconds = Math.round((performance.now() - start) / 1000);
  console.log(`\n=== ${name}\n${output.trimEnd()}`);
  const total = failed + (crashed || idle ? 1 : 0);
  const found = failures(output);
  const why = total > 0 && found.length === 0 ? [commandFailure(output, code)] : found;
  return { name, seconds, passed, failed: total, failures: listFailures(name, why) };
}

async function runAll(suites) {
  const results = [];
  for (const suite of suites) {
    results.push(await runSuite(suite));
  }
  return results;
}

const wanted = process.argv.length > 2 ? process.argv.slice(2) : ['fast'];
const unknown = wanted.filter((name) => name !== 'all' && !GROUPS.includes(name));
if (unknown.length > 0) {
  console.error(`There is no group ${unknown.join(', ')}. Groups: all, ${GROUPS.join(', ')}`);
  process.exit(2);
}

const groups = wanted.includes('all') ? GROUPS : wanted;
const suites = SUITES.filter((suite) => suite.groups.some((group) => groups.includes(group)));
const built = groups.every((group) => UNBUILT.includes(group)) ? [] : await runAll(BUILD);
const results = [...built];
if (built.every(({ failed }) => failed === 0)) {
  const lanes = LANES.map((lane) => runAll(suites.filter(({ name }) => lane.includes(name))));
  results.push(...(await Promise.all(lanes)).flat());
}
console.log('\n=== summary');
for (const { name, seconds, passed, failed } of results) {
  console.log(`${failed === 0 ? 'ok    ' : 'FAILED'} ${name}: ${passed} passed, ${failed} failed (${seconds} s)`);
}
for (const line of results.flatMap(({ failures }) => failures)) {
  console.log(line);
}
const sum = (key) => results.reduce((total, result) => total + result[key], 0);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = sum('failed') === 0 ? 0 : 1;
