import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const sources = (...folders: readonly string[]) =>
  folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'));

test('only the place that escapes its text shows notifications and progress', () => {
  const calls = /\bwindow\s*\.(show(Information|Warning|Error)Message|withProgress)\b/;
  const callers = sources('client').filter((path) => calls.test(readFileSync(path, 'utf8')));
  expect(callers).toEqual(['client/notifications.ts']);
});

test('no Markdown of the editor is trusted: a link in it would run commands', () => {
  const trusted = sources('client', 'server').filter((path) =>
    /isTrusted\s*[:=]|supportHtml/.test(readFileSync(path, 'utf8')),
  );
  expect(trusted).toEqual([]);
});
