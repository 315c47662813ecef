import type { Fix } from '../diagnostic';
import type { Field } from '../format/spec';
import { removeFix } from './fixes';
import type { Report } from './rule';

/** Something that Megatron-LM asks of an option: where it does not hold, the option is refused. */
export interface Condition {
  readonly holds: boolean;
  /** The key that the condition is on, and its name. */
  readonly name: string;
  readonly field: Field<unknown>;
  readonly message: string;
  /** Megatron-LM's words. */
  readonly predicts: string | null;
  /** Besides taking the key out, which is the last. */
  readonly fixes: readonly (Fix | null)[];
}

/**
 * Makes the conditions on one key.
 * @param shared fixes of each of them, behind its own
 */
export function conditionsOn(
  name: string,
  field: Field<unknown>,
  ...shared: readonly (Fix | null)[]
): (holds: boolean, message: string, predicts: string | null, ...fixes: readonly (Fix | null)[]) => Condition {
  return (holds, message, predicts, ...fixes) => ({
    name,
    field,
    holds,
    message,
    predicts,
    fixes: [...fixes, ...shared],
  });
}

/** The report of the first condition that does not hold: Megatron-LM stops there too. */
export function firstBroken(text: string, conditions: readonly Condition[]): Report[] {
  return conditions
    .filter(({ holds }) => !holds)
    .slice(0, 1)
    .map(({ message, name, field, predicts, fixes }) => ({
      message,
      span: field.span,
      predicts,
      fixes: [...fixes, removeFix(text, name, field)],
    }));
}
