// Lints the Python of the smoke job and of the golden data: ruff (rules and format) from npm, mypy from the system's Python.
// `node scripts/lint-python.mjs` checks; `--write` formats the files first. Exits with 1 where anything is found.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import ruff from '@astral-sh/ruff-wasm-nodejs';
import { parse } from 'smol-toml';

const write = process.argv.includes('--write');
const found = ['smoke', 'tools/megatron', 'tools/frameworks'].reduce((sum, folder) => sum + lintFolder(folder), 0);
console.log(found === 0 ? 'Python is clean' : `${found} found in Python`);
process.exitCode = found === 0 ? 0 : 1;

/** Prints what ruff and mypy have against a folder with a `pyproject.toml`; how much that is. */
function lintFolder(folder) {
  const { tool } = parse(readFileSync(join(folder, 'pyproject.toml'), 'utf8'));
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.py'));
  const own = [...new Set(paths.map((path) => basename(path.split(/[\\/]/)[0], '.py')))];
  const settings = { ...tool.ruff, lint: { ...tool.ruff.lint, isort: { 'known-first-party': own } } };
  const workspace = new ruff.Workspace(settings, ruff.PositionEncoding.Utf16);
  const cache = resolve('node_modules/.cache/mypy', folder);
  const mypy = spawnSync('mypy', ['--config-file', 'pyproject.toml', '--cache-dir', cache, '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const fails = mypy.error || mypy.status !== 0;
  if (fails) {
    console.error(mypy.error ? `mypy cannot be started: ${mypy.error.message}` : mypy.stdout + mypy.stderr);
  }
  return paths.reduce((sum, path) => sum + lint(workspace, join(folder, path)), fails ? 1 : 0);
}

/** Prints what ruff has against a file; how much that is. */
function lint(workspace, path) {
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
