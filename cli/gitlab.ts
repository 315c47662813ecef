import { createHash } from 'node:crypto';
import type { FileReport } from './outputSchemas';

const SEVERITIES = { error: 'critical', warning: 'minor', information: 'info' } as const;

/** One issue of GitLab's code quality report (docs.gitlab.com, "Code Quality report format"). */
export interface GitlabIssue {
  readonly description: string;
  readonly check_name: string;
  /** Stays the same as long as the rule gives the same message for the same file. */
  readonly fingerprint: string;
  readonly severity: 'info' | 'minor' | 'critical' | 'blocker';
  readonly location: { readonly path: string; readonly lines: { readonly begin: number } };
}

/** The findings of a file as issues; a file that cannot be used is one issue. */
export function gitlabIssues({ file, findings, error }: FileReport): GitlabIssue[] {
  const seen = new Map<string, number>();
  const issue = (code: string, description: string, severity: GitlabIssue['severity'], line: number): GitlabIssue => {
    const text = `${file}\0${code}\0${description}`;
    const nth = seen.get(text) ?? 0;
    seen.set(text, nth + 1);
    return {
      description,
      check_name: code,
      fingerprint: createHash('sha256').update(`${text}\0${nth}`).digest('hex'),
      severity,
      location: { path: file, lines: { begin: line } },
    };
  };
  return error === undefined
    ? findings.map(({ code, message, severity, range }) =>
        issue(code, message, SEVERITIES[severity], range.start.line + 1),
      )
    : [issue('unusable-file', error, 'blocker', 1)];
}
