import { describe, expect, test } from 'vitest';
import type {
  CodeLens,
  DocumentLink,
  DocumentSymbol,
  FoldingRange,
  InlayHint,
  Location,
  SelectionRange,
  WorkspaceEdit,
} from 'vscode-languageserver-protocol';
import { ServerProcess } from './client';
import { testServer } from './testServer';

const server = testServer({}, { commands: { showGrid: 'grid', runSmokeJob: 'smoke' } });

const MIMO = `# a job of
# two modules
layout: 1
cluster: {nodes: 1, gpus_per_node: 8}
modules:
  images:
    num_ranks: 4
    tp: 2
  language:
    rank_offset: 4
    num_ranks: 4
    tp: 2
    pp: 2
    model:
      num_layers: 20
batch: {micro_batch_size: 2, global_batch_size: 8} # tp-crosses-nvlink
`;

const MOE = 'layout: 1\nworld_size: 64\nparallelism:\n  tp: 2\n  ep: 4\n';

async function hints(text: string): Promise<string[]> {
  const { uri, lines } = await server.openMarked(text);
  const range = { start: { line: 0, character: 0 }, end: lines.positionAt(text.length) };
  const all = await server.request<InlayHint[]>('textDocument/inlayHint', { textDocument: { uri }, range });
  return all.map(({ position: { line }, label }) => {
    const { start, end } = lines.lineSpan(line);
    return `${lines.text.slice(start, end).trim()} <- ${String(label)}`;
  });
}

describe('inlay hints', () => {
  test('show the world, the ranks and dp of every module, and the layers of a stage', async () => {
    expect(await hints(MIMO)).toEqual([
      'cluster: {nodes: 1, gpus_per_node: 8} <- → world_size 8',
      'images: <- → ranks 0–3 · dp 2',
      'language: <- → ranks 4–7 · dp 1',
      'num_layers: 20 <- → 10 layers/stage',
    ]);
  });

  test('show the expert grid and the default that is in force in it', async () => {
    expect(await hints(MOE)).toEqual(['parallelism: <- → dp 32 · expt_dp 8', 'ep: 4 <- → expt_tp 2']);
  });

  test('leave out what is written', async () => {
    expect(await hints('layout: 1\nworld_size: 8\nparallelism: {tp: 2, dp: 4}\n')).toEqual([]);
  });

  test('show the micro-batches of a step where all grids have as many', async () => {
    const text = `${MOE}batch: {micro_batch_size: 1, global_batch_size: 256}\n`;
    expect((await hints(text)).at(-1)).toMatch(/<- → 8 micro-batches\/step$/);
  });
});

describe('code lenses', () => {
  const lenses = async (text: string, of = server) => {
    const { uri } = await of.openMarked(text);
    const all = await of.request<CodeLens[]>('textDocument/codeLens', { textDocument: { uri } });
    return { uri, all, titles: all.map(({ command }) => command?.title) };
  };

  test('offer the grid and the smoke job, and count ranks and process groups', async () => {
    const { uri, all, titles } = await lenses(MIMO);
    expect(titles.slice(0, 2)).toEqual(['Show Rank Grid', 'Run Smoke Job']);
    expect(titles[2]).toMatch(/^4 ranks, \d+ process groups$/);
    expect(titles).toHaveLength(4);
    expect(all[0]?.command).toMatchObject({ command: 'grid', arguments: [uri] });
  });

  test('do not offer to run a layout that has errors', async () => {
    const { all, titles } = await lenses('layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n');
    expect(titles).toEqual(['Show Rank Grid', 'Run Smoke Job: fix 1 error first', '8 ranks']);
    expect(all.map(({ command }) => command?.command)).toEqual(['grid', '', 'grid']);
  });

  test('stay on their lines while a file is typed, so that nothing jumps', async () => {
    const places = async (text: string) => (await lenses(text)).all.map(({ range }) => range.start.line);
    const whole = 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 2\n';
    const modules = 'layout: 1\nworld_size: 8\nmodules:\n  images: {num_ranks: 4}\n\n  language:\n    num_ranks: 4\n';
    for (const [good, ...states] of [
      [
        whole,
        whole.replace('tp: 2', 'tp: 3'),
        whole.replace('tp: 2', 'tp:'),
        whole.replace('tp: 2', 'tp: ['),
        whole.replace('  tp: 2', '  tp'),
      ],
      [modules, modules.replace('ranks: 4}', 'ranks: 9}'), modules.replace('4}', '4')],
    ] as const) {
      const lines = await places(good);
      expect(lines.length).toBeGreaterThan(2);
      for (const state of states) {
        expect(await places(state), state).toEqual(lines);
      }
    }
  });

  test('name no command that the client has not', async () => {
    const plain = await ServerProcess.start();
    const { all } = await lenses(MOE, plain);
    expect(all.map(({ command }) => command?.command)).toEqual(['']);
    await plain.stop();
  });
});

