import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Diagnostic, DocumentDiagnosticReport, WorkspaceDiagnosticReport } from 'vscode-languageserver-protocol';
import type { DiagnosticData, Diagnostic as LayoutDiagnostic } from '../../layout';
import { cli } from '../harness/commandLine';
import { ServerProcess } from './client';

const NAME = 'jobs/a.layout.yaml';
const CONFIGURATION = '.parallelism-layout.yaml';
const WRONG = 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n';
const LAUNCHED = `layout: 1
launch: {family: megatron-lm, files: [train.sh]}
world_size: 8
parallelism: {tp: 2}
`;
const SEVERITIES = ['', 'error', 'warning', 'information'];

let folder: string;
let server: ServerProcess;
const uriOf = (name: string) => pathToFileURL(join(folder, name)).href;
const put = (name: string, text: string) => writeFileSync(join(folder, name), text);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'layout-agreement-'));
  mkdirSync(join(folder, 'jobs'));
  put('jobs/train.sh', 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4\n');
  server = await ServerProcess.start({ textDocument: { diagnostic: {} } }, {}, [pathToFileURL(folder).href]);
});

afterEach(async () => {
  expect(await server.stop()).toBe(0);
  rmSync(folder, { recursive: true });
});

const shown = (items: readonly Diagnostic[]) =>
  items.map(({ code, severity, range }) => `${range.start.line + 1}: ${SEVERITIES[severity ?? 0]} ${code}`).sort();

async function pulled(): Promise<string[]> {
  const textDocument = { uri: uriOf(NAME) };
  const report = await server.request<DocumentDiagnosticReport>('textDocument/diagnostic', { textDocument });
  return report.kind === 'full' ? shown(report.items) : [];
}

/** What the extension is told: the panel lists it, and jobs and exports begin where it has no errors. */
async function said(text: string): Promise<string[]> {
  const found = await server.request<readonly LayoutDiagnostic[]>('parallelismLayout/said', { uri: uriOf(NAME) });
  const lineOf = (offset: number) => text.slice(0, offset).split('\n').length;
  return found.map(({ code, severity, span }) => `${lineOf(span.start)}: ${severity} ${code}`).sort();
}

async function onCommandLine(): Promise<string[]> {
  const { stdout } = await cli(folder, 'check', '--format', 'json', NAME);
  const findings: readonly DiagnosticData[] = JSON.parse(stdout)[0].findings;
  return findings.map(({ code, severity, range }) => `${range.start.line + 1}: ${severity} ${code}`).sort();
}

async function closed(): Promise<string[]> {
  const { items } = await server.request<WorkspaceDiagnosticReport>('workspace/diagnostic', { previousResultIds: [] });
  return items.flatMap((item) => (item.uri === uriOf(NAME) && item.kind === 'full' ? shown(item.items) : []));
}

describe('every front end shows the same', () => {
  test.each<readonly [what: string, configuration: string | null, text: string, expected: readonly string[]]>([
    ['by the rules alone', null, WRONG, ['3: error dense-factorization']],
    [
      'where a project weighs a rule',
      'rules: {dense-factorization: warning}',
      WRONG,
      ['3: warning dense-factorization'],
    ],
    ['where a project switches a rule off', 'rules: {dense-factorization: off}', WRONG, []],
    ['where a comment silences a rule', null, WRONG.replace(/}\n/, '} # layout-ignore: dense-factorization\n'), []],
    ['of a launch file', null, LAUNCHED, ['4: warning launch-drift']],
    ['of a launch file that a project weighs', 'rules: {launch-drift: error}', LAUNCHED, ['4: error launch-drift']],
    ['of a launch file that a project silences', 'rules: {launch-drift: off}', LAUNCHED, []],
  ])('%s', async (_, configuration, text, expected) => {
    if (configuration !== null) {
      put(CONFIGURATION, configuration);
    }
    put(NAME, text);
    expect(await onCommandLine()).toEqual(expected);
    expect(await closed()).toEqual(expected);
    await server.open(uriOf(NAME), text);
    // an open layout is compared once its launch files are read
    await expect.poll(pulled).toEqual(expected);
    expect(await said(text)).toEqual(expected);
  });
});

test('the settings of the editor win over the project, and the project counts again without them', async () => {
  put(CONFIGURATION, 'rules: {dense-factorization: off}');
  await server.open(uriOf(NAME), WRONG);
  expect(await pulled()).toEqual([]);
  await server.configure({ rules: { 'dense-factorization': 'warning' } });
  expect([await pulled(), await said(WRONG)]).toEqual([
    ['3: warning dense-factorization'],
    ['3: warning dense-factorization'],
  ]);
  await server.configure({ rules: {} });
  expect([await pulled(), await said(WRONG)]).toEqual([[], []]);
});

test('a configuration is read again when it changes, and its problems stand in it', async () => {
  await server.open(uriOf(NAME), WRONG);
  expect(await pulled()).toEqual(['3: error dense-factorization']);
  put(CONFIGURATION, 'rules: {dense-factorization: off, dense-factorisation: off}');
  const told = server.nextDiagnostics(uriOf(CONFIGURATION));
  await server.changedOnDisk(uriOf(CONFIGURATION), 1);
  expect(await pulled()).toEqual([]);
  expect(await told).toMatchObject([
    {
      message: `${CONFIGURATION}: there is no rule 'dense-factorisation'`,
      range: { start: { line: 0, character: 34 } },
    },
  ]);
  rmSync(join(folder, CONFIGURATION));
  const emptied = server.nextDiagnostics(uriOf(CONFIGURATION));
  await server.changedOnDisk(uriOf(CONFIGURATION), 3);
  expect(await pulled()).toEqual(['3: error dense-factorization']);
  expect(await emptied).toEqual([]);
});
