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
answer.fixed = vim.wait(30000, function() return #vim.diagnostic.get(0) == 0 end, 20)
vim.fn.writefile({ vim.fn.json_encode(answer) }, out)
vim.cmd('qall!')
`;

interface Answer {
  readonly diagnostics: readonly { readonly code: string; readonly lnum: number }[];
  readonly completion: readonly { readonly label: string }[];
  readonly hover: { readonly contents: { readonly value: string } };
  readonly fixed: boolean;
}

/** Opens a file in Neovim with the documented configuration, and gives what a session there wrote down. */
function neovim<T>(session: string, files: Readonly<Record<string, string>>): T {
  const folder = mkdtempSync(join(tmpdir(), 'layout-neovim-'));
  const [, config = ''] = /```lua\n(.*?)```/s.exec(readFileSync('docs/editors.md', 'utf8')) ?? [];
  for (const [name, text] of Object.entries({ 'init.lua': config, 'session.lua': session, ...files })) {
    writeFileSync(join(folder, name), text);
  }
  symlinkSync(resolve('dist/server.js'), join(folder, 'parallelism-layout-server'));
  const args = ['--headless', '--clean', '-u', 'init.lua', 'job.layout.yaml', '-c', 'luafile session.lua'];
  const path = [folder, dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { ...process.env, PATH: path, LAYOUT_TEST_OUT: join(folder, 'out.json'), XDG_STATE_HOME: folder };
  execFileSync('nvim', args, { cwd: folder, env, stdio: 'pipe', timeout: 100_000 });
  const answer = JSON.parse(readFileSync(join(folder, 'out.json'), 'utf8')) as T;
  rmSync(folder, { recursive: true });
  return answer;
}

test('Neovim with the documented configuration shows findings, completion and hover', () => {
  const answer = neovim<Answer>(SESSION, { 'job.layout.yaml': 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 3\n' });
  expect(answer.diagnostics).toMatchObject([{ code: 'dense-factorization', lnum: 3 }]);
  expect(answer.completion.map(({ label }) => label)).toEqual(['1', '2', '4', '8']);
  expect(answer.hover.contents.value).toContain('initialize_model_parallel');
  expect(answer.fixed).toBe(true);
}, 120_000);

/** Waits for the difference from the script, writes the layout's value into the script, and asks for the lens. */
const LAUNCH_SESSION = `
local out = vim.env.LAYOUT_TEST_OUT
local answer = {}
local script = vim.uri_to_bufnr(vim.uri_from_fname(vim.fn.getcwd() .. '/train.sh'))
vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 and #vim.diagnostic.get(script) > 0 end, 20)
answer.layout = vim.diagnostic.get(0)
answer.script = vim.diagnostic.get(script)
local function ask(method, params)
  params.textDocument = vim.lsp.util.make_text_document_params(0)
  for _, one in pairs(vim.lsp.buf_request_sync(0, method, params, 30000) or {}) do
    return one.result
  end
end
local at = { line = 3, character = 6 }
answer.actions = ask('textDocument/codeAction', { range = { start = at, ['end'] = at }, context = { diagnostics = {} } })
answer.lenses = ask('textDocument/codeLens', {})
vim.api.nvim_buf_set_text(0, 3, 6, 3, 7, { '8' })
answer.fixed = vim.wait(30000, function() return #vim.diagnostic.get(0) + #vim.diagnostic.get(script) == 0 end, 20)
vim.fn.writefile({ vim.fn.json_encode(answer) }, out)
vim.cmd('qall!')
`;

interface LaunchAnswer {
  readonly layout: readonly { readonly message: string }[];
  readonly script: readonly { readonly message: string }[];
  readonly actions: readonly { readonly title: string }[];
  readonly lenses: readonly { readonly command: { readonly title: string } }[];
  readonly fixed: boolean;
}

test('Neovim shows a difference from the launch file on both files, with fixes and a lens', () => {
  const answer = neovim<LaunchAnswer>(LAUNCH_SESSION, {
    'job.layout.yaml': 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 4\nlaunch: {files: [train.sh]}\n',
    'train.sh': 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8\n',
  });
  const says = 'train.sh says tp 8 (--tensor-model-parallel-size, line 1); this layout says tp 4.';
  expect(answer.layout.map(({ message }) => message)).toEqual([says]);
  expect(answer.script.map(({ message }) => message)).toEqual([
    'job.layout.yaml says tp 4 (line 4); this file says tp 8.',
  ]);
  expect(answer.actions.map(({ title }) => title)).toEqual(
    expect.arrayContaining(['Change tp to 8, as train.sh says', 'Change tp to 4 in train.sh, line 1']),
  );
  expect(answer.lenses.map(({ command }) => command.title)).toContain('1 difference from train.sh');
  expect(answer.fixed).toBe(true);
}, 120_000);
