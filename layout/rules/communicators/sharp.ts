import type { Fix } from '../../diagnostic';
import { removeField, setKey } from '../../format/edit';
import type { Field } from '../../format/spec';
import { type LayoutFacts, valueOr } from '../../topology/facts';
import { suggestion } from '../fixes';

type Options = NonNullable<LayoutFacts['root']['communicators']['value']>;

/** The SHARP options of a file. */
interface Sharp {
  readonly options: Options;
  readonly useSharp: boolean;
  readonly group: Field<string>;
}

/** The SHARP options as written; null where one is unusable, or where no `parallelism` reads them. */
export function sharpOf({ root, heterogeneous }: LayoutFacts): Sharp | null {
  const options = root.communicators.value;
  const useSharp = options && valueOr(options.use_sharp, false);
  if (heterogeneous || !options || useSharp === undefined) {
    return null;
  }
  const group = options.sharp_enabled_group;
  return group.written && group.value === undefined ? null : { options, useSharp, group };
}

/** Uses the group across optimizer instances, with two of them where there is one. */
export function replicaGroupFix({ text, root }: LayoutFacts, group: Field<string>): Fix | null {
  const key = 'num_distributed_optimizer_instances';
  const field = root.parallelism.value?.[key];
  const instances = Math.max(field?.value ?? 1, 2);
  return suggestion(`Use dp_replica with ${instances} optimizer instances`, [
    field ? setKey(text, root.parallelism.span, key, field, instances) : null,
    setKey(text, root.communicators.span, 'sharp_enabled_group', group, 'dp_replica'),
  ]);
}

/** Switches SHARP off and removes the group that would use it; null where SHARP is not written. */
export function sharpOffFix({ text, root }: LayoutFacts): Fix | null {
  const options = root.communicators.value;
  if (!options?.use_sharp.written) {
    return null;
  }
  const { use_sharp, sharp_enabled_group: group } = options;
  return suggestion('Change use_sharp to false', [
    { span: use_sharp.span, newText: 'false' },
    ...(group.written ? [removeField(text, group)] : []),
  ]);
}
