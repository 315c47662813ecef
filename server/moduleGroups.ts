import { type GroupFamily, LANGUAGE_MODULE, processGroups, type ResolvedLayout } from '../layout';

/** The process groups of one grid, at a cost that does not grow with the number of other modules. */
export function groupsOf(layout: ResolvedLayout, module: string | null): GroupFamily[] {
  // a bridge reaches from a module to the language model
  const modules = layout.modules.filter(({ name }) => name === module || name === LANGUAGE_MODULE);
  return processGroups({ ...layout, modules }).filter((family) => family.module === module);
}
