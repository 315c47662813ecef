import * as vscode from 'vscode';
import { reportOf } from '../../jobs';
import type { SmokeJobs } from './jobs';

/** The scheme of the documents that show reports. */
export const REPORT = 'parallelism-layout-report';

/** The command of the editor's own Markdown extension, which a person may have switched off. */
const PREVIEW = 'markdown.showPreview';

/** Reports of runs as documents that can be read and copied, but not changed. */
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

  /** Opens a report rendered, or as text where the editor does not render Markdown. */
  async show(id: string, name: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: REPORT, path: `/${name.replaceAll('/', '-')}.md`, query: id });
    const commands = await vscode.commands.getCommands(true);
    if (commands.includes(PREVIEW)) {
      await vscode.commands.executeCommand(PREVIEW, uri);
    } else {
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
    }
  }
}
