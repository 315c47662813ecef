import { dirname, join, parse as parsePath, resolve } from 'node:path';
import { fileErrorText, getOrInsert, isRepository, readRegularFile } from '../jobs';
import { CONFIGURATION, MAX_CONFIGURATION, NO_LEVELS, type RuleLevels, readConfiguration } from '../layout';
import { complain, fail } from './output';
import { isOwn } from './repository';

const known = new Map<string, RuleLevels | null>();

/**
 * The severities of rules for a layout file: `rules` of the nearest `.parallelism-layout.yaml` in its folder or above, up to its
 * repository. A configuration that cannot be used is reported once, and the exit status is 2; one of another user is ignored.
 */
export function levelsFor(file: string): RuleLevels {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    const levels = getOrInsert(known, folder, () => readLevels(join(folder, CONFIGURATION), file));
    if (levels) {
      return levels;
    }
    if (folder === parsePath(folder).root || isRepository(folder)) {
      return NO_LEVELS;
    }
  }
}

/** Makes the next call of `levelsFor` read configurations again. */
export function forgetLevels(): void {
  known.clear();
}

function readLevels(file: string, layout: string): RuleLevels | null {
  try {
    if (!isOwn(file, layout)) {
      complain(`${file}: is ignored: it belongs to another user`);
      return null;
    }
    const { levels, problems } = readConfiguration(readRegularFile(file, MAX_CONFIGURATION).toString('utf8'));
    for (const { message } of problems) {
      fail(`${file}: ${message}`);
    }
    return levels;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return null;
    }
    fail(`${file}: ${fileErrorText(error).split('\n')[0]}`);
    return NO_LEVELS;
  }
}
