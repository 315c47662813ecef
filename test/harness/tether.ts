// Runs a Node script for as long as the process that started this one lives: `node tether.ts FOLDER SCRIPT ARGS...`.
// Standard input is the tether. When it closes, because its holder has ended in whatever way, the whole process group ends
// and FOLDER is removed.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';

const [folder = '', script = '', ...args] = process.argv.slice(2);
const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
child.once('exit', (code, signal) => process.exit(code ?? (signal === null ? 0 : 1)));
process.once('SIGTERM', () => child.kill('SIGTERM'));
process.stdin.resume().once('close', () => {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  process.kill(-process.pid, 'SIGKILL');
});
