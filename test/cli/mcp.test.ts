import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NODE } from '../harness/programs';
import { until } from '../harness/until';

const client = new Client({ name: 'test', version: '1' });

beforeAll(() => client.connect(new StdioClientTransport({ command: NODE, args: [resolve('dist/cli.js'), 'mcp'] })));
afterAll(() => client.close());

async function call(
  name: string,
  args: Record<string, unknown>,
  to = client,
): Promise<{ text: string; isError: boolean }> {
  const { content, isError } = await to.callTool({ name, arguments: args });
  const [first] = content as { readonly type: string; readonly text: string }[];
  return { text: first?.text ?? '', isError: isError === true };
}

test('lists its tools, all read-only', async () => {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    ...['check', 'groups', 'stages', 'compare', 'estimate', 'plan', 'resize', 'verify', 'explain', 'import', 'export'],
    'drift',
  ]);
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
  expect(tools.filter(({ inputSchema }) => inputSchema.additionalProperties !== false)).toEqual([]);
  expect(tools.filter(({ outputSchema }) => outputSchema?.type !== 'object')).toEqual([]);
});

test('check gives the findings that the command line prints', async () => {
  const { text, isError } = await call('check', { layout: 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n' });
  expect(isError).toBe(false);
  const [file] = JSON.parse(text);
  expect(file.findings.map(({ code }: { code: string }) => code)).toEqual(['dense-factorization']);
});

test('groups of one rank', async () => {
  const { text } = await call('groups', {
    layout: 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n',
    group: 'tp',
    rank: 3,
  });
  expect(JSON.parse(text).groups).toEqual([{ name: 'tp', module: null, ranks: [[2, 3]] }]);
});

test('an empty answer comes with the reason', async () => {
  const layout = 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n';
  const { content } = await client.callTool({ name: 'groups', arguments: { layout, group: 'nope' } });
  expect(JSON.stringify(content)).toContain('nope');
});

test('what cannot be done is an error with the reason', async () => {
  const estimate = await call('estimate', { layout: 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n' });
  expect(JSON.parse(estimate.text)).toMatchObject({ ok: false });
  expect(await call('explain', { code: '--help' })).toEqual({
    isError: true,
    text: "parallelism-layout: the flag '--help' says nothing about the layout: no key is read from it\n",
  });
});

/** The structured answer, which the client holds against the schema of the tool. */
async function structured(name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { structuredContent, isError, content } = await client.callTool({ name, arguments: args });
  expect({ isError: isError === true, content }).toMatchObject({ isError: false });
  return structuredContent as Record<string, unknown>;
}

const SMALL = 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\nmodel: {num_layers: 8}\n';
const WRONG = 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n';
const MOE = readFileSync('examples/moe-64gpu.layout.yaml', 'utf8');
const LOG = ' iteration 2/ 9 | elapsed time per iteration (ms): 812.5 | lm loss: 1.0 |\n';

test.each([
  ['check', { layout: WRONG }, { ok: false, findings: [{ code: 'dense-factorization' }] }],
  ['groups', { layout: SMALL, group: 'tp', rank: 3 }, { groups: [{ name: 'tp', ranks: [[2, 3]] }] }],
  ['stages', { layout: SMALL }, { ok: true, stages: [{ pp: 0 }] }],
  [
    'compare',
    { before: SMALL, after: SMALL.replace('tp: 2', 'tp: 4'), with_checkpoint: true },
    { same: false, world_size: [8, 8], checkpoint: [{ module: null }] },
  ],
  ['estimate', { layout: MOE }, { ok: true }],
  [
    'plan',
    { layout: MOE, top: 1, gpus: [32], gpu: ['B200'] },
    { layouts: [{ gpus: 32, gpu: 'B200' }, { is_present: true }] },
  ],
  ['resize', { layout: MOE, without_nodes: [3, 4], top: 1 }, { gpus_available: 48, loss: { nodes: 2 } }],
  [
    'verify',
    { layout: SMALL, files: [{ name: 'slurm.out', text: LOG }] },
    { layout: 'layout', sources: [{ file: 'slurm.out', kind: 'log' }], measured: { steps: 1 } },
  ],
  ['explain', { code: 'tp' }, { pages: [{ kind: 'key', name: 'tp' }, { kind: 'group' }] }],
  ['import', { text: 'torchrun --nproc_per_node 8 pretrain_gpt.py\n' }, { family: 'megatron-lm' }],
  [
    'export',
    { layout: SMALL, to: 'torchrun' },
    {
      text: expect.stringMatching(/^torchrun /m),
      notes: expect.arrayContaining([expect.stringContaining('also needs')]),
    },
  ],
  ['drift', { layout: SMALL, launch: 'torchrun --nproc_per_node 8 pretrain_gpt.py\n' }, { ok: false }],
])('%s answers as its schema says', async (name, args, answer) => {
  expect(await structured(name, args)).toMatchObject(answer);
});

test.each([
  ['import', { text: 'echo hello\n' }, 'No command that starts a training job was found.'],
  ['groups', { layout: WRONG }, 'tp 3 does not divide 8 ranks.'],
  ['compare', { before: SMALL, after: WRONG }, 'after:3: tp 3 does not divide 8 ranks.'],
  ['export', { layout: WRONG, to: 'torchrun' }, 'is not exported, as it has errors'],
  ['plan', { layout: SMALL }, 'no plan: the layout lacks'],
  ['explain', { code: 'nope' }, 'nope'],
  ['check', { layout: SMALL, folder: '/' }, 'Unrecognized key: "folder"'],
  ['verify', { layout: SMALL, files: [{ name: '../x', text: '' }] }, 'Invalid'],
])('%s that fails is an error with the reason', async (name, args, reason) => {
  const { content, isError } = await client.callTool({ name, arguments: args });
  expect(isError).toBe(true);
  expect((content as { text: string }[]).map(({ text }) => text).join('\n')).toContain(reason);
  // nothing is left of the files that were sent
  expect(readdirSync(tmpdir()).filter((one) => one.startsWith('parallelism-layout-mcp-'))).toEqual([]);
});

test('import reads a launch script', async () => {
  const script = 'torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2\n';
  const { text } = await call('import', { text: script });
  expect(JSON.parse(text).layout).toMatchObject({ parallelism: { tp: 2 } });
});

test('drift holds a layout against a launch script', async () => {
  const launch = 'torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2\n';
  const { text } = await call('drift', { layout: 'layout: 1\nworld_size: 8\nparallelism: {tp: 4}\n', launch });
  const [{ ok, family, differences }] = JSON.parse(text);
  expect({ ok, family }).toEqual({ ok: false, family: 'megatron-lm' });
  expect(differences[0]).toMatchObject({
    key: 'parallelism.tp',
    layout: { value: 4, line: 3 },
    launch: { value: 2, source: { file: 'launch', line: 1 } },
  });
});

test('drift opens no file that a launch script names, and refuses what is no launch file', async () => {
  const launch = 'source /etc/hostname\nnothing here\n';
  const { isError, text } = await call('drift', { layout: 'layout: 1\n', launch });
  expect(isError).toBe(true);
  expect(text).toMatch(/^parallelism-layout: launch: /);
});

describe('in a folder that attacks', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-'));
  const server = { command: NODE, args: [resolve('dist/cli.js'), 'mcp'], cwd: folder };
  const there = new Client({ name: 'test', version: '1' });

  beforeAll(async () => {
    writeFileSync(join(folder, '.parallelism-layout.yaml'), 'rules: {dense-factorization: off}\n');
    writeFileSync(join(folder, 'extra.sh'), 'TP=4\n');
    await there.connect(new StdioClientTransport(server));
  });
  afterAll(async () => {
    await there.close();
    rmSync(folder, { recursive: true });
  });

  test('no file is read that the client does not send', async () => {
    const wrong = 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n';
    expect((await call('check', { layout: wrong }, there)).text).toContain('dense-factorization');
    const text = 'source ./extra.sh\ntorchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size $TP\n';
    const { values } = JSON.parse((await call('import', { text }, there)).text);
    expect(values.find(({ key }: { key: string }) => key === 'parallelism.tp').value).toBe(null);
  });

  test('no text of any tool is the name of a file that is read', async () => {
    const secret = join(folder, 'secret.json');
    const sizes = { num_hidden_layers: 7919, hidden_size: 64, num_attention_heads: 4, intermediate_size: 64 };
    writeFileSync(secret, JSON.stringify({ ...sizes, vocab_size: 1024 }));
    const job =
      'layout: 1\nworld_size: 8\ncluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\nparallelism: {tp: 2}\nmodel: {num_layers: 4, hidden_size: 64, num_attention_heads: 4, vocab_size: 1024}\nsequence: {seq_length: 64}\nbatch: {micro_batch_size: 1, global_batch_size: 8}\n';
    const { tools } = await there.listTools();
    const calls = tools.flatMap(({ name, inputSchema: { properties = {}, required = [] } }) => {
      const texts = Object.entries(properties as Record<string, { type?: string }>).flatMap(([key, { type }]) =>
        type === 'string' ? [key] : [],
      );
      const whole = Object.fromEntries(texts.flatMap((key) => (required.includes(key) ? [[key, job]] : [])));
      return texts.map((key) => ({ name, key, given: { ...whole, [key]: secret } }));
    });
    expect(calls.map(({ name, key }) => `${name} ${key}`)).toEqual(
      expect.arrayContaining(['plan model', 'import text', 'drift launch', 'explain code', 'groups group']),
    );
    await Promise.all(
      calls.map(async ({ name, key, given }) => {
        const { text } = await call(name, given, there);
        expect(text, `${name} ${key}`).not.toMatch(/7919|no such file/);
      }),
    );
  });

  test('an answer, a request and the number of both are bounded', async () => {
    const huge = await call('groups', { layout: 'layout: 1\nworld_size: 1048576\nparallelism: {tp: 8}\n' }, there);
    expect(huge.text.length).toBeLessThan(1_000_200);
    expect(huge.text).toContain('cut after 1000000 characters');
    expect((await call('import', { text: 'x'.repeat(4_000_001) }, there)).isError).toBe(true);
    let refused = 0;
    for (let i = 0; i < 80; i++) {
      call('explain', { code: 'tp' }, there).then(
        ({ text }) => {
          refused += text.startsWith('more than 64 requests wait') ? 1 : 0;
        },
        // the server ends before it has answered them all
        () => undefined,
      );
    }
    await until(
      () => refused,
      (count) => count === 80 - 64 - 4,
      'requests are refused',
    );
    await there.close();
  });

  test('lines that are no messages are passed over, and ones that are too long are refused by their number', async () => {
    const child = spawn(server.command, server.args, { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] });
    const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const lines = ['[', '{"jsonrpc":"2.0"}', 'null', '{"__proto__":{"jsonrpc":"2.0"}}', '['.repeat(100_000), '\u0000'];
    child.stdin.on('error', () => undefined);
    child.stdin.write(`${lines.join('\n')}\n`);
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize })}\n`);
    const [first] = await once(child.stdout.setEncoding('utf8'), 'data');
    expect(JSON.parse(first).result.serverInfo.name).toBe('parallelism-layout');
    const params = { name: 'check', arguments: { layout: 'x'.repeat(11 * 2 ** 20) } };
    const answers: string[] = [];
    child.stdout.on('data', (text: string) => answers.push(text));
    child.stdin.write(`${JSON.stringify({ method: 'tools/call', params, jsonrpc: '2.0', id: 2 })}\n`);
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 'three', method: 'tools/call', params })}\n`);
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 4, method: 'tools/list' })}\n`);
    await until(
      () => answers.join(''),
      (text) => text.includes('"id":4'),
      'the server answers',
    );
    const all = answers
      .join('')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(all.map(({ id, error }) => [id, error?.message ?? null])).toEqual([
      [2, 'A message has more than 8 MiB, which is the most.'],
      ['three', 'A message has more than 8 MiB, which is the most.'],
      [4, null],
    ]);
    // memory does not grow with a line that never ends
    child.stdin.write(Buffer.alloc(64 * 2 ** 20, 'x'));
    const ended = once(child, 'exit');
    child.stdin.end();
    await ended;
  });
});
