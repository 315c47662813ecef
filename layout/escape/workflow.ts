import { visible } from './characters';

/**
 * The text of a workflow command of GitHub Actions; a terminal that shows the log obeys nothing in it. Source: `escapeData` in
 * actions/toolkit, packages/core/src/command.ts.
 */
export function workflowData(text: string): string {
  const lines = text.split(/\r\n|[\r\n]/).map((line) => visible(line).replaceAll('%', '%25'));
  return lines.join('%0A').replaceAll(/#(?=#(?:vso)?\[)/gi, '# ');
}

/** A property of a workflow command of GitHub Actions. Source: `escapeProperty` in the same file. */
export function workflowProperty(text: string): string {
  return workflowData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
