import { workflowData, workflowProperty } from '../layout';
import type { FileReport } from './outputSchemas';

const COMMANDS = { error: 'error', warning: 'warning', information: 'notice' } as const;

/** Workflow commands that GitHub shows as annotations on the lines of a pull request. */
export function* githubLines({ file, findings, error }: FileReport): Iterable<string> {
  if (error !== undefined) {
    yield `::error file=${workflowProperty(file)}::${workflowData(error)}\n`;
  }
  for (const { code, severity, message, range, predicts, speaker } of findings) {
    const place = [
      `file=${workflowProperty(file)}`,
      `line=${range.start.line + 1}`,
      `endLine=${range.end.line + 1}`,
      ...(range.start.line === range.end.line
        ? [`col=${range.start.character + 1}`, `endColumn=${range.end.character + 1}`]
        : []),
      `title=${workflowProperty(code)}`,
    ].join(',');
    const text = predicts ? `${message}\n${speaker}: ${predicts}` : message;
    yield `::${COMMANDS[severity]} ${place}::${workflowData(text)}\n`;
  }
}
