import type { FileReport } from './fileReport';

const COMMANDS = { error: 'error', warning: 'warning', information: 'notice' } as const;

/** Workflow commands that GitHub shows as annotations on the lines of a pull request. */
export function* githubLines({ file, findings, error }: FileReport): Iterable<string> {
  if (error !== undefined) {
    yield `::error file=${property(file)}::${data(error)}\n`;
  }
  for (const { code, severity, message, range, predicts } of findings) {
    const place = [
      `file=${property(file)}`,
      `line=${range.start.line + 1}`,
      `endLine=${range.end.line + 1}`,
      ...(range.start.line === range.end.line
        ? [`col=${range.start.character + 1}`, `endColumn=${range.end.character + 1}`]
        : []),
      `title=${property(code)}`,
    ].join(',');
    const text = predicts ? `${message}\nMegatron-LM: ${predicts}` : message;
    yield `::${COMMANDS[severity]} ${place}::${data(text)}\n`;
  }
}

/** Escapes the text of a workflow command. */
function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/** Escapes a property of a workflow command. */
function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
