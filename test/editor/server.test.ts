import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { processesWith } from '../harness/processes';
import { until } from '../harness/until';

const HARNESS = new URL('../harness/editorServer.ts', import.meta.url).href;
const STARTER = `
  const { startEditorServer } = await import('${HARNESS}');
  const { data } = await startEditorServer();
  console.log(data);
`;

test('an editor server ends with the process that started it, even where that is killed', async () => {
  const starter = spawn(process.execPath, ['--input-type=module', '--eval', STARTER], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await once(starter.stdout, 'data');
  const data = String(said).trim();
  expect(processesWith(data)).not.toEqual([]);
  starter.kill('SIGKILL');
  const left = () => [...processesWith(data), ...(existsSync(data) ? [data] : [])];
  await until(left, ({ length }) => length === 0, 'nothing is left');
});
