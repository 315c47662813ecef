/** The text of a workflow command of GitHub Actions. Source: `escapeData` in actions/toolkit, packages/core/src/command.ts. */
export function workflowData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/** A property of a workflow command of GitHub Actions. Source: `escapeProperty` in the same file. */
export function workflowProperty(text: string): string {
  return workflowData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
