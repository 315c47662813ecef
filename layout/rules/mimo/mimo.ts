import { LANGUAGE_MODULE } from '../../format/names';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';

/** What `validate_hetero_grid_args` in examples/mimo/training/args.py says of context parallelism. */
export const MIMO_CP = 'hetero MIMO training currently supports CP=1 only';

/** The language module and the encoders beside it, once all of them are whole and cover the world. */
interface Mimo {
  readonly language: ModuleFacts;
  readonly encoders: readonly ModuleFacts[];
  readonly colocated: boolean;
}

export function mimoOf({ modules, heterogeneous, world }: LayoutFacts): Mimo | null {
  const language = modules.find(({ name }) => name === LANGUAGE_MODULE);
  const encoders = modules.filter((module) => module !== language);
  const whole = modules.every(({ ranks, rankOffset }) => ranks !== undefined && rankOffset !== undefined);
  const colocated = language !== undefined && isColocated(modules, language);
  // modules that share a part of the world only were likely meant to stand apart: the rule `world-gap` says so
  const isPart = colocated && world.size !== undefined && language.ranks !== world.size;
  return heterogeneous && language && whole && !isPart ? { language, encoders, colocated } : null;
}

/** Whether the language module has encoders, all on the same ranks as itself. */
export function isColocated(modules: readonly ModuleFacts[], language: ModuleFacts): boolean {
  return (
    modules.length > 1 &&
    modules.every(({ ranks, rankOffset }) => ranks === language.ranks && rankOffset === language.rankOffset)
  );
}
