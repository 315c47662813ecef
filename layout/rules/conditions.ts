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
  /** Beside taking the key out, which is the last. */
  readonly fixes?: readonly (Fix | null)[];
}

/** Makes the conditions on one key. */
export function conditionsOn(
  name: string,
  field: Field<unknown>,
): (holds: boolean, message: string, predicts: string, fix?: Fix | null) => Condition {
  return (holds, message, predicts, fix = null) => ({ name, field, holds, message, predicts, fixes: [fix] });
}

/** The report of the first condition that does not hold: Megatron-LM stops there too. */
export function firstBroken(text: string, conditions: readonly Condition[]): Report[] {
  const broken = conditions.find(({ holds }) => !holds);
  return broken
    ? [
        {
          message: broken.message,
          span: broken.field.span,
          predicts: broken.predicts,
          fixes: [...(broken.fixes ?? []), removeFix(text, broken.name, broken.field)],
        },
      ]
    : [];
}
