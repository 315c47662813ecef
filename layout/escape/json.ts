import { unicodeEscape, withoutUnsafe } from './characters';

/** JSON that is safe to show: the same value, with every unsafe character written as an escape. */
export function jsonText(value: unknown, indent?: number): string {
  return safeJson(JSON.stringify(value, null, indent));
}

/** JSON that another program wrote, safe to show: the same value in the same words. Line breaks of its layout stay. */
export function safeJson(json: string): string {
  return withoutUnsafe(json, (character) =>
    '\n\r\t'.includes(character) ? character : unicodeEscape(character),
  ).replaceAll(/#(?=(?:vso)?\[)/gi, unicodeEscape);
}
