import { describe, expect, test } from 'vitest';
import type { CompletionItem, Diagnostic } from 'vscode-languageserver-protocol';
import type { LineIndex } from '../../layout';
import { applied, ServerProcess } from './client';
import { testServer } from './testServer';

const server = testServer();

const open = (marked: string) => server.openMarked(marked);

const underlined = (lines: LineIndex, { range }: Diagnostic) =>
  lines.text.slice(lines.offsetAt(range.start), lines.offsetAt(range.end));

const MIMO = `layout: 1
world_size: 8
modules:
  images:
    num_ranks: 2
    tp: 2
  language:
    rank_offset: 4
    num_ranks: 4
    tp: 2
    pp: 2
`;

describe('diagnostics', () => {
  test('carry code, page, related places and the error that Megatron-LM would raise', async () => {
    const { uri, lines } = await open(MIMO);
    const [finding, ...more] = await server.diagnostics(uri);
    expect(more).toEqual([]);
    expect(finding).toMatchObject({ code: 'world-gap', source: 'parallelism-layout', severity: 1 });
    expect(finding?.codeDescription?.href).toMatch(/docs\/rules\/world-gap\.md$/);
    expect(finding?.message).toContain('Megatron-LM: Module grids must partition the world [0, 8) with no gaps');
    expect(finding?.relatedInformation).toHaveLength(2);
    expect(finding && underlined(lines, finding)).toBe('4');
  });

  test('follow incremental edits and vanish when the file is fixed', async () => {
    const { uri, lines } = await open(MIMO);
    expect(await server.diagnostics(uri)).toHaveLength(1);
    const start = lines.positionAt(MIMO.indexOf('num_ranks: 2') + 'num_ranks: '.length);
    const version = await server.change(uri, {
      range: { start, end: { line: start.line, character: start.character + 1 } },
      text: '4',
    });
    expect(await server.diagnostics(uri, version)).toEqual([]);
  });

  test('come for the last of a burst of keys', async () => {
    const { uri } = await open('layout: 1\nworld_size: 8\nparallelism:\n  tp: 2');
    let version = 0;
    for (let i = 0; i < 30; i++) {
      const at = { line: 3, character: 7 };
      version = await server.change(uri, { range: { start: at, end: at }, text: '1' });
    }
    const [finding] = await server.diagnostics(uri, version);
    expect(finding?.code).toBe('number-too-large');
  });

  test('can be pulled', async () => {
    const { uri } = await open(MIMO);
    const report = await server.request<{ kind: string; items: Diagnostic[] }>('textDocument/diagnostic', {
      textDocument: { uri },
    });
    expect(report.items.map(({ code }) => code)).toEqual(['world-gap']);
  });

  test('are not pushed to a client that pulls', async () => {
    const pulling = await ServerProcess.start({ textDocument: { diagnostic: {} } });
    expect(pulling.initialized.capabilities.diagnosticProvider).toBeDefined();
    expect(server.initialized.capabilities.diagnosticProvider).toBeUndefined();
    expect(await pulling.stop()).toBe(0);
  });
});

