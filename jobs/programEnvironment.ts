import { delimiter, isAbsolute } from 'node:path';

/**
 * The environment of programs, with a PATH without relative entries: those would run files of the current directory, such as a
 * workspace's `kubectl`.
 */
export function programEnvironment(): NodeJS.ProcessEnv {
  const path = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute).join(delimiter);
  return { ...process.env, PATH: path };
}
