import { describe, expect, test } from 'vitest';
import { FORMAT, formatMarkdown, type KeySpec, keyFacts, keyMarkdown, layoutSchema, mapOf } from '../layout';
import { signature } from './describe';

/** Every key with its path and its description. */
function* placed(spec: KeySpec, parent: string): Iterable<readonly [path: string, name: string, spec: KeySpec]> {
  const map = mapOf(spec.type === 'record' ? spec.values : spec);
  for (const [name, own] of Object.entries<KeySpec>(map?.keys ?? {})) {
    const path = [parent, ...(spec.type === 'record' ? ['any'] : []), name].filter((part) => part !== '').join('.');
    yield [path, name, own];
    yield* placed(own, path);
  }
}

describe('a key is described alike', () => {
  const keys = [...placed(FORMAT, '')];

  test('there are many', () => {
    expect(keys.length).toBeGreaterThan(250);
  });

  test('by hover, explain, the reference and the schema', () => {
    const reference = formatMarkdown();
    const schema = JSON.stringify(layoutSchema());
    const wrong = keys.flatMap(([path, name, spec]) => {
      const shown = { hover: signature(name, spec).source, explain: keyMarkdown(path) ?? '', reference, schema };
      return keyFacts(spec).flatMap(([word, text]) =>
        Object.entries(shown).flatMap(([where, all]) => {
          const isOwn = where === 'schema' && (word === 'type' || text === 'required');
          const wanted = where === 'reference' ? text.replaceAll('|', '\\|') : where === 'schema' ? inJson(text) : text;
          return isOwn || all.includes(wanted) ? [] : [`${where}: ${path}: ${text}`];
        }),
      );
    });
    expect(wrong).toEqual([]);
  });

  test('a switch that is on has a flag that takes it away', () => {
    const [, name, spec] = keys.find(([path]) => path === 'parallelism.overlap_p2p_comm') ?? [];
    expect(name && spec && signature(name, spec).source).toBe(
      '**overlap_p2p_comm**: true or false · default `true` · Megatron-LM `--no-overlap-p2p-communication` for `false`',
    );
  });
});

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
