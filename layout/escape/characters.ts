/**
 * Characters that text must not bring to a place where people read it: control characters, lone surrogates, what turns the
 * direction of text, what is invisible (soft hyphens, joiners, fillers, variation selectors, tags), and what is no character (XML
 * refuses it).
 */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\p{Cs}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\p{NChar}\u{e0000}-\u{e0fff}]|\u034f|\u17b4|\u17b5|[\u180b-\u180d\u180f]|[\ufe00-\ufe0f]/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** A text with every unsafe character replaced. */
export function withoutUnsafe(text: string, replaced: (character: string) => string): string {
  return text.replaceAll(UNSAFE, replaced);
}

/** The unsafe characters of a text, in their order. */
export function unsafeCharactersIn(text: string): readonly string[] {
  return text.match(UNSAFE) ?? [];
}

/** One line of text: every unsafe character becomes an escape such as `\x1b`, `\u202e` or `\u{e0041}`. */
export function visible(text: string): string {
  return withoutUnsafe(text, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return (
      SHORT[character] ??
      (code < 256 ? `\\x${hex(code, 2)}` : code < 65_536 ? `\\u${hex(code, 4)}` : `\\u{${hex(code, 4)}}`)
    );
  });
}

/** The same of each line of a text that has several by right, such as what a framework prints. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}

/** A character as `\u` escapes of JSON, one for each UTF-16 unit. */
export function unicodeEscape(character: string): string {
  return Array.from({ length: character.length }, (_, index) => `\\u${hex(character.charCodeAt(index), 4)}`).join('');
}

/** A character as one escape for its code point, which YAML and Python read alike: `\\u202e`, `\\U000e0041`. */
export function codePointEscape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 65_536 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}

/** The bytes of a character in UTF-8; half a character has those of U+FFFD. */
export function bytesOf(character: string): readonly number[] {
  const encoded = encodeURIComponent(/\p{Cs}/u.test(character) ? '\ufffd' : character);
  return (encoded.match(/%..|./g) ?? []).map((one) =>
    one.length === 3 ? Number.parseInt(one.slice(1), 16) : one.charCodeAt(0),
  );
}
