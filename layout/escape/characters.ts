/** Control characters, and those that are invisible or turn the direction of text. */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** One line of text: every unsafe character becomes an escape such as `\x1b` or `\u202e`. */
export function visible(text: string): string {
  return text.replaceAll(UNSAFE, (char) => {
    const code = char.charCodeAt(0);
    return SHORT[char] ?? (code < 256 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
  });
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
