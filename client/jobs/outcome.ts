import * as vscode from 'vscode';
import type { RunRecord } from '../../jobs';

/** How a run ended, in the words of a person. */
export function outcomeText({ ok, verdict }: Pick<RunRecord, 'ok' | 'verdict'>): string {
  if (ok) {
    return vscode.l10n.t('passed');
  }
  return verdict === 'cancelled'
    ? vscode.l10n.t('cancelled')
    : verdict === 'unknown'
      ? vscode.l10n.t('ended without a verdict')
      : vscode.l10n.t('failed: {0}', verdict.replaceAll('_', ' '));
}

/** The icon of how a run ended. */
export function outcomeIcon({ ok, verdict }: Pick<RunRecord, 'ok' | 'verdict'>): 'pass' | 'circle-slash' | 'error' {
  return ok ? 'pass' : verdict === 'cancelled' ? 'circle-slash' : 'error';
}

/** When a run began: the time where that was today, else the date too. */
export function timeOf({ started }: Pick<RunRecord, 'started'>): string {
  const at = new Date(started);
  const today = at.toDateString() === new Date().toDateString();
  return at.toLocaleString(vscode.env.language, { ...(today ? {} : { dateStyle: 'medium' }), timeStyle: 'short' });
}
