import type { CommandFamily, DocumentFamily, LaunchContext } from '../family';
import { readFlags } from '../flags';
import { entriesOf, type FactPath, Facts, isKnown } from '../foundValues';
import type { Job } from '../launchers';
import { textOf } from '../shell/values';
import type { TreeMap } from '../tree';
import { setWorld } from '../world';
import { accelerateDocument, axolotlDocument, nanotronDocument } from './torch';

/** A family whose commands name a configuration file. */
function byConfiguration(family: DocumentFamily, score: number, isCommand: (job: Job) => boolean): CommandFamily {
  const documentOf = (job: Job, context: LaunchContext): { tree: TreeMap; file: string } | null => {
    for (const path of pathsOf(job)) {
      const found = context.findTree(path);
      if (found && family.matches({ ...found, place: job.place, job })) {
        return found;
      }
    }
    return null;
  };
  return {
    name: family.name,
    matches: (job) => (isCommand(job) ? score : 0),
    read(job, context) {
      const found = documentOf(job, context);
      const facts = found ? family.read({ ...found, place: job.place, job }, context) : new Facts();
      if (!found) {
        const [path = 'the configuration'] = pathsOf(job);
        facts.note(`What ${path} sets is unknown: it was not found.`);
      }
      if (family === accelerateDocument) {
        readAccelerateFlags(job, facts);
      }
      if (!isKnown(facts.get('world_size')) || isKnown(job.world.total)) {
        setWorld(facts, job.world);
      }
      return facts;
    },
  };
}

/** accelerate's own flags win over its configuration. */
function readAccelerateFlags({ launcherOptions: options }: Job, facts: Facts): void {
  const keys = {
    tp: 'parallelism.tp',
    cp: 'parallelism.cp',
    sp: 'parallelism.ulysses',
    dp_replicate: REPLICATE,
    dp_shard: SHARD,
  } as const;
  for (const [name, key] of entriesOf<keyof typeof keys, FactPath>(keys)) {
    const flag = `parallelism_config_${name}_size`;
    facts.set(key, options?.has(flag) ? options.integer(flag) : undefined);
  }
}

const REPLICATE = 'fsdp.data_parallel_replicate_degree';
const SHARD = 'fsdp.data_parallel_shard_degree';

/** The YAML files that a command and its launchers name. */
function pathsOf(job: Job): string[] {
  const { options, positional } = readFlags(job.args, job.place);
  const named = ['config_file', 'config', 'config_path'].flatMap((name) => options.get(name)?.values ?? []);
  return [...named, ...positional.map(({ text }) => text), ...job.configurations].filter(
    (path): path is string => path !== null && /\.(ya?ml|json)$/.test(path),
  );
}

export const axolotl = byConfiguration(
  axolotlDocument,
  3,
  (job) =>
    (job.program === 'axolotl' && /^(train|preprocess)$/.test(textOf(job.args[0]) ?? '')) ||
    /^axolotl\.cli\.train$/.test(job.script ?? ''),
);

export const nanotron = byConfiguration(
  nanotronDocument,
  2.2,
  (job) => /(^|\/)(run_train|train_\w+)\.py$/.test(job.script ?? '') && pathsOf(job).length > 0,
);

export const accelerate = byConfiguration(accelerateDocument, 0.5, (job) => job.launchers.includes('accelerate'));
