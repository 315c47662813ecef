import { codePointEscape, withoutUnsafe } from './characters';

/** A text as a Python literal, which Python reads back as that text. */
export function pythonText(text: string): string {
  // a string of JSON is one of Python, but for characters that JSON writes as two escapes
  return withoutUnsafe(JSON.stringify(text), codePointEscape).replaceAll(/#(?=#(?:vso)?\[)/gi, codePointEscape);
}
