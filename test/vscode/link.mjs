// The editor's server looks for its modules beside itself: point it at this folder's, and keep the built-in extensions that
// tests need.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BUILTIN = ['configuration-editing', 'git', 'git-base', 'json', 'theme-defaults', 'theme-seti', 'yaml'];

const modules = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
const server = join(modules, 'code-server', 'lib', 'vscode');

function link(target, path) {
  rmSync(path, { recursive: true, force: true });
  symlinkSync(target, path, 'junction');
}

link(modules, join(server, 'node_modules'));
mkdirSync(join(modules, '.builtin'), { recursive: true });
for (const name of BUILTIN) {
  link(join(server, 'extensions', name), join(modules, '.builtin', name));
}
