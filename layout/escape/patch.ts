import { bytesOf, unsafeCharactersIn, withoutUnsafe } from './characters';
import { withoutJoiners } from './joiners';

/**
 * The name of a file in the head of a patch, as `git apply` and `patch` read it: in quotes where it holds what would end the line or
 * the name, or what a terminal obeys; a name with spaces ends with a tab. Source: `quote_c_style` in git's quote.c.
 */
export function patchName(path: string): string {
  const quoted = withoutUnsafe(path.replaceAll(/["\\]/g, '\\$&'), octal).replaceAll(/#(?=#(?:vso)?\[)/gi, octal);
  return quoted !== path ? `"${quoted}"` : path.includes(' ') ? `${path}\t` : path;
}

/** The bytes of a character in UTF-8, each as an escape of three digits. */
function octal(character: string): string {
  return bytesOf(character)
    .map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
    .join('');
}

/**
 * Whether a patch may be shown as it is, which it must be to fit its file: no line of it holds what a terminal obeys, what nobody
 * sees, or a command of CI. Tabs, line ends of Windows and joined emoji may stand in it.
 */
export function isPlainPatch(patch: string): boolean {
  return patch.split('\n').every((line) => {
    const text = withoutJoiners(line.replace(/\r$/, '').replaceAll('\t', ' '));
    return unsafeCharactersIn(text).length === 0 && !/^[-+ ]?\s*::|##(?:vso)?\[/i.test(text);
  });
}
