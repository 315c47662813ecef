import type { Related } from '../diagnostic';
import type { Field } from '../format/spec';
import type { ModuleFacts } from '../topology/facts';
import type { Remat } from './fixes';

/** `tp is 2 here`, at the value of a named key. */
export function valueRelated(name: string, { value, span }: Pick<Field<number | string>, 'value' | 'span'>): Related {
  return { message: `${name} is ${value} here`, span };
}

/** The same where the key is written; nothing where it has its default. */
export function writtenRelated(name: string, field: Field<number | string>): readonly Related[] {
  return field.written ? [valueRelated(name, field)] : [];
}

/** `tp` or `expt_tp` of a grid where it is written; `expt_tp defaults to tp, which is 2 here` where tp gives it. */
export function degreeRelated({ fields, degrees }: ModuleFacts, name: 'tp' | 'expt_tp'): readonly Related[] {
  const isDefault = name === 'expt_tp' && !fields.expt_tp.written && degrees?.exptTp === fields.tp.value;
  return isDefault
    ? [{ message: `expt_tp defaults to tp, which is ${fields.tp.value} here`, span: fields.tp.span }]
    : writtenRelated(name, fields[name]);
}

/**
 * What makes generalized TP: the degree where it is written, and the number of weight shards that gives it otherwise.
 */
export function rematRelated({ fields, degrees }: ModuleFacts, name: Remat): readonly Related[] {
  const isDense = name === 'gtp_remat';
  const size = isDense ? degrees?.gtpRemat : degrees?.exptGtpRemat;
  const key = isDense ? 'num_weight_shards' : 'expt_num_weight_shards';
  const shards = fields[key];
  return [
    ...(fields[name].written ? [{ message: `${name} is ${size} here`, span: fields[name].span }] : []),
    ...(shards.written ? [{ message: `${key} ${shards.value} makes ${name} ${size}`, span: shards.span }] : []),
  ];
}
