import { resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NODE } from '../harness/programs';

const client = new Client({ name: 'test', version: '1' });

beforeAll(() => client.connect(new StdioClientTransport({ command: NODE, args: [resolve('dist/cli.js'), 'mcp'] })));
afterAll(() => client.close());

async function call(name: string, args: Record<string, unknown>): Promise<{ text: string; isError: boolean }> {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const [first] = content as { readonly type: string; readonly text: string }[];
  return { text: first?.text ?? '', isError: isError === true };
}

test('lists its tools, all read-only', async () => {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['check', 'groups', 'estimate', 'plan', 'explain', 'import', 'drift']);
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
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

test('what cannot be done is an error with the reason', async () => {
  const estimate = await call('estimate', { layout: 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n' });
  expect(JSON.parse(estimate.text)).toMatchObject({ ok: false });
  expect(await call('explain', { code: '--help' })).toEqual({
    isError: true,
    text: 'parallelism-layout: there is no rule, key or process group `--help`\n',
  });
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
