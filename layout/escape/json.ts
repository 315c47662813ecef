/** Characters that JSON may hold as they are, and a terminal or a log of CI obeys. */
const UNSAFE = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|#(?=(?:vso)?\[)/gi;

/** JSON that is safe to show: the same value, with every unsafe character written as an escape. */
export function jsonText(value: unknown, indent?: number): string {
  return safeJson(JSON.stringify(value, null, indent));
}

/** One line of JSON that another program wrote, safe to show: the same value in the same words. */
export function safeJson(json: string): string {
  return json.replaceAll(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