describe('quick fixes', () => {
  test.each([
    ['world coverage', MIMO],
    ['factorization', 'layout: 1\nworld_size: 16\nparallelism: # degrees\n  tp: 8\n  pp: 3 # stages\n'],
  ])('of %s leave a file without findings and keep its comments', async (_, text) => {
    const { uri, lines } = await open(text);
    const [finding] = await server.diagnostics(uri);
    const actions = await server.codeActions(uri, finding?.range, ['quickfix']);
    const fixes = actions.filter(({ title }) => !title.startsWith('Ignore'));
    expect(fixes.length).toBeGreaterThan(1);
    expect(fixes.filter(({ isPreferred }) => isPreferred)).toHaveLength(1);
    for (const { edit } of fixes) {
      const fixed = applied(lines, edit?.changes?.[uri]);
      expect(fixed.match(/#.*/g)).toEqual(text.match(/#.*/g));
      const other = await open(fixed);
      expect(await server.diagnostics(other.uri)).toEqual([]);
    }
  });
});

describe('hover', () => {
  async function hoverText(marked: string): Promise<string> {
    return server.hoverText((await open(marked)).at);
  }

  test('says what a key means and what its grid works out to', async () => {
    const text = await hoverText(MIMO.replace('    tp: 2\n    pp', '    t|p: 2\n    pp'));
    expect(text).toContain('--tensor-model-parallel-size');
    expect(text).toContain('4 ranks (4 to 7); dp 1 (1 replica of 4 ranks)');
    expect(text).toContain('groups of 2 ranks: [4, 5]');
  });

  test('lists the layers of each stage', async () => {
    const pipeline = 'parallelism: {pp: 2, pipeline_model_parallel_layout: Et|t|t|tmL}';
    const text = `layout: 1\nworld_size: 2\n${pipeline}\nmodel: {num_layers: 4, mtp_num_layers: 1}\n`;
    expect(await hoverText(text.replace('pp:', 'p|p:'))).toContain(
      '- pp 0: vpp 0: embedding, t0; vpp 1: t2\n- pp 1: vpp 0: t1; vpp 1: t3, mtp0, loss',
    );
    const hybrid = 'layout: 1\nworld_size: 2\nparallelism: {pp: 2}\nmodel: {hybrid_layer_|pattern: "MM*-|M*/MM"}\n';
    expect(await hoverText(hybrid)).toContain(
      '- pp 0: embedding, t0 to t3 (`MM*-`)\n- pp 1: t4 to t5 (`M*`), mtp0, loss',
    );
  });

  test('is silent on a comment', async () => {
    expect(await hoverText('layout: 1\n# a com|ment\nworld_size: 8\nparallelism: {tp: 2}\n')).toBe('');
  });
});

describe('completion', () => {
  async function labels(marked: string): Promise<CompletionItem[]> {
    const { at } = await open(marked);
    return server.request('textDocument/completion', at);
  }

  test('offers the keys of the map that are not there yet', async () => {
    const items = await labels('layout: 1\nworld_size: 8\nparallelism:\n  tp: 2\n  |\n');
    const names = items.map(({ label }) => label);
    expect(names).toContain('pp');
    expect(names).toContain('order');
    expect(names).not.toContain('tp');
    expect(names).not.toContain('world_size');
    expect(items.find(({ label }) => label === 'pp')?.documentation).toMatchObject({ kind: 'markdown' });
  });

  test('works while the file does not parse', async () => {
    const items = await labels('layout: 1\nworld_size: 8\ncluster: {nodes: 1, g|\n');
    expect(items[0]?.label).toBe('gpus_per_node');
  });

  test('offers the words of a choice, and nothing in a comment', async () => {
    expect((await labels('smoke:\n  checks: [|]\n')).map(({ label }) => label)).toContain('collectives');
    expect(await labels('layout: 1 # |\n')).toEqual([]);
  });
});

describe('any text', () => {
  test.each([
    ['empty', ''],
    ['a byte order mark', '\ufefflayout: 1\r\nworld_size: 8\r\nparallelism: {tp: 2}\r\n'],
    ['binary', '\u0000\u0001\ufffd'],
    ['tabs', 'parallelism:\n\ttp: 2\n'],
    ['an alias of itself', 'a: &a [*a]'],
    ['deep nesting', '['.repeat(2000)],
    ['a number beyond 53 bits', 'world_size: 99999999999999999999\n'],
    ['two documents', 'layout: 1\n---\nlayout: 1\n'],
  ])('%s is answered', async (_, text) => {
    const { uri, at } = await open(text);
    const findings = await server.diagnostics(uri);
    expect(findings.length).toBeGreaterThanOrEqual(text.includes('tp: 2}') ? 0 : 1);
    await server.request('textDocument/hover', at);
    await server.request('textDocument/completion', at);
  });
});
