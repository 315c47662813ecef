import * as vscode from 'vscode';
import { reportOf } from '../../jobs';
import { showMarkdown } from '../showMarkdown';
import type { SmokeJobs } from './jobs';

/** The scheme of the documents that show reports. */
export const REPORT = 'parallelism-layout-report';

/** Reports of runs as read-only documents. */
export class Reports implements vscode.TextDocumentContentProvider {
  constructor(readonly jobs: SmokeJobs) {}

  async provideTextDocumentContent({ query }: vscode.Uri): Promise<string> {
    return (await this.text(query)) ?? vscode.l10n.t('This run is no longer in the history.');
  }

  /** The report of a run in Markdown; undefined where the run is gone. */
  async text(id: string): Promise<string | undefined> {
    const { runs } = this.jobs.history;
    const record = runs.find((run) => run.id === id);
    return record && reportOf(record, runs, (await this.jobs.history.detail(record))?.log);
  }

  show(id: string, name: string): Promise<void> {
    return showMarkdown(vscode.Uri.from({ scheme: REPORT, path: `/${name.replaceAll('/', '-')}.md`, query: id }));
  }
}
