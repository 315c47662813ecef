import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

/** What a person would do by hand: wait for the diagnostics on both files, ask for the other features, and fix the number. */
const SESSION = `
local answer = {}
local script = vim.uri_to_bufnr(vim.uri_from_fname(vim.fn.getcwd() .. '/train.sh'))
vim.wait(30000, function() return #vim.diagnostic.get(0) > 1 and #vim.diagnostic.get(script) > 0 end, 20)
answer.layout = vim.diagnostic.get(0)
answer.script = vim.diagnostic.get(script)
local function ask(method, params)
  params.textDocument = vim.lsp.util.make_text_document_params(0)
  for _, one in pairs(vim.lsp.buf_request_sync(0, method, params, 30000) or {}) do
    return one.result
  end
end
local at = { line = 3, character = 6 }
answer.completion = ask('textDocument/completion', { position = at })
answer.hover = ask('textDocument/hover', { position = { line = 2, character = 5 } })
answer.actions = ask('textDocument/codeAction', { range = { start = at, ['end'] = at }, context = { diagnostics = {} } })
answer.lenses = ask('textDocument/codeLens', {})
vim.api.nvim_buf_set_text(0, 3, 6, 3, 7, { '8' })
answer.fixed = vim.wait(30000, function() return #vim.diagnostic.get(0) + #vim.diagnostic.get(script) == 0 end, 20)
vim.fn.writefile({ vim.fn.json_encode(answer) }, 'out.json')
vim.cmd('qall!')
`;

const FILES = {
  'job.layout.yaml': 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 3\nlaunch: {files: [train.sh]}\n',
  'train.sh': 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8\n',
  'session.lua': SESSION,
};

/** Runs the session in Neovim with the documented configuration, and gives the answers that it wrote down. */
function neovim() {
  const folder = mkdtempSync(join(tmpdir(), 'layout-neovim-'));
  const [, config = ''] = /```lua\n(.*?)```/s.exec(readFileSync('docs/editors.md', 'utf8')) ?? [];
  for (const [name, text] of Object.entries({ 'init.lua': config, ...FILES })) {
    writeFileSync(join(folder, name), text);
  }
  symlinkSync(resolve('dist/server.js'), join(folder, 'parallelism-layout-server'));
  const args = ['--headless', '--clean', '-u', 'init.lua', 'job.layout.yaml', '-c', 'luafile session.lua'];
  const path = [folder, dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { ...process.env, PATH: path, XDG_STATE_HOME: folder };
  execFileSync('nvim', args, { cwd: folder, env, stdio: 'pipe', timeout: 100_000 });
  const answer = JSON.parse(readFileSync(join(folder, 'out.json'), 'utf8'));
  rmSync(folder, { recursive: true });
  return answer;
}

test('Neovim with the documented configuration shows what the server knows, on a layout and on its launch file', () => {
  const { layout, script, completion, hover, actions, lenses, fixed } = neovim();
  expect(layout).toMatchObject([
    { code: 'dense-factorization', lnum: 3 },
    { message: 'train.sh says tp 8 (--tensor-model-parallel-size, line 1); this layout says tp 3.' },
  ]);
  expect(script).toMatchObject([{ message: 'job.layout.yaml says tp 3 (line 4); this file says tp 8.' }]);
  expect(completion.map(({ label }: { label: string }) => label)).toEqual(['1', '2', '4', '8']);
  expect(hover.contents.value).toContain('initialize_model_parallel');
  const titles = actions.map(({ title }: { title: string }) => title);
  expect(titles).toContain('Change tp to 8, as train.sh says');
  const shown = lenses.map(({ command }: { command: { title: string } }) => command.title);
  expect(shown).toContain('1 difference from train.sh');
  expect(fixed).toBe(true);
}, 120_000);
