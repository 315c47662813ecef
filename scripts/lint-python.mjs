// Lints the Python of the smoke job: ruff (rules and format) from npm, mypy from the system's Python.
// `node scripts/lint-python.mjs` checks; `--write` formats the files first. Exits with 1 where anything is found.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ruff from '@astral-sh/ruff-wasm-nodejs';
import { parse } from 'smol-toml';

const { tool } = parse(readFileSync('smoke/pyproject.toml', 'utf8'));
const own = readdirSync('smoke').flatMap((name) => (name.endsWith('.py') ? [name.slice(0, -3)] : []));
const settings = { ...tool.ruff, lint: { ...tool.ruff.lint, isort: { 'known-first-party': own } } };

const workspace = new ruff.Workspace(settings, ruff.PositionEncoding.Utf16);
const write = process.argv.includes('--write');
let found = 0;
for (const name of own) {
  found += lint(join('smoke', `${name}.py`));
}
const mypy = spawnSync('mypy', ['--config-file', 'pyproject.toml', '--cache-dir', '../node_modules/.cache/mypy', '.'], {
  cwd: 'smoke',
  encoding: 'utf8',
});
if (mypy.error || mypy.status !== 0) {
  found++;
  console.error(mypy.error ? `mypy cannot be started: ${mypy.error.message}` : mypy.stdout + mypy.stderr);
}
console.log(found === 0 ? 'Python is clean' : `${found} found in Python`);
process.exitCode = found === 0 ? 0 : 1;

/** Prints what ruff has against a file; how much that is. */
function lint(path) {
  const text = readFileSync(path, 'utf8');
  const formatted = workspace.format(text);
  if (write && formatted !== text) {
    writeFileSync(path, formatted);
  }
  const found = workspace.check(write ? formatted : text);
  for (const {
    code,
    message,
    start_location: { row, column },
  } of found) {
    console.error(`${path}:${row}:${column}: ${code} ${message}`);
  }
  if (!write && formatted !== text) {
    console.error(`${path}: is not formatted; run \`node scripts/lint-python.mjs --write\``);
    return found.length + 1;
  }
  return found.length;
}
