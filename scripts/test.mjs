// Passes every test of the project, one suite after another: `npm test`, or `npm test -- SUITE...` for some of them.
// Ends with a line `N passed, N failed`; a suite that crashes, or runs nothing, counts as a failure.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

const { execPath } = process;
const bin = (name) => `node_modules/.bin/${name}`;

/** A suite: its commands, and how the last one's output tells how many tests passed and failed. */
const SUITES = [
  { name: 'types', commands: [[bin('tsc'), '-b']], count: single },
  { name: 'lint', commands: [[bin('biome'), 'check', '--error-on-warnings']], count: single },
  { name: 'rule pages', commands: [[execPath, 'scripts/docs.mjs', '--check']], count: single },
  { name: 'texts', commands: [[execPath, 'scripts/l10n.mjs', '--check']], count: single },
  { name: 'build', commands: [[execPath, 'scripts/build.mjs']], count: single },
  { name: 'unit', commands: [[bin('vitest'), 'run', '--reporter=dot']], count: vitest },
  {
    name: 'smoke job',
    commands: [[python(), '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'test/smoke']],
    count: pytest,
  },
  {
    name: 'panel',
    commands: [[execPath, '--test', '--test-reporter=spec', 'test/grid/panel.test.mjs']],
    count: nodeTest,
  },
  { name: 'integration', commands: [[execPath, 'scripts/test-integration.mjs']], count: plain },
  {
    name: 'end to end',
    commands: [
      [execPath, 'scripts/package.mjs'],
      [execPath, '--test', '--test-reporter=spec', '--test-concurrency=1', 'test/e2e/*.test.mjs'],
    ],
    count: nodeTest,
  },
];

/** Debian's torch belongs to the system's Python, which need not be the first on PATH. */
function python() {
  return process.env.PYTHON ?? (existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3');
}

function single(_, code) {
  return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

function vitest(output) {
  const line = /^\s*Tests\s+(.*)$/m.exec(output)?.[1] ?? '';
  return { passed: numberBefore(line, 'passed'), failed: numberBefore(line, 'failed') };
}

function pytest(output) {
  const line = output.trimEnd().split('\n').at(-1) ?? '';
  return { passed: numberBefore(line, 'passed'), failed: numberBefore(line, 'failed') + numberBefore(line, 'error') };
}

/** A suite may run in several editors, each with a line of its own. */
function plain(output) {
  const lines = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)];
  const total = (group) => lines.reduce((sum, line) => sum + Number(line[group]), 0);
  return { passed: total(1), failed: total(2) };
}

function nodeTest(output) {
  const value = (name) => Number(new RegExp(`^\\S+ ${name} (\\d+)$`, 'm').exec(output)?.[1] ?? 0);
  return { passed: value('pass'), failed: value('fail') + value('cancelled') };
}

function numberBefore(text, word) {
  return Number(new RegExp(`(\\d+) ${word}`).exec(text)?.[1] ?? 0);
}

/** Runs a command, showing its output as it comes; gives the output and the exit code. */
function run([program, ...args]) {
  return new Promise((done) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0', PYTHONDONTWRITEBYTECODE: '1' },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        process.stdout.write(text);
      });
    }
    child.once('error', (error) => done({ output: String(error), code: 1 }));
    child.once('close', (code) => done({ output, code: code ?? 1 }));
  });
}

async function runSuite({ name, commands, count }) {
  console.log(`\n=== ${name}`);
  let last = { output: '', code: 0 };
  for (const command of commands) {
    last = await run(command);
    if (last.code !== 0) {
      break;
    }
  }
  const { passed, failed } = count(last.output, last.code);
  const crashed = last.code !== 0 && failed === 0;
  const idle = last.code === 0 && passed + failed === 0;
  return { name, passed, failed: failed + (crashed || idle ? 1 : 0) };
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !SUITES.some((suite) => suite.name === name));
if (unknown.length > 0) {
  console.error(`There is no suite ${unknown.join(', ')}. Suites: ${SUITES.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

const results = [];
for (const suite of SUITES) {
  if (wanted.length === 0 || wanted.includes(suite.name)) {
    results.push(await runSuite(suite));
  }
}
console.log('\n=== summary');
for (const { name, passed, failed } of results) {
  console.log(`${failed === 0 ? 'ok    ' : 'FAILED'} ${name}: ${passed} passed, ${failed} failed`);
}
const sum = (key) => results.reduce((total, result) => total + result[key], 0);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = sum('failed') === 0 ? 0 : 1;
