import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { check, processGroups, RULES } from '..';
import { FRAMEWORKS, frameworkOf, sizedDegrees } from '.';
import { holds, RULES_OF_ANY_JOB } from './heldRules';
import { frameworkPageName } from './page';

/** What launch files of the frameworks' own repositories are imported as (`tools/frameworks/examples.mjs`). */
const OWN = join(import.meta.dirname, '../../docs/frameworks/examples');

const CODES = new Set(RULES.map(({ code }) => code));

describe.each(FRAMEWORKS.map((one) => [frameworkPageName(one), one] as const))('%s', (_, framework) => {
  const { rules, example, name, engine } = framework;

  test('its example is a layout of it without errors, whose groups are known', () => {
    const { diagnostics, facts, resolved } = check(example);
    expect(diagnostics.filter(({ severity }) => severity !== 'information')).toEqual([]);
    expect(facts?.framework).toBe(framework);
    expect((resolved ? processGroups(resolved) : []).some(({ size }) => size > 1)).toBe(true);
  });

  test('the rules that it names exist, and hold for it', () => {
    const { own, except = [], also = [] } = rules;
    expect([...own, ...except, ...also].filter((code) => !CODES.has(code))).toEqual([]);
    expect([...own, ...also].filter((code) => !holds(code, framework))).toEqual([]);
    expect(except.filter((code) => holds(code, framework))).toEqual([]);
  });

  test('no other description has its name and engine', () => {
    expect(FRAMEWORKS.filter((one) => one.name === name && one.engine === engine)).toEqual([framework]);
  });
});

test.each(readdirSync(OWN).filter((file) => file.endsWith('.layout.yaml')))(
  'what %s holds, a launch file of its own repository, is a layout of it without errors and warnings',
  (file) => {
    const { diagnostics, facts } = check(readFileSync(join(OWN, file), 'utf8'));
    expect(diagnostics.filter(({ severity }) => severity !== 'information')).toEqual([]);
    expect(facts?.framework && `${frameworkPageName(facts.framework)}.layout.yaml`).toBe(file);
  },
);

test('the rules of any job exist', () => {
  expect(RULES_OF_ANY_JOB.filter((code) => !CODES.has(code))).toEqual([]);
});

test('a layout without a family, or of one that is not described, is of the training script of Megatron-LM', () => {
  const frameworkIn = (launch: string) => {
    const root = check(`layout: 1\nworld_size: 1\n${launch}parallelism: {tp: 1}\n`).facts?.root;
    return root && frameworkOf(root);
  };
  expect(['', 'launch: {family: megatron-lm}\n', 'launch: {family: mine}\n'].map(frameworkIn)).toEqual([
    null,
    null,
    null,
  ]);
  expect(frameworkIn('launch: {family: verl, engine: torchtitan}\n')?.engine).toBe(undefined);
  expect(frameworkIn('launch: {family: verl, engine: fsdp}\n')?.engine).toBe('fsdp');
});

test('a degree that takes what the others leave is rounded down, and open without a world', () => {
  const { facts } = check('layout: 1\nworld_size: 12\nlaunch: {family: torchtitan}\nparallelism: {tp: 8}\n');
  const world = facts?.framework?.world;
  const sizes = (ranks: number | undefined) =>
    world && facts && sizedDegrees(world, facts.root, ranks)?.map(({ degree, size }) => `${degree.name} ${size}`);
  expect(sizes(12)).toEqual(['dp_replicate 1', 'dp_shard 1', 'cp 1', 'tp 8', 'pp 1']);
  expect(sizes(undefined)).toBe(undefined);
});
