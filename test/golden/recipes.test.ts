import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { check, stagePlans } from '../../layout';

/*
 * Layouts written from public recipes. The first comment of a file names the repository, its revision and the path; a comment
 * `# diagnostics:` lists the codes that the recipe deserves at `warning` or above.
 */
const FOLDER = resolve('test/golden/recipes');
const recipes = readdirSync(FOLDER).map((file) => ({ file, text: readFileSync(resolve(FOLDER, file), 'utf8') }));

describe('public recipes', () => {
  test('there are enough, each with its source', () => {
    expect(recipes.length).toBeGreaterThanOrEqual(40);
    expect(recipes.filter(({ text }) => !/^# \S+\/\S+ at [0-9a-f]{10}, \S+$/m.test(text))).toEqual([]);
  });

  test('they come from many projects', () => {
    const projects = new Set(recipes.map(({ text }) => /^# ([^/]+\/\S+) at /m.exec(text)?.[1]));
    expect([...projects].sort()).toEqual([
      'AMD-AGI/Primus',
      'NVIDIA-NeMo/Megatron-Bridge',
      'NVIDIA-NeMo/RL',
      'NVIDIA/Megatron-LM',
      'THUDM/slime',
      'mlcommons/training_results_v5.1',
      'modelscope/ms-swift',
      'pytorch/torchtitan',
      'volcengine/verl',
    ]);
  });

  test.each(recipes)('$file', ({ text }) => {
    const [, expected = ''] = /^# diagnostics: (.*)$/m.exec(text) ?? [];
    const { diagnostics, facts } = check(text);
    const codes = new Set(diagnostics.filter(({ severity }) => severity !== 'information').map(({ code }) => code));
    expect([...codes].sort()).toEqual(expected.split(', ').filter((code) => code !== ''));
    if (!codes.has('pipeline-layers')) {
      const layers = facts ? stagePlans(facts).flatMap((plan) => plan.stages() ?? []) : [];
      const held = layers.flatMap((stage) => stage.layers).filter((layer) => layer.startsWith('t'));
      const counts = facts?.modules.map(({ model }) => model.value?.num_layers.value ?? 0) ?? [];
      expect(held).toHaveLength(counts.reduce((total, count) => total + count, 0));
    }
  });
});
