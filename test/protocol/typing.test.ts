import { describe, expect, test } from 'vitest';
import type { CompletionItem, SemanticTokens, SemanticTokensLegend, TextEdit } from 'vscode-languageserver-protocol';
import { applied, ServerProcess } from './client';
import { testServer } from './testServer';

const server = testServer({ textDocument: { completion: { completionItem: { snippetSupport: true } } } });

async function complete(marked: string) {
  const { at, lines } = await server.openMarked(marked);
  const items = await server.request<CompletionItem[]>('textDocument/completion', at);
  const accept = (label: string) => {
    const edit = items.find((item) => item.label === label)?.textEdit;
    return edit && 'range' in edit ? applied(lines, [edit]) : undefined;
  };
  return { items, labels: items.map(({ label }) => label), accept };
}

describe('completion of values', () => {
  test('offers only the sizes that no rule refuses, each with what follows from it', async () => {
    const { items, labels } = await complete(
      'layout: 1\nworld_size: 16\nparallelism:\n  tp: |\nmodel: {num_layers: 8, num_attention_heads: 4, hidden_size: 64}\n',
    );
    expect(labels).toEqual(['1', '2', '4']);
    expect(items.map(({ labelDetails }) => labelDetails?.description)).toEqual(['dp 16', 'dp 8', 'dp 4']);
    const stages = await complete('layout: 1\nworld_size: 24\nparallelism:\n  tp: 4\n  pp: |\n');
    expect(stages.items.map(({ detail }) => detail)).toEqual([1, 2, 3, 6].map((pp) => `pp: ${pp} → dp ${6 / pp}`));
  });

  test('replaces the value that is there, and puts a space behind a colon', async () => {
    const replaced = await complete('layout: 1\nworld_size: 8\nparallelism:\n  pp: 1|6 # stages\n');
    expect(replaced.accept('4')).toBe('layout: 1\nworld_size: 8\nparallelism:\n  pp: 4 # stages\n');
    const glued = await complete('layout: 1\nworld_size: 8\nparallelism:\n  pp:|\n');
    expect(glued.accept('4')).toBe('layout: 1\nworld_size: 8\nparallelism:\n  pp: 4\n');
  });

  test('counts what a missing value leaves open, and keeps to the value that is there', async () => {
    const open = await complete('layout: 1\nworld_size: 64\nparallelism:\n  tp: 8\n  pp: 4\n  ep: |\n');
    expect(open.items.map(({ label, labelDetails }) => [label, labelDetails?.description])).toEqual([
      ['1', 'expt_dp 2'],
      ['2', 'expt_dp 1'],
    ]);
    const shards = await complete('layout: 1\nworld_size: 8\nparallelism:\n  tp: 2\n  num_weight_shards: |\n');
    expect(shards.labels).toEqual(['2', '4', '8']);
    const there = await complete('layout: 1\nworld_size: 8\nparallelism:\n  tp: 4|\n');
    expect(there.items.filter(({ preselect }) => preselect).map(({ label }) => label)).toEqual(['4']);
  });

  test('speaks of the ranks of a module that says dp', async () => {
    const { items } = await complete('layout: 1\nworld_size: 8\nmodules:\n  language:\n    dp: 2\n    tp: |\n');
    expect(items[0]).toMatchObject({ label: '4', detail: 'tp: 4 → 8 ranks' });
  });

  test('offers the process groups of this layout, the rank orders, and what is not yet in a list', async () => {
    const groups = await complete(
      'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\ncommunicators:\n  high_priority_stream_groups: [tp, |]\n',
    );
    expect(groups.labels).toContain('dp_cp');
    expect(groups.labels).not.toContain('tp');
    expect(groups.items.find(({ label }) => label === 'dp')?.detail).toBe(
      'high_priority_stream_groups: dp → 2 groups of 4 ranks',
    );
    const orders = await complete('layout: 1\nworld_size: 8\nparallelism:\n  tp: 2\n  order: tp-|\n');
    expect(orders.items[0]).toMatchObject({ label: 'tp-cp-ep-dp-pp', preselect: true });
  });

  test('works in block lists and in brackets over several lines', async () => {
    const checks = await complete('smoke:\n  checks:\n    - groups\n    - |\n');
    expect(checks.labels).toContain('bandwidth');
    const slots = await complete('ntp:\n  non_active_ranks_per_dp:\n    - dp: 0\n      local_ranks: [1]\n    - |\n');
    expect(slots.labels).toEqual(['dp', 'local_ranks', 'cp', 'pp']);
    const many = await complete('layout: 1\ncluster: {\n    nodes: 1,\n    |\n  }\n');
    expect(many.labels).toEqual([
      'gpus_per_node',
      'gpus_per_nvlink_domain',
      'gpu',
      'nvlink_bandwidth',
      'network_bandwidth',
      'nvlink_latency',
      'network_latency',
      'gpu_memory',
    ]);
  });

  test('a new module begins behind the others', async () => {
    const { accept } = await complete('layout: 1\nworld_size: 8\nmodules:\n  images:\n    num_ranks: 2\n  |\n');
    expect(accept('language')).toMatch(/rank_offset: \$\{1:2\}\n +num_ranks: \$\{2:6\}/);
  });

  test('gives no tab stops to an editor that knows none', async () => {
    const plain = await ServerProcess.start();
    const { at } = await plain.openMarked('layout: 1\nworld_size: 8\n|\n');
    const items = await plain.request<CompletionItem[]>('textDocument/completion', at);
    expect(items.map(({ label }) => label)).toContain('parallelism');
    expect(JSON.stringify(items)).not.toContain('$');
    expect(await plain.stop()).toBe(0);
  });
});

