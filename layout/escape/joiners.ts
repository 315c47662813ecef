/** A letter of a script that is written joined. */
const LETTER =
  /^(?=\p{L})[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Myanmar}\p{Script=Khmer}\p{Script=Tibetan}]$/u;
const EMOJI = /^\p{Extended_Pictographic}$/u;

/** Marks and skin tones, which belong to the character before them. */
const MARKS = /(?:\p{M}|[\u{1f3fb}-\u{1f3ff}])+$/u;

/** UTF-16 units before a joiner in which its character is looked for. */
const REACH = 12;

/** A text without the joiners that spell a word or an emoji, and without the variations of emoji. */
export function withoutJoiners(text: string): string {
  return text.replace(/\u200c|\u200d|\ufe0f/g, (character, at: number) =>
    isSpelled(text, character, at) ? '' : character,
  );
}

function isSpelled(text: string, character: string, at: number): boolean {
  const near = text.slice(Math.max(0, at - REACH), at);
  const before = [...near.replace(MARKS, '')].at(-1) ?? '';
  if (character === '\ufe0f') {
    return EMOJI.test([...near].at(-1) ?? '');
  }
  const after = String.fromCodePoint(text.codePointAt(at + 1) ?? 0);
  return [LETTER, ...(character === '\u200d' ? [EMOJI] : [])].some((kind) => kind.test(before) && kind.test(after));
}
