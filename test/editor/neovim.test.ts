import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

/** What a person would do by hand: wait for the findings, then ask for completion and hover. */
const SESSION = `
local out = vim.env.LAYOUT_TEST_OUT
local answer = {}
vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end, 20)
answer.diagnostics = vim.diagnostic.get(0)
local function ask(method, line, character)
  local params = vim.tbl_extend('force', vim.lsp.util.make_position_params(0, 'utf-16'), {
    position = { line = line, character = character },
  })
  for _, one in pairs(vim.lsp.buf_request_sync(0, method, params, 30000) or {}) do
    return one.result
  end
end
answer.completion = ask('textDocument/completion', 3, 6)
answer.hover = ask('textDocument/hover', 2, 5)
vim.api.nvim_buf_set_text(0, 3, 6, 3, 7, { '2' })
answer.mended = vim.wait(30000, function() return #vim.diagnostic.get(0) == 0 end, 20)
vim.fn.writefile({ vim.fn.json_encode(answer) }, out)
vim.cmd('qall!')
`;

interface Answer {
  readonly diagnostics: readonly { readonly code: string; readonly lnum: number }[];
  readonly completion: readonly { readonly label: string }[];
  readonly hover: { readonly contents: { readonly value: string } };
  readonly mended: boolean;
}

test('Neovim with the documented configuration shows findings, completion and hover', () => {
  const folder = mkdtempSync(join(tmpdir(), 'layout-neovim-'));
  const [, config = ''] = /```lua\n(.*?)```/s.exec(readFileSync('docs/editors.md', 'utf8')) ?? [];
  writeFileSync(join(folder, 'init.lua'), config);
  writeFileSync(join(folder, 'session.lua'), SESSION);
  writeFileSync(join(folder, 'job.layout.yaml'), 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 3\n');
  symlinkSync(resolve('dist/server.js'), join(folder, 'parallelism-layout-server'));
  const args = ['--headless', '--clean', '-u', 'init.lua', 'job.layout.yaml', '-c', 'luafile session.lua'];
  const path = [folder, dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { ...process.env, PATH: path, LAYOUT_TEST_OUT: join(folder, 'out.json'), XDG_STATE_HOME: folder };
  execFileSync('nvim', args, { cwd: folder, env, stdio: 'pipe', timeout: 100_000 });
  const answer = JSON.parse(readFileSync(join(folder, 'out.json'), 'utf8')) as Answer;
  rmSync(folder, { recursive: true });
  expect(answer.diagnostics).toMatchObject([{ code: 'dense-factorization', lnum: 3 }]);
  expect(answer.completion.map(({ label }) => label)).toEqual(['1', '2', '4', '8']);
  expect(answer.hover.contents.value).toContain('initialize_model_parallel');
  expect(answer.mended).toBe(true);
}, 120_000);
