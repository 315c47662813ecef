import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import Ajv from 'ajv';
import Ajv4 from 'ajv-draft-04';
import type { Log } from 'sarif';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { check, RULES } from '../../layout';
import { cli } from '../harness/commandLine';

const folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-reports-'));
beforeAll(() => {
  for (const { code, failing } of RULES) {
    writeFileSync(join(folder, `${code}.layout.yaml`), failing);
  }
  writeFileSync(join(folder, 'four.layout.yaml'), 'layout: 1\nworld_size: 4\nparallelism: {tp: 2}\n');
  writeFileSync(
    join(folder, 'train.sh'),
    'torchrun --nproc_per_node 4 pretrain_gpt.py --tensor-model-parallel-size 4\n',
  );
  // a name that a URI has to escape
  writeFileSync(join(folder, 'a #1 %.layout.yaml'), 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n');
});
afterAll(() => rmSync(folder, { recursive: true }));

const outputOf = async (...args: readonly string[]): Promise<unknown> =>
  JSON.parse((await cli(folder, ...args)).stdout);

describe('SARIF 2.1.0', () => {
  const schema = JSON.parse(
    readFileSync('node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json', 'utf8'),
  );
  const ajv = new Ajv4({
    strict: false,
    // its patterns were written before regular expressions had Unicode
    unicodeRegExp: false,
    formats: { uri: isUri, 'uri-reference': isUriReference, 'date-time': true },
  });
  const fits = ajv.compile(schema);

  test.each([
    ['check', ['check', '--format', 'sarif', '.', 'missing.layout.yaml']],
    ['drift', ['drift', '--format', 'sarif', 'four.layout.yaml', 'train.sh']],
    ['verify', ['verify', '--format', 'sarif', 'four.layout.yaml', resolve('test/golden/data/flight/sleep-tp2dp2-r2')]],
    [
      'verify of other groups',
      ['verify', '--format', 'sarif', 'four.layout.yaml', resolve('test/golden/data/flight/mapping-pp2dp2')],
    ],
  ])('%s prints a valid log with results', async (_, args) => {
    const log = (await outputOf(...args)) as Log;
    expect(fits(log), ajv.errorsText(fits.errors)).toBe(true);
    expect(log.runs[0]?.results?.length).toBeGreaterThan(0);
  });

  test('every rule that can fire is a result of a rule that the log describes', async () => {
    const log = (await outputOf('check', '--format', 'sarif', '.')) as Log;
    const [run] = log.runs;
    const described = run?.tool.driver.rules?.map(({ id }) => id) ?? [];
    expect(described).toEqual(RULES.map(({ code }) => code));
    const named = run?.results?.map(({ ruleId = '', ruleIndex = -1 }) => [ruleId, described[ruleIndex]]) ?? [];
    expect(named.filter(([id, at]) => id !== at)).toEqual([]);
    const fired = new Set(
      RULES.flatMap(({ code, failing, beside }) => [
        ...(beside ? [code] : []),
        ...check(failing).diagnostics.map((diagnostic) => diagnostic.code),
      ]),
    );
    expect(new Set(named.map(([id]) => id))).toEqual(fired);
  });

  test('the schema refuses what is no log', () => {
    expect(fits({ version: '2.1.0', runs: [{ tool: {} }] })).toBe(false);
  });
});

/** The report of GitLab's code quality, as its documentation describes it ("Code Quality report format"). */
const CODE_QUALITY = {
  type: 'array',
  items: {
    type: 'object',
    required: ['description', 'check_name', 'fingerprint', 'severity', 'location'],
    properties: {
      description: { type: 'string', minLength: 1 },
      check_name: { type: 'string', minLength: 1 },
      fingerprint: { type: 'string', minLength: 1 },
      severity: { enum: ['info', 'minor', 'major', 'critical', 'blocker'] },
      location: {
        type: 'object',
        required: ['path', 'lines'],
        properties: {
          // relative to the repository, without `./`
          path: { type: 'string', pattern: '^[^./]' },
          lines: { type: 'object', required: ['begin'], properties: { begin: { type: 'integer', minimum: 1 } } },
        },
      },
    },
  },
};

test('the code quality report of GitLab has its form, and a fingerprint of its own for each issue', async () => {
  const issues = (await outputOf('check', '--format', 'gitlab', '.', 'missing.layout.yaml')) as {
    fingerprint: string;
  }[];
  const ajv = new Ajv();
  expect(ajv.validate(CODE_QUALITY, issues), ajv.errorsText()).toBe(true);
  expect(issues.length).toBeGreaterThan(RULES.length / 2);
  expect(new Set(issues.map(({ fingerprint }) => fingerprint)).size).toBe(issues.length);
});

function isUri(text: string): boolean {
  return URL.canParse(text);
}

function isUriReference(text: string): boolean {
  return URL.canParse(text, 'file:///') && !/[\s"<>\\^`{|}]|%(?![\da-f]{2})/i.test(text);
}
