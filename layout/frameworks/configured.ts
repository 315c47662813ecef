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

/** What a command says that names a configuration file; the launcher's world holds where the file has none. */
export function readConfigured(job: Job, context: LaunchContext, family: ConfigurationReader): Facts {
  const paths = configurationsOf(job);
  const found = paths
    .flatMap((path) => {
      const one = context.findTree(path);
      return one ? [one] : [];
    })
    .find((one) => family.evidence({ ...one, place: job.place, job }));
  const facts = found ? family.read({ ...found, place: job.place, job }) : new Facts();
  if (!found) {
    facts.note(`What ${paths[0] ?? 'the configuration'} sets is unknown: it was not found.`);
  }
  return facts;
}

/** Sets the world that the launchers of a command give, where they give all of it or the configuration gives none. */
export function setLaunchedWorld({ world }: Job, facts: Facts): void {
  if (!isKnown(facts.get('world_size')) || isKnown(world.total)) {
    setWorld(facts, world);
  }
}

/** The configuration files that a command and its launchers name. */
export function configurationsOf(job: Job): string[] {
  const { options, positional } = readFlags(job.args, job.place);
  const named = ['config_file', 'config', 'config_path'].flatMap((name) => options.get(name)?.values ?? []);
  return [...named, ...positional.map(({ text }) => text), ...job.configurations].filter(
    (path): path is string => path !== null && /\.(ya?ml|json)$/.test(path),
  );
}
