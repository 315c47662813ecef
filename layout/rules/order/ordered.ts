import { type LayoutFacts, type ModuleFacts, orderOf } from '../../topology/facts';

/** `parallelism` with its order, where both can be used. */
export function ordered(facts: LayoutFacts): { module: ModuleFacts; order: string } | null {
  const [module] = facts.modules;
  const order = orderOf(facts.root);
  return module && !facts.heterogeneous && order !== undefined ? { module, order } : null;
}

export function orderSpan({ root }: LayoutFacts, { nameSpan }: ModuleFacts) {
  const order = root.parallelism.value?.order;
  return order?.written ? order.span : nameSpan;
}