describe('structure', () => {
  test('the outline lists modules and their keys', async () => {
    const { uri } = await server.openMarked(MIMO);
    const symbols = await server.request<DocumentSymbol[]>('textDocument/documentSymbol', { textDocument: { uri } });
    expect(symbols.map(({ name }) => name)).toEqual(['layout', 'cluster', 'modules', 'batch']);
    const modules = symbols[2]?.children ?? [];
    expect(modules.map(({ name }) => name)).toEqual(['images', 'language']);
    expect(modules[0]?.children?.map(({ name, detail }) => [name, detail])).toEqual([
      ['num_ranks', '4'],
      ['tp', '2'],
    ]);
  });

  test('maps and comments of several lines fold', async () => {
    const { uri } = await server.openMarked(MIMO);
    const folds = await server.request<FoldingRange[]>('textDocument/foldingRange', { textDocument: { uri } });
    expect(folds.map(({ startLine, endLine, kind }) => [startLine, endLine, kind ?? ''])).toEqual([
      [4, 14, ''],
      [5, 7, ''],
      [8, 14, ''],
      [13, 14, ''],
      [0, 1, 'comment'],
    ]);
  });

  test('a selection grows from a number to its entry, its module and the file', async () => {
    const { uri, lines, at } = await server.openMarked(MIMO.replace('pp: 2', 'pp: |2'));
    const [innermost] = await server.request<SelectionRange[]>('textDocument/selectionRange', {
      textDocument: { uri },
      positions: [at.position],
    });
    const texts: string[] = [];
    for (let range = innermost; range; range = range.parent) {
      texts.push(lines.text.slice(lines.offsetAt(range.range.start), lines.offsetAt(range.range.end)));
    }
    expect(texts.slice(0, 2)).toEqual(['2', 'pp: 2']);
    expect(texts[3]).toMatch(/^language:/);
    expect(texts.at(-1)).toBe(lines.text);
  });

  test('rules that a comment names are links', async () => {
    const { uri } = await server.openMarked(`${MIMO}name: 'not # world-gap'\n`);
    const links = await server.request<DocumentLink[]>('textDocument/documentLink', { textDocument: { uri } });
    expect(links.map(({ target }) => target?.split('/').at(-1))).toEqual(['tp-crosses-nvlink.md']);
  });
});

describe('module names', () => {
  const IMAGES = MIMO.replace('images', 'im|ages');
  const rename = async (marked: string, newName: string) => {
    const { at } = await server.openMarked(marked);
    return server.request<WorkspaceEdit>('textDocument/rename', { ...at, newName });
  };

  test('can be found and renamed', async () => {
    const { at } = await server.openMarked(IMAGES);
    const context = { includeDeclaration: true };
    const found = await server.request<Location[]>('textDocument/references', { ...at, context });
    expect(found).toHaveLength(1);
    const edit = await rename(IMAGES, 'encoder');
    expect(Object.values(edit.changes ?? {})).toEqual([[{ range: found[0]?.range, newText: 'encoder' }]]);
  });

  test.each([
    ['a name that another module has', IMAGES, 'language', 'already'],
    ['a name that is no plain word', IMAGES, 'a b', 'cannot name'],
    ['the module that must be there', MIMO.replace('  language', '  lang|uage'), 'text', 'Exactly one'],
  ])('%s is refused with the reason', async (_, marked, newName, reason) => {
    await expect(rename(marked, newName)).rejects.toThrow(reason);
  });

  test('no other key can be renamed', async () => {
    const { at } = await server.openMarked(MIMO.replace('cluster', 'clu|ster'));
    expect(await server.request('textDocument/prepareRename', at)).toBeNull();
  });
});
