import type { Fix } from '../diagnostic';
import type { Field } from '../format/spec';
import type { Taken } from '../topology/taken';
import { removeFix } from './fixes';
import type { Report } from './rule';

/** Something that Megatron-LM asks of an option: where it does not hold, the option is refused. */
export interface Condition {
  readonly holds: boolean;
  /** The key that the condition is on, and its name. */
  readonly name: string;
  readonly field: Field<unknown> | undefined;
  readonly message: string;
  /** Megatron-LM's words. */
  readonly predicts: string | null;
  /** Besides taking the key out, which is the last. */
  readonly fixes: readonly (Fix | null)[];
  /** Whether it breaks by a default of Megatron-LM, which the file leaves out and may not mean: it is information then. */
  readonly isDefault?: boolean;
}

/** Whether a condition holds, by a value that may be a default of Megatron-LM. */
export function byDefault({ isDefault }: Taken<unknown>, holds: boolean): Pick<Condition, 'holds' | 'isDefault'> {
  return { holds, isDefault };
}

/**
 * Makes the conditions on one key.
 * @param field undefined where the file has no place for the key: such conditions hold
 * @param shared fixes of each of them, behind its own
 */
export function conditionsOn(
  name: string,
  field: Field<unknown> | undefined,
  ...shared: readonly (Fix | null)[]
): (
  held: boolean | Pick<Condition, 'holds' | 'isDefault'>,
  message: string,
  predicts: string | null,
  ...fixes: readonly (Fix | null)[]
) => Condition {
  return (held, message, predicts, ...fixes) => ({
    name,
    field,
    ...(typeof held === 'boolean' ? { holds: held } : held),
    message,
    predicts,
    fixes: [...fixes, ...shared],
  });
}

/**
 * The report of the first condition that does not hold: Megatron-LM stops there too. Before it stand those that break by a
 * default.
 */
export function firstBroken(text: string, conditions: readonly Condition[]): Report[] {
  const broken = conditions.filter(({ holds }) => !holds);
  const first = broken.findIndex(({ isDefault }) => !isDefault);
  return broken
    .slice(0, first < 0 ? broken.length : first + 1)
    .flatMap(({ message, name, field, predicts, fixes, isDefault }) =>
      field
        ? [
            {
              ...(isDefault && { severity: 'information' as const }),
              message,
              span: field.span,
              predicts,
              fixes: [...fixes, removeFix(text, name, field)],
            },
          ]
        : [],
    );
}
