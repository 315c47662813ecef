import type { KeySpec } from './spec';
import { typeText } from './typeText';

/** What is said of a key beside its meaning, wherever it is described: a word for the fact, and the fact as Markdown. */
export type KeyFact = readonly [word: 'type' | 'default' | 'Megatron-LM' | 'known to', text: string];

/** The facts of a key: its type, what a file without it means, its flag, and the versions that know it. */
export function keyFacts(spec: KeySpec): KeyFact[] {
  const facts: KeyFact[] = [
    ['type', typeText(spec)],
    ['default', defaultText(spec)],
    ['Megatron-LM', flagText(spec)],
    ['known to', spec.since ?? ''],
  ];
  return facts.filter(([, text]) => text !== '');
}

/** What a file without the key means: `required`, a value, one that follows from others, or one that Megatron-LM takes; else empty. */
export function defaultText(spec: KeySpec): string {
  if (spec.required) {
    return 'required';
  }
  if ('default' in spec && spec.default !== undefined) {
    return `\`${spec.default}\``;
  }
  if (spec.megatronTakes !== undefined) {
    return `open; \`${spec.megatronTakes}\` to Megatron-LM`;
  }
  return spec.derived ? `\`${spec.derived}\`` : '';
}

/** The flag of a key, empty where it has none; a switch that is on unless told otherwise has one that takes it away. */
export function flagText(spec: KeySpec): string {
  const isOff = spec.type === 'boolean' && /^--(no|disable)-/.test(spec.flag ?? '');
  return spec.flag ? `\`${spec.flag}\`${isOff ? ' for `false`' : ''}` : '';
}
