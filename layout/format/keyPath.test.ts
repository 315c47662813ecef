import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MEGATRON_DEFAULTS } from '../frameworks/megatronDefaults';
import { PLAIN_OPTIONS } from '../frameworks/megatronOptions';
import { derivedFrom, isKeyPath, isModelPath, specOf } from './keyPath';
import { FORMAT, type KeyPath } from './keys';

describe('a key path', () => {
  test.each<KeyPath>([
    'world_size',
    'parallelism',
    'parallelism.tp',
    'modules.vision.model.num_layers',
    'phases.rollout.tp',
    'ntp.non_active_ranks_per_dp.local_ranks',
  ])('%s is one', (path) => {
    expect(isKeyPath(path)).toBe(true);
  });

  test.each([
    '',
    'tp',
    'parallelism.',
    'parallelism.tensor_parallel',
    'parallelism.tp.x',
    'modules.vision.world_size',
    'model.toString',
    'phases.rollout.train.tp',
  ])('%j is none', (path) => {
    expect(isKeyPath(path)).toBe(false);
  });

  test('of a key in another section does not compile', () => {
    // @ts-expect-error the key belongs to parallelism
    const wrong: KeyPath = 'model.account_for_embedding_in_pipeline_split';
    // @ts-expect-error a module has no such key
    const unknown: KeyPath = 'modules.vision.world_size';
    expect([wrong, unknown].map(isKeyPath)).toEqual([false, false]);
  });

  test('of a model is one that a module has too', () => {
    expect(isModelPath('model.num_layers')).toBe(true);
    expect(isModelPath('sequence.seq_length')).toBe(true);
    expect(isModelPath('batch.micro_batch_size')).toBe(false);
    expect(isModelPath('model.tp')).toBe(false);
    expect(specOf('modules.language.model.num_layers')).toBe(specOf('model.num_layers'));
  });
});

test('a key takes the value of the one that its description names', () => {
  expect(derivedFrom('parallelism.expt_tp')).toBe('parallelism.tp');
  expect(derivedFrom('model.num_query_groups')).toBe('model.num_attention_heads');
  expect(derivedFrom('parallelism.dp')).toBeUndefined();
  expect(derivedFrom('parallelism.tp')).toBeUndefined();
});

describe('every path exists', () => {
  test('in the tables of launch files', () => {
    const { values, withExperts = {} } = MEGATRON_DEFAULTS;
    const paths: readonly string[] = [
      ...Object.keys({ ...values, ...withExperts }),
      ...PLAIN_OPTIONS.map(({ key }) => key),
    ];
    expect(paths.length).toBeGreaterThan(150);
    expect(paths.filter((path) => !isKeyPath(path))).toEqual([]);
  });

  const root = join(import.meta.dirname, '..', '..');
  const sections = Object.entries(FORMAT.keys).flatMap(([name, { type }]) => (type === 'map' ? [name] : []));
  const quoted = new RegExp(`\`((?:${sections.join('|')})\\.\\w+)\``, 'g');

  test.each(['README.md', 'docs', 'docs/rules'])('in the prose of %s', (place) => {
    const files = place.endsWith('.md')
      ? [place]
      : readdirSync(join(root, place))
          .filter((name) => name.endsWith('.md'))
          .map((name) => `${place}/${name}`);
    const wrong = files.flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(quoted)].flatMap(([, path = '']) =>
        isKeyPath(path) || path.endsWith('.ts') ? [] : [`${file}: ${path}`],
      ),
    );
    expect(wrong).toEqual([]);
  });
});
