import { factsOfConfig, type ModelFacts, modelNamed, parseConfig } from '../models';
import type { LaunchContext } from './family';
import { type FactSource, type Facts, isKnown } from './value';

/**
 * Adds the sizes of the model that a job names (`model.from`) where it does not say its layers itself: those of the
 * `config.json` that lies there, or else of the public model of the name. A job that says its layers describes its model, whatever
 * it is called.
 */
export function describeModel(facts: Facts, context: LaunchContext): Facts {
  const named = facts.get('model.from');
  if (!isKnown(named) || isKnown(facts.get('model.num_layers'))) {
    facts.delete('model.from');
    return facts;
  }
  const name = String(named.value);
  const file = context.find(`${name}/config.json`);
  const read = file && factsOfConfig(parseConfig(file.text));
  if (read) {
    facts.delete('model.from');
    setSizes(read.facts, { file: file.file, offset: 0 }, facts);
    return facts;
  }
  const model = modelNamed(name);
  if (model) {
    const { repository, revision, path } = model.source;
    facts.set('model.from', { value: model.name, source: named.source });
    setSizes(model.facts, named.source, facts);
    facts.note(`The sizes of ${model.name} are those of ${repository} at ${revision.slice(0, 10)}, ${path}.`);
  }
  return facts;
}

/** Sets what the job leaves open; whether it has layers of multi-token prediction is its own choice. */
function setSizes(sizes: ModelFacts, source: FactSource, facts: Facts): void {
  for (const [name, value] of Object.entries(sizes)) {
    const key = `model.${name as keyof ModelFacts}` as const;
    const known = facts.get(key);
    if (key !== 'model.mtp_num_layers' && (!isKnown(known) || known.source === 'default')) {
      facts.set(key, { value, source });
    }
  }
}
