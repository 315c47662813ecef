import { delimiter, isAbsolute } from 'node:path';

/**
 * The environment for a program that is looked up on PATH: without relative entries, by which a file of the current directory,
 * such as a workspace's `kubectl`, would run.
 */
export function programEnvironment(): NodeJS.ProcessEnv {
  const path = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute).join(delimiter);
  return { ...process.env, PATH: path };
}
