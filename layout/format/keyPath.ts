import { FORMAT, type KeyPath } from './keys';
import type { KeySpec, MapSpec } from './spec';

/** What the format says of the key at a path; undefined where the format has no such key. Lists are passed through. */
export function specAt(path: readonly string[]): KeySpec | undefined {
  return path.reduce<KeySpec | undefined>(specBelow, FORMAT);
}

/** What the format says of a key in the map of another, in the items of a list, or of an entry of a record, whatever its name. */
export function specBelow(spec: KeySpec | undefined, key: string): KeySpec | undefined {
  const map = mapOf(spec);
  if (map) {
    return Object.hasOwn(map.keys, key) ? map.keys[key] : undefined;
  }
  return spec?.type === 'record' ? spec.values : undefined;
}

/** The map that a key holds, itself or as the items of a list. */
export function mapOf(spec: KeySpec | undefined): MapSpec | undefined {
  const inner = spec?.type === 'list' ? spec.items : spec;
  return inner?.type === 'map' ? inner : undefined;
}

/** The description of a key by its path; undefined where the format has no such key. */
export function specOf(path: string): KeySpec | undefined {
  return specAt(path.split('.'));
}

/** Whether a text is the path of a key: what reads paths from elsewhere asks once, at its border. */
export function isKeyPath(path: string): path is KeyPath {
  return specOf(path) !== undefined;
}

/**
 * The key beside this one whose value it has where it is left out, as the text of `derived` says: `parallelism.tp` for
 * `parallelism.expt_tp`; undefined where no other key alone decides.
 */
export function derivedFrom(key: KeyPath): KeyPath | undefined {
  const spec = specOf(key);
  return siblingOf(key, spec && 'derived' in spec ? spec.derived : '');
}

/**
 * The degrees whose product a number of weight shards is: tensor parallelism, and how often weights are cut once more; undefined for
 * other keys.
 */
export function shardFactors(key: KeyPath): { readonly tp: KeyPath; readonly remat: KeyPath } | undefined {
  const [shards, prefix = ''] = /\.(expt_)?num_weight_shards$/.exec(key) ?? [];
  const [tp, remat] = ['tp', 'gtp_remat'].map((name) => siblingOf(key, `${prefix}${name}`));
  return shards && tp && remat ? { tp, remat } : undefined;
}

/** The key of another name in the same section; undefined where the format has none. */
function siblingOf(key: KeyPath, name: string): KeyPath | undefined {
  const path = `${key.slice(0, key.lastIndexOf('.') + 1)}${name}`;
  return isKeyPath(path) ? path : undefined;
}

/** The keys that describe one model, which a module has too: `modules.<name>.model`, `modules.<name>.sequence`. */
type ModelPath = Extract<KeyPath, `${'model' | 'sequence'}.${string}`>;

/** Whether a key describes one model, so that a module may have it. */
export function isModelPath(path: string): path is ModelPath {
  return /^(model|sequence)\./.test(path) && isKeyPath(path);
}
