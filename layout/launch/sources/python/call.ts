import { type Tree, type TreeMap, textAtPath } from '../tree';
import { CALLEE } from './module';

/** Whether a value was made by a call of a class or function with a name, such as `ModuleGridSpec(...)`. */
export function isCallOf(tree: Tree, name: string): tree is TreeMap {
  return tree.kind === 'map' && textAtPath(tree, CALLEE)?.split('.').at(-1) === name;
}
