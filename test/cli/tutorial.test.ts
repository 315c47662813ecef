import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { blocksOf, commandsOf, PageFolder } from '../harness/pages';

const blocks = blocksOf('docs/tutorial.md');
const folder = new PageFolder(blocks);
afterAll(() => folder.remove());

test('a person with a launch script writes, checks, draws and dry-runs its layout as the tutorial says', async () => {
  const commands = commandsOf(blocks);
  expect(commands.length).toBeGreaterThanOrEqual(10);
  for (const { line, text, output } of commands) {
    const done = await folder.run(text);
    expect({ line, output: output === null ? null : done.output }).toEqual({ line, output });
    expect({ line, status: done.status }).toEqual({ line, status: text.includes('wrong.layout.yaml') ? 1 : 0 });
  }
  const drawn = readdirSync(join(folder.path, 'pictures'));
  expect(drawn.sort()).toEqual(['tutorial-ep.svg', 'tutorial-where.svg']);
  expect(drawn.filter((name) => !existsSync(`docs/pictures/${name}`))).toEqual([]);
});
