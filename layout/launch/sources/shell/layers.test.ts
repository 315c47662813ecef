import { expect, test } from 'vitest';
import { Layers } from './layers';

test('copies part without touching each other', () => {
  const first = new Layers<string>([['a', '1']]);
  const second = first.copy();
  first.set('a', '2');
  second.set('b', '3');
  second.set('a', undefined);
  expect([...first.all()]).toEqual([['a', '2']]);
  expect([...second.all()]).toEqual([['b', '3']]);
  expect([first.has('b'), second.has('a'), second.get('b')]).toEqual([false, false, '3']);
});

test('only what changed since two copies parted is named', () => {
  const first = new Layers<string>([
    ['a', '1'],
    ['b', '1'],
  ]);
  const second = first.copy();
  expect([...first.changedSince(second)]).toEqual([]);
  first.set('c', '2');
  second.copy();
  second.set('a', '2');
  expect([...first.changedSince(second)].sort()).toEqual(['a', 'c']);
  expect([...second.changedSince(first)].sort()).toEqual(['a', 'c']);
});

test('many copies keep every value', () => {
  let layers = new Layers<string>();
  const before = layers.copy();
  for (let index = 0; index < 100; index++) {
    layers = layers.copy();
    layers.set(`v${index}`, String(index));
    layers.set(`v${index - 1}`, index % 2 === 0 ? undefined : 'odd');
  }
  expect(layers.all().size).toBe(51);
  expect(layers.get('v98')).toBe('odd');
  expect(layers.get('v97')).toBeUndefined();
  expect([...before.all()]).toEqual([]);
  expect([...layers.all().keys()].every((name) => layers.changedSince(before).has(name))).toBe(true);
});
