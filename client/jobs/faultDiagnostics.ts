import * as vscode from 'vscode';
import { type Fault, layoutHash, lineOfGroup, nameOfKind, type RunRecord } from '../../jobs';
import { type LayoutFacts, processGroups, projectUrl, type ResolvedLayout, type Understood } from '../../layout';
import { LANGUAGE, onDidRest, rangeOfLine } from '../layoutDocument';
import { understoodDocument } from '../understoodDocument';
import type { SmokeJobs } from './jobs';

/** Delay between an edit of a layout and the update of its diagnostics, in milliseconds. */
const PATIENCE = 200;

/** How many ranks of a fault are looked up in the groups of a layout. */
const MAX_RANKS = 8;

/**
 * The fault of the last run of each open layout, as a diagnostic on the line that it comes from. It is shown while the resolved
 * layout is the one of that run: a changed number removes it, and undoing the change brings it back.
 */
export function showFaults(jobs: SmokeJobs): vscode.Disposable {
  const shown = vscode.languages.createDiagnosticCollection('parallelism-layout-smoke');
  const show = (document: vscode.TextDocument) => {
    if (document.languageId === LANGUAGE && !document.isClosed) {
      const record = jobs.lastOf(document.uri);
      const busy = jobs.activeOf(document.uri) !== undefined;
      shown.set(document.uri, record?.fault && !busy ? failureOf(document, record, record.fault) : []);
    }
  };
  return vscode.Disposable.from(
    shown,
    jobs.onDidChange(() => vscode.workspace.textDocuments.forEach(show)),
    vscode.workspace.onDidOpenTextDocument(show),
    onDidRest(show, PATIENCE),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => shown.delete(uri)),
  );
}

/** A fault at the line of the layout that it comes from, with the lines of all groups that it touches. */
function failureOf(document: vscode.TextDocument, record: RunRecord, fault: Fault): vscode.Diagnostic[] {
  const checked = understoodDocument(document);
  const { facts, resolved } = checked;
  if (record.verdict === 'cancelled' || !facts || !resolved || layoutHash(resolved) !== record.layoutHash) {
    return [];
  }
  const line = lineOfGroup(facts, checked.lines, fault.kind, fault.module ?? null);
  const message = vscode.l10n.t('Smoke job on {0}: {1}', record.cluster, fault.msg);
  const diagnostic = new vscode.Diagnostic(rangeOfLine(document, line), message);
  const code = fault.code.replaceAll('_', '-');
  diagnostic.source = LANGUAGE;
  diagnostic.code = { value: `smoke-${code}`, target: vscode.Uri.parse(projectUrl(`docs/smoke.md#${code}`)) };
  diagnostic.relatedInformation = [...involved(fault, { ...checked, facts, resolved })].map(
    ([at, text]) =>
      new vscode.DiagnosticRelatedInformation(new vscode.Location(document.uri, rangeOfLine(document, at)), text),
  );
  return [diagnostic];
}

/** The groups that a fault touches, by the line of the layout that they come from: the faulty one, and those of its ranks. */
function involved(
  { culprits, kind, module, idx, ranks }: Fault,
  { facts, resolved, lines }: Understood & { readonly facts: LayoutFacts; readonly resolved: ResolvedLayout },
): Map<number, string> {
  const found = new Map<number, string[]>();
  const add = (name: string, of: string | null, text: string) => {
    const line = lineOfGroup(facts, lines, name, of);
    found.set(line, [...(found.get(line) ?? []), text]);
  };
  if (kind !== undefined && idx !== undefined && ranks) {
    const name = nameOfKind({ kind, module: module ?? null });
    add(kind, module ?? null, vscode.l10n.t('the fault is in {0}, group {1}: ranks {2}', name, idx, ranks.join(', ')));
  }
  const known = culprits.filter((rank) => rank < resolved.worldSize).slice(0, MAX_RANKS);
  for (const family of processGroups(resolved)) {
    for (const rank of family.size > 1 ? known : []) {
      for (const index of family.indicesOf(rank)) {
        if (family.name !== kind || index !== idx) {
          const name = nameOfKind({ kind: family.name, module: family.module });
          add(family.name, family.module, vscode.l10n.t('rank {0} is also in {1}, group {2}', rank, name, index));
        }
      }
    }
  }
  return new Map([...found].map(([line, texts]) => [line, texts.join('; ')]));
}
