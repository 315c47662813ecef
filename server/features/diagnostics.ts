import {
  type Connection,
  type Diagnostic,
  DiagnosticSeverity,
  type DocumentDiagnosticReport,
  RAL,
} from 'vscode-languageserver';
import {
  type Checked,
  type Diagnostic as LayoutDiagnostic,
  type LineIndex,
  rulePageUrl,
  type Severity,
} from '../../layout';
import type { Documents } from '../documents';
import { SUMMARY, type Summary } from '../messages';

/** The source that every diagnostic names. */
export const SOURCE = 'parallelism-layout';

const SEVERITIES: Readonly<Record<Severity, DiagnosticSeverity>> = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  information: DiagnosticSeverity.Information,
};

/** What the server sends after a change without a request. */
export interface Sent {
  readonly diagnostics: boolean;
  readonly summaries: boolean;
}

/** The diagnostics that other files add to a layout. */
export interface MoreDiagnostics {
  /** Counts the changes of those files. */
  readonly version: number;
  diagnostics(uri: string, checked: Checked): readonly Diagnostic[];
  /** The same as the engine has them. */
  said(uri: string, checked: Checked): readonly LayoutDiagnostic[];
  /** Sends the diagnostics of those files. */
  publish(): void;
}

/**
 * Checks documents as they change and sends what the client does not pull. There is no delay: a change is checked as soon as the
 * messages that have already arrived are read, so that a burst of keys costs one check.
 * @returns a function that sends what is known of all open documents again
 */
export function watchChanges(
  connection: Connection,
  documents: Documents,
  sent: Sent,
  more: MoreDiagnostics,
): () => void {
  const waiting = new Set<string>();
  let changes = 0;
  const update = (uri: string) => {
    waiting.delete(uri);
    const result = documents.result(uri);
    if (!result) {
      return;
    }
    const { version, checked } = result;
    if (sent.diagnostics) {
      const diagnostics = [...diagnosticsOf(uri, checked), ...more.diagnostics(uri, checked)];
      connection.sendDiagnostics({ uri, version, diagnostics });
      more.publish();
    }
    if (sent.summaries) {
      connection.sendNotification(SUMMARY, summaryOf(uri, version, checked));
    }
  };
  // the first of a folder waits until it is known how the rules weigh there
  const whenKnown = async (uri: string) => {
    if (!documents.configurations.isKnown(uri)) {
      await documents.configurations.ready(uri);
    }
    update(uri);
  };
  // the connection hands out one message a turn: a turn without a change means that all that have arrived are read
  const whenQuiet = (uri: string) => {
    const seen = changes;
    RAL().timer.setImmediate(() => (changes === seen ? void whenKnown(uri) : whenQuiet(uri)));
  };
  if (!sent.diagnostics && !sent.summaries) {
    return () => {};
  }
  documents.open.onDidChangeContent(({ document: { uri } }) => {
    changes++;
    if (!waiting.has(uri)) {
      waiting.add(uri);
      RAL().timer.setImmediate(() => whenQuiet(uri));
    }
  });
  return () => documents.open.keys().forEach((uri) => void whenKnown(uri));
}

/** Answers a client that pulls the diagnostics of an open document. */
export async function pulledDiagnostics(
  documents: Documents,
  uri: string,
  more: MoreDiagnostics,
  previous?: string,
): Promise<DocumentDiagnosticReport> {
  await documents.configurations.ready(uri);
  const result = documents.result(uri);
  if (!result) {
    return { kind: 'full', items: [] };
  }
  const { checked } = result;
  const id = `${result.id} ${more.version}`;
  const others = more.diagnostics(uri, checked);
  more.publish();
  return id === previous
    ? { kind: 'unchanged', resultId: id }
    : { kind: 'full', resultId: id, items: [...diagnosticsOf(uri, checked), ...others] };
}

/** What is said of an open document, by its text and by other files; null where it is not open. */
export async function saidOf(
  documents: Documents,
  uri: string,
  more: MoreDiagnostics,
): Promise<readonly LayoutDiagnostic[] | null> {
  await documents.configurations.ready(uri);
  const checked = documents.checked(uri);
  return checked && [...checked.diagnostics, ...more.said(uri, checked)];
}

/** The diagnostics of a file in the protocol's form. */
export function diagnosticsOf(uri: string, { diagnostics, lines }: Checked): Diagnostic[] {
  return diagnostics.map((diagnostic) => diagnosticOf(uri, diagnostic, lines));
}

/** A diagnostic in the protocol's form; the error that the framework would raise stands on a line of its own. */
export function diagnosticOf(uri: string, diagnostic: LayoutDiagnostic, lines: LineIndex): Diagnostic {
  const { code, severity, message, span, related, predicts, speaker } = diagnostic;
  return {
    range: lines.rangeOf(span),
    severity: SEVERITIES[severity],
    code,
    codeDescription: { href: rulePageUrl(code) },
    source: SOURCE,
    message: predicts ? `${message}\n${speaker}: ${predicts}` : message,
    relatedInformation: related.map((other) => ({
      message: other.message,
      location: { uri, range: lines.rangeOf(other.span) },
    })),
  };
}

function summaryOf(uri: string, version: number, { resolved, facts, diagnostics }: Checked): Summary {
  const count = (severity: Severity) => diagnostics.filter((diagnostic) => diagnostic.severity === severity).length;
  return {
    uri,
    version,
    ranks: resolved?.worldSize ?? facts?.world.size ?? null,
    errors: count('error'),
    warnings: count('warning'),
  };
}