describe('hover', () => {
  async function hoverText(marked: string): Promise<string> {
    return server.hoverText((await server.openMarked(marked)).at);
  }

  const NTP = `layout: 1
world_size: 16
cluster: {nodes: 2, gpus_per_node: 8}
parallelism: {tp: 4, pp: 2}
ntp:
  tp_spares: 1
  non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]
  failed_ranks: [11]
`;

  test('on the number of a rank says where it lies and whom it talks to', async () => {
    const text = await hoverText(NTP.replace('[11]', '[1|1]'));
    expect(text).toContain('**Rank 11**: node 1, GPU 3');
    expect(text).toContain('tp 3 of 4, dp 0 of 2, pp 1 of 2');
    expect(text).toContain('- `tp`: [8, 9, 10, 11]');
    expect(text).toContain('- `pp`: [3, 11]');
  });

  test('on a local slot says which ranks it stands for', async () => {
    expect(await hoverText(NTP.replace('[3]', '[|3]'))).toContain('**Slot 3** of replica dp 0: ranks [3, 11]');
  });

  test('counts the groups of the largest world and lists none of them', async () => {
    const text = await hoverText('layout: 1\nworld_size: 2147483648\nparallelism: {d|p: 2147483648}\n');
    expect(text).toContain('Process group `dp`: 1 group of 2,147,483,648 ranks.');
  });

  test('on the name of a module says what it works out to', async () => {
    const text = await hoverText('layout: 1\nworld_size: 8\nmodules:\n  langu|age: {num_ranks: 8, tp: 2}\n');
    expect(text).toContain('8 ranks (0 to 7); dp 4');
  });
});

test('semantic tokens tell keys, names of modules, options, numbers and comments', async () => {
  const { uri, lines, text } = await server.openMarked(
    'layout: 1 # one\nmodules:\n  language: {num_ranks: 8, dp: 8}\nntp: {placement: packed}\nodd: 1\n',
  );
  const { semanticTokensProvider } = server.initialized.capabilities;
  const legend: SemanticTokensLegend | undefined = semanticTokensProvider?.legend;
  const { data } = await server.request<SemanticTokens>('textDocument/semanticTokens/full', { textDocument: { uri } });
  const found: string[] = [];
  for (let i = 0, line = 0, character = 0; i < data.length; i += 5) {
    const [down = 0, right = 0, length = 0, type = 0, modifiers = 0] = data.slice(i, i + 5);
    line += down;
    character = down > 0 ? right : character + right;
    const start = lines.offsetAt({ line, character });
    const names = legend?.tokenModifiers.filter((_, bit) => modifiers & (1 << bit)).join() ?? '';
    found.push(`${text.slice(start, start + length)}:${legend?.tokenTypes[type]}${names && `.${names}`}`);
  }
  expect(found).toEqual([
    ...['layout:property', '1:number', '# one:comment', 'modules:property', 'language:class.declaration'],
    ...['num_ranks:property', '8:number', 'dp:property.readonly', '8:number'],
    ...['ntp:property', 'placement:property', 'packed:enumMember'],
  ]);
});

test.each([
  ['under a key that holds a map', 'modules:\n|', 'modules:\n  '],
  ['under a key of a module', 'modules:\n  language:\n  |\n', 'modules:\n  language:\n    \n'],
  ['behind a value', 'modules:\n  language:\n    tp: 2\n|', 'modules:\n  language:\n    tp: 2\n    '],
  ['under a number still to come', 'parallelism:\n  tp:\n  |', 'parallelism:\n  tp:\n  '],
])('a new line is indented %s', async (_, marked, wanted) => {
  const { at, lines } = await server.openMarked(marked);
  const edits = await server.request<TextEdit[] | null>('textDocument/onTypeFormatting', {
    ...at,
    ch: '\n',
    options: { tabSize: 2, insertSpaces: true },
  });
  expect(applied(lines, edits ?? [])).toBe(wanted);
});
