import { dirname, join, parse as parsePath, resolve } from 'node:path';
import { parse } from 'yaml';
import { fileErrorText, readRegularFile } from '../jobs/regularFile';
import { type RuleLevels, ruleLevels } from '../layout';
import { fail } from './output';

/** The configuration file, in the folder of a layout or above. */
const CONFIG = '.parallelism-layout.yaml';

/** The largest configuration that is read. Bytes. */
const MAX_CONFIG_BYTES = 64 * 1024;

const NONE: RuleLevels = new Map();
const known = new Map<string, RuleLevels | null>();

/**
 * The severities of rules for a layout file: `rules` of the nearest `.parallelism-layout.yaml` in its folder or above. A
 * configuration that cannot be used is reported once, and the exit status is 2.
 */
export function levelsFor(file: string): RuleLevels {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    const levels = levelsIn(folder);
    if (levels) {
      return levels;
    }
    if (folder === parsePath(folder).root) {
      return NONE;
    }
  }
}

/** Makes the next call of `levelsFor` read configurations again. */
export function forgetLevels(): void {
  known.clear();
}

function levelsIn(folder: string): RuleLevels | null {
  const seen = known.get(folder);
  if (seen !== undefined) {
    return seen;
  }
  const levels = readLevels(join(folder, CONFIG));
  known.set(folder, levels);
  return levels;
}

function readLevels(file: string): RuleLevels | null {
  try {
    const value: unknown = parse(readRegularFile(file, MAX_CONFIG_BYTES).toString('utf8'), { maxAliasCount: 0 });
    return levelsOf(file, value);
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return null;
    }
    refuse(file, fileErrorText(error).split('\n')[0] ?? '');
    return NONE;
  }
}

function levelsOf(file: string, value: unknown): RuleLevels {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  const others = isMap ? Object.keys(value).filter((key) => key !== 'rules') : [];
  if (value !== null && !isMap) {
    refuse(file, 'must be a map with the key rules');
    return NONE;
  }
  for (const key of others) {
    refuse(file, `has no key '${key}'; it has rules`);
  }
  const { levels, problems } = ruleLevels(isMap && 'rules' in value ? value.rules : undefined);
  for (const problem of problems) {
    refuse(file, problem);
  }
  return levels;
}

function refuse(file: string, reason: string): void {
  fail(`${file}: ${reason}`);
}
