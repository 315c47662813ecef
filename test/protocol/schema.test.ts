import { readdirSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FORMAT, layoutSchema } from '../../layout';
import { ServerProcess } from './client';

interface Validation {
  readonly fileMatch: readonly string[];
  readonly url: string;
}

const { contributes } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  contributes: { yamlValidation: Validation[]; jsonValidation: Validation[] };
};

const MISTAKE = 'layout: 1\nworld_size: 8\nparallelism: {tp: two}\n';

/** The YAML extension's own server, told of our schema as that extension tells it of what others contribute. */
let yaml: ServerProcess;
let ours: ServerProcess;

beforeAll(async () => {
  ours = await ServerProcess.start();
  yaml = await ServerProcess.start(
    {},
    {},
    [],
    'bench/peers/node_modules/yaml-language-server/bin/yaml-language-server',
  );
  const settings: Readonly<Record<string, object>> = { yaml: { validate: true, schemaStore: { enable: false } } };
  yaml.connection.onRequest('workspace/configuration', ({ items }: { items: { section: string }[] }) =>
    items.map(({ section }) => settings[section] ?? {}),
  );
  await yaml.connection.sendNotification('workspace/didChangeConfiguration', { settings });
  const associations = contributes.yamlValidation.map(({ fileMatch, url }) => ({
    fileMatch: fileMatch.map((pattern) => `/${pattern}`),
    uri: pathToFileURL(url).href,
  }));
  await yaml.connection.sendNotification('json/schemaAssociations', associations);
});

afterAll(async () => {
  await yaml.stop();
  expect(await ours.stop()).toBe(0);
});

async function findings(server: ServerProcess, uri: string, text: string) {
  const next = server.nextDiagnostics(uri);
  await server.open(uri, text);
  return next;
}

describe('the JSON schema', () => {
  test('is that of the keys', () => {
    expect(JSON.parse(readFileSync('schemas/layout.schema.json', 'utf8'))).toEqual(layoutSchema());
    expect(Object.keys(layoutSchema().properties as object)).toEqual(Object.keys(FORMAT.keys));
  });

  test('is contributed for files that are not layouts by their name', () => {
    for (const validations of [contributes.yamlValidation, contributes.jsonValidation]) {
      const patterns = validations.filter(({ url }) => url === './schemas/layout.schema.json');
      expect(patterns).toHaveLength(1);
      expect(patterns[0]?.fileMatch.filter((pattern) => /layout\.ya?ml$/.test(pattern))).toEqual([]);
    }
  });

  test('finds a mistake in a file named otherwise', async () => {
    const [finding, ...others] = await findings(yaml, 'file:///a/job.parallelism.yaml', MISTAKE);
    expect(others).toEqual([]);
    expect(finding?.message).toContain('integer');
    expect(finding?.range.start.line).toBe(2);
  });

  test('takes every example', async () => {
    for (const name of readdirSync('examples').filter((one) => one.endsWith('.layout.yaml'))) {
      const uri = `file:///examples/${name.replace('.layout.', '.parallelism.')}`;
      expect([name, await findings(yaml, uri, readFileSync(`examples/${name}`, 'utf8'))]).toEqual([name, []]);
    }
  });

  test('says nothing of a layout file, of which our server speaks', async () => {
    expect(await findings(yaml, 'file:///a/job.layout.yaml', MISTAKE)).toEqual([]);
    expect(await findings(ours, 'file:///a/job.layout.yaml', MISTAKE)).toHaveLength(1);
  });
});
