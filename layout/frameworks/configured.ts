import type { Job } from '../launch/commands';
import type { LaunchContext, LaunchDocument } from '../launch/family';
import { readFlags } from '../launch/flags';
import { Facts, isKnown } from '../launch/value';
import { setWorld } from '../launch/world';

/** How a family reads its configuration file. */
interface ConfigurationReader {
  evidence(document: LaunchDocument): unknown;
  read(document: LaunchDocument): Facts;
}

/**
 * What a command says that names a configuration file. The world of its launchers holds where they give all of it, or where the
 * configuration gives none.
 */
export function readConfigured(job: Job, context: LaunchContext, family: ConfigurationReader): Facts {
  const paths = configurationsOf(job);
  const found = paths.flatMap((path) => context.findTree(path) ?? []).find((one) => family.evidence({ ...one, job }));
  const facts = found ? family.read({ ...found, job }) : new Facts();
  if (!found) {
    facts.note(`What ${paths[0] ?? 'the configuration'} sets is unknown: it was not found.`);
  }
  const isLaunched = !found || job.launchers.length > 0;
  if (isLaunched && (!isKnown(facts.get('world_size')) || isKnown(job.world.total))) {
    setWorld(facts, job.world);
  }
  return facts;
}

/** The configuration files that a command and its launchers name. */
export function configurationsOf(job: Job): string[] {
  const { options, positional } = readFlags(job.args, job.place);
  const named = ['config_file', 'config', 'config_path'].flatMap((name) => options.get(name)?.values ?? []);
  return [...named, ...positional.map(({ text }) => text), ...job.configurations].filter(
    (path): path is string => path !== null && /\.(ya?ml|json)$/.test(path),
  );
}
