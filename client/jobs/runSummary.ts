import * as vscode from 'vscode';
import type { RunRecord } from '../../jobs';

/** The outcome of a run in a few words. */
export function outcomeText({ ok, verdict }: Pick<RunRecord, 'ok' | 'verdict'>): string {
  if (ok) {
    return vscode.l10n.t('passed');
  }
  return verdict === 'cancelled'
    ? vscode.l10n.t('cancelled')
    : verdict === 'unknown'
      ? vscode.l10n.t('no verdict')
      : vscode.l10n.t('failed: {0}', verdict.replaceAll('_', ' '));
}

/** The icon of a run's outcome. */
export function outcomeIcon({ ok, verdict }: Pick<RunRecord, 'ok' | 'verdict'>): 'pass' | 'circle-slash' | 'error' {
  return ok ? 'pass' : verdict === 'cancelled' ? 'circle-slash' : 'error';
}

/** When a run began: the time if it was today, else with the day. */
export function timeOf({ started }: Pick<RunRecord, 'started'>): string {
  const at = new Date(started);
  const today = at.toDateString() === new Date().toDateString();
  return at.toLocaleString(vscode.env.language, {
    ...(today ? {} : { month: 'short', day: 'numeric' }),
    ...{ hour: 'numeric', minute: '2-digit' },
  });
}
