import {
  type Connection,
  type Diagnostic,
  DiagnosticSeverity,
  type DocumentDiagnosticReport,
  RAL,
} from 'vscode-languageserver';
import { type Checked, type Finding, type LineIndex, rulePageUrl, type Severity } from '../layout';
import type { Documents } from './documents';
import { SUMMARY, type Summary } from './messages';

/** The source that every diagnostic names. */
export const SOURCE = 'parallelism-layout';

const SEVERITIES: Readonly<Record<Severity, DiagnosticSeverity>> = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  information: DiagnosticSeverity.Information,
};

/**
 * Checks documents as they change, publishes the findings where the client does not ask for them itself, and sends the
 * summary. There is no delay: a change is checked as soon as the messages that have already arrived are read, so that
 * a burst of keys costs one check.
 */
export function watchChanges(connection: Connection, documents: Documents, publish: boolean): void {
  const waiting = new Set<string>();
  const update = (uri: string) => {
    waiting.delete(uri);
    const checked = documents.checked(uri);
    const version = documents.version(uri);
    if (checked && version !== null) {
      if (publish) {
        connection.sendDiagnostics({ uri, version, diagnostics: diagnosticsOf(uri, checked) });
      }
      connection.sendNotification(SUMMARY, summaryOf(uri, version, checked));
    }
  };
  documents.open.onDidChangeContent(({ document: { uri } }) => {
    if (!waiting.has(uri)) {
      waiting.add(uri);
      RAL().timer.setImmediate(() => update(uri));
    }
  });
  if (publish) {
    documents.open.onDidClose(({ document: { uri } }) => connection.sendDiagnostics({ uri, diagnostics: [] }));
  }
}

/** Answers a client that asks for findings rather than waiting for them. */
export function pulledDiagnostics(documents: Documents, uri: string): DocumentDiagnosticReport {
  const checked = documents.checked(uri);
  return { kind: 'full', items: checked ? diagnosticsOf(uri, checked) : [] };
}

function diagnosticsOf(uri: string, { findings, lines }: Checked): Diagnostic[] {
  return findings.map((finding) => diagnosticOf(uri, finding, lines));
}

/** A finding in the protocol's form; the error that Megatron-LM would raise stands on a line of its own. */
export function diagnosticOf(uri: string, finding: Finding, lines: LineIndex): Diagnostic {
  const { code, severity, message, span, related, predicts } = finding;
  return {
    range: lines.rangeOf(span),
    severity: SEVERITIES[severity],
    code,
    codeDescription: { href: rulePageUrl(code) },
    source: SOURCE,
    message: predicts ? `${message}\nMegatron-LM: ${predicts}` : message,
    relatedInformation: related.map((other) => ({
      message: other.message,
      location: { uri, range: lines.rangeOf(other.span) },
    })),
  };
}

function summaryOf(uri: string, version: number, { resolved, facts, findings }: Checked): Summary {
  const count = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  return {
    uri,
    version,
    ranks: resolved?.worldSize ?? facts?.world.size ?? null,
    errors: count('error'),
    warnings: count('warning'),
  };
}
