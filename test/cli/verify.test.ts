import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Verification } from '../../jobs';
import { cli, cliProcess } from '../harness/commandLine';

const RUNS = resolve('test/golden/data/flight');
const folder = mkdtempSync(join(tmpdir(), 'verify-'));
afterAll(() => rmSync(folder, { recursive: true }));

const LAYOUT = join(folder, 'run.layout.yaml');
writeFileSync(LAYOUT, 'layout: 1\nworld_size: 4\nparallelism:\n  tp: 2\n');
writeFileSync(join(folder, 'pp.layout.yaml'), 'layout: 1\nworld_size: 4\nparallelism:\n  pp: 2\n');
writeFileSync(join(folder, 'bad.layout.yaml'), 'layout: 1\nworld_size: 4\nparallelism:\n  tp: 3\n');
writeFileSync(join(folder, 'evil_2'), Buffer.from('80025d71002858010000007863706f730a73797374656d0a652e', 'hex'));
writeFileSync(
  join(folder, 'log.txt'),
  '[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: \u001b]0;x\u0007\u202e\n',
);

const verify = (...args: string[]) => cli(folder, 'verify', ...args);

describe('verify', () => {
  test('ends with 0 on a healthy run and 1 on a fault', async () => {
    expect(await verify(LAYOUT, `${RUNS}/healthy-tp2dp2`)).toMatchObject({ status: 0, stderr: '' });
    const { status, stdout } = await verify(LAYOUT, `${RUNS}/sleep-tp2dp2-r2/nccl_trace_rank_*`);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^hang: /);
    expect(stdout).toContain('Rank 3 entered tp all_reduce #4; rank 2 did not.');
  });

  test('prints its contract as JSON', async () => {
    const { status, stdout } = await verify(LAYOUT, `${RUNS}/shape-tp2dp2-r2`, '--format', 'json');
    const found = JSON.parse(stdout) as Verification;
    expect(status).toBe(1);
    expect(Object.keys(found)).toEqual([
      'layout',
      'sources',
      'groups',
      'verdict',
      'culprits',
      'victims',
      'mismatch',
      'why',
      'unseen',
      'measured',
      'profiled',
      'slow',
    ]);
    expect(found).toMatchObject({ verdict: 'mismatch', culprits: [{ rank: 2 }], mismatch: { what: 'size' } });
  });

  test('puts differences on the lines of the layout as SARIF', async () => {
    const { stdout } = await verify('pp.layout.yaml', `${RUNS}/mapping-pp2dp2`, '--format', 'sarif');
    const log = JSON.parse(stdout) as { runs: { results: { ruleId: string; message: { text: string } }[] }[] };
    expect(log.runs[0]?.results[0]).toMatchObject({
      ruleId: 'run/groups',
      message: { text: expect.stringContaining('order tp-cp-ep-pp-dp') },
      locations: [{ physicalLocation: { artifactLocation: { uri: 'pp.layout.yaml' }, region: { startLine: 3 } } }],
    });
  });

  test.each([
    [1, 'a layout with errors', ['bad.layout.yaml', '.'], 'bad.layout.yaml:4: tp 3 does not divide 4 ranks.'],
    [2, 'a path that is not there', [LAYOUT, 'nowhere'], 'nowhere: no such file'],
    [2, 'a pattern without files', [LAYOUT, 'x_*'], 'no file matches'],
    [2, 'files that are no sources', [LAYOUT, 'pp.layout.yaml'], 'pp.layout.yaml: is no Flight Recorder dump'],
  ])('ends with %i for %s', async (status, _, args, message) => {
    const done = await verify(...args);
    expect(done.status).toBe(status);
    expect(done.stderr).toContain(message);
    expect(done.stdout).toBe('');
  });

  test('reads a log from standard input', async () => {
    const log = ' iteration 2/ 9 | elapsed time per iteration (ms): 812.5 | lm loss: 1.0 |\n'.repeat(2000);
    const { status, stdout } = await cliProcess(folder, ['verify', LAYOUT, '-'], { input: log });
    expect(status).toBe(1);
    expect(stdout).toContain('812.5 ms a step (the median of 2,000 steps, 2 to 2)');
    const dump = readFileSync(`${RUNS}/sleep-tp2dp2-r2/nccl_trace_rank_3`);
    const json = await cliProcess(folder, ['verify', LAYOUT, '-', '--format', 'json'], { input: dump });
    expect((JSON.parse(json.stdout) as Verification).sources).toMatchObject([
      { file: '-', kind: 'flight-recorder', rank: 3, ok: true },
    ]);
    expect((await verify('-', '-')).stderr).toContain('standard input can be read only once');
  });

  test('refuses a pickle that would run something, and prints nothing that a terminal obeys', async () => {
    const { stdout } = await verify(LAYOUT, 'evil_2', 'log.txt');
    expect(stdout).toContain('opcode 0x63 at byte');
    expect(stdout).toContain('rank 1');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  });
});
