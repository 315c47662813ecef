import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { TextEdit } from 'vscode-languageserver-protocol';
import { check, hasErrors } from '../../layout';
import { applied } from './client';
import { testServer } from './testServer';

const server = testServer();

async function formatted(text: string): Promise<string> {
  const { uri, lines } = await server.openMarked(text);
  const options = { tabSize: 2, insertSpaces: true };
  const edits = await server.request<TextEdit[]>('textDocument/formatting', { textDocument: { uri }, options });
  return applied(lines, edits);
}

describe('formatting', () => {
  test('evens out indentation and blanks, and keeps comments and the order of keys', async () => {
    const text = `

# the job
layout:   1${'  '}
world_size: 8


cluster: { nodes: 1,gpus_per_node:  8 }
modules:
      # the encoder
      images:   # small
          tp:  2
          num_ranks: 4
      language:
       rank_offset: 4
       num_ranks: 4
       # the end
smoke:
    checks:
    -   groups
    -   collectives


`;
    expect(await formatted(text)).toBe(`# the job
layout: 1
world_size: 8

cluster: { nodes: 1, gpus_per_node: 8 }
modules:
  # the encoder
  images:   # small
    tp: 2
    num_ranks: 4
  language:
    rank_offset: 4
    num_ranks: 4
    # the end
smoke:
  checks:
    - groups
    - collectives
`);
  });

  test.each([
    ['texts over several lines', 'layout: 1\ndescription: |\n    two\n      lines  \n\n\n    more\nname: x\n'],
    ['Windows line ends', 'layout: 1\r\nparallelism:\r\n    tp: 2\r\n'],
    ['maps in lists', 'ntp:\n    non_active_ranks_per_dp:\n    - dp: 0\n      local_ranks: [ 2,5 ]\n    -   {dp: 1}\n'],
    ['anchors', 'modules:\n    a: &a\n        tp: 2\n    b:\n        <<: *a\n        pp: 2\n'],
    ['brackets over several lines', 'cluster: {\n    nodes: 1,\n    gpus_per_node: 8\n}\n'],
    ['no line end', 'layout: 1'],
  ])('of %s means the same, and formatting again changes nothing', async (_, text) => {
    const once = await formatted(text);
    expect(check(once).diagnostics.map(({ code }) => code)).toEqual(check(text).diagnostics.map(({ code }) => code));
    expect(await formatted(once)).toBe(once);
  });

  test('leaves a file alone that cannot be read', async () => {
    const text = 'layout:   1\ncluster: {nodes: \n';
    expect(await formatted(text)).toBe(text);
  });

  test.each(readdirSync('examples').filter((name) => name.endsWith('.yaml')))('%s is formatted', async (name) => {
    const text = readFileSync(`examples/${name}`, 'utf8');
    expect(await formatted(text)).toBe(text);
  });
});

async function actions(marked: string, only: string[]) {
  const { uri, lines, at } = await server.openMarked(marked);
  const found = await server.codeActions(uri, { start: at.position, end: at.position }, only);
  return found.map(({ title, kind, edit }) => ({ title, kind, text: applied(lines, edit?.changes?.[uri]) }));
}

describe('rewriting', () => {
  const MOE = 'layout: 1\nworld_size: 64\nparallelism: # all\n  t|p: 2\n  ep: 4\nmodel: {num_experts: 8}\n';

  test('writes derived sizes, which then agree', async () => {
    const found = await actions(MOE, ['refactor']);
    expect(found.map(({ title }) => title)).toEqual(['Write the derived dp: 32', 'Write the derived expt_dp: 8']);
    expect(found[0]?.text).toContain('  ep: 4\n  dp: 32\n');
  });

  test('turns a degree into a number of shards and back', async () => {
    const [, there] = await actions('layout: 1\nworld_size: 8\nparallelism:\n  tp: 2\n  gtp_|remat: 2\n', ['refactor']);
    expect(there?.text).toContain('num_weight_shards: 4\n');
    const back = await actions(there?.text.replace('num_w', 'num|_w') ?? '', ['refactor']);
    expect(back.map(({ text }) => text).some((text) => text.includes('  gtp_remat: 2\n'))).toBe(true);
  });

  test('turns parallelism into modules with the same sizes, comments kept', async () => {
    const found = await actions(MOE.replace('t|p', 'tp').replace('para', 'par|a'), ['refactor.rewrite']);
    const text = found.find(({ title }) => title.startsWith('Convert'))?.text ?? '';
    expect(text).toBe(
      'layout: 1\nworld_size: 64\nmodules:\n  language: # all\n    num_ranks: 64\n    expt_tp: 2\n    tp: 2\n    ep: 4\n    model: {num_experts: 8}\n',
    );
    expect(hasErrors(check(text))).toBe(false);
  });

  test('does not offer what modules cannot say', async () => {
    const text = 'layout: 1\nworld_size: 64\npar|allelism:\n  pp: 2\n  vpp: 2\n';
    expect((await actions(text, ['refactor'])).map(({ title }) => title)).not.toContainEqual(
      expect.stringContaining('Convert'),
    );
  });
});

describe('fix all', () => {
  test('applies safe fixes and leaves the rest to the author', async () => {
    const text = 'layout: 1\nworld_size: 16\nparallelism:\n  tp: 8\n  pp: 3\nbatch:\n  micro_batch_size: "1"\n';
    const [all, ...more] = await actions(text, ['source.fixAll']);
    expect(more).toEqual([]);
    expect(all?.kind).toBe('source.fixAll.parallelismLayout');
    expect(all?.text).toBe(text.replaceAll('"', ''));
  });

  test('is not offered where there is nothing to fix', async () => {
    expect(await actions('layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n', ['source.fixAll'])).toEqual([]);
  });
});
