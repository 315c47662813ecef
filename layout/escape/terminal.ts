import { visible } from './characters';

/**
 * One line for a terminal or a log of CI: no control sequence, no second line, no command of GitHub Actions or Azure
 * Pipelines, which read `::` at the start of a line and `##[` or `##vso[` anywhere in it.
 */
export function terminalLine(text: string): string {
  return visible(text)
    .replace(/^(\s*):(?=:)/, '$1: ')
    .replaceAll(/#(?=#(?:vso)?\[)/gi, '# ');
}

/** A text of several lines, such as a file of a person, for a terminal or a log of CI: each line is safe to show. */
export function terminalLines(text: string): string {
  return text.split(/\r?\n/).map(terminalLine).join('\n');
}
