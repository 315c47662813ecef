import type { Field } from '../../format/spec';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';

/** A key of `fsdp` that asks for a separate all-gather group. */
export interface Request {
  readonly name: 'create_all_gather_group' | 'create_expert_all_gather_group';
  readonly field: Field<boolean>;
}

/** The all-gather groups that the file asks for by a key of their own. */
export function requestsOf({ root }: LayoutFacts): readonly Request[] {
  const fsdp = root.fsdp.value;
  const requests: Request[] = fsdp
    ? [
        { name: 'create_all_gather_group', field: fsdp.create_all_gather_group },
        { name: 'create_expert_all_gather_group', field: fsdp.create_expert_all_gather_group },
      ]
    : [];
  return requests.filter(({ field }) => field.value === true);
}

/** The one grid of `parallelism`; null for `modules`, which make no all-gather groups. */
export function onlyGrid({ heterogeneous, modules }: LayoutFacts): ModuleFacts | null {
  return heterogeneous ? null : (modules[0] ?? null);
}
