import * as vscode from 'vscode';
import { gibibytes } from '../layout';
import type { PlannedLayout } from '../layout/cost';
import { replaceLayout } from './launch/edits';
import { showError, showInformation, withProgress } from './notifications';
import { NOT_CHECKED, type ServerDiagnostics } from './serverDiagnostics';

interface Choice extends vscode.QuickPickItem {
  readonly text: string;
}

/** Lists the layouts of a file's model, world and batch that fit its GPUs, the quickest first; the chosen one replaces the text. */
export async function planLayouts(said: ServerDiagnostics, document: vscode.TextDocument): Promise<void> {
  const title = vscode.l10n.t('Looking for layouts that fit…');
  const plan = await withProgress({ location: vscode.ProgressLocation.Window, title }, () => said.plan(document));
  if (!plan) {
    void showError(NOT_CHECKED());
    return;
  }
  if (!plan.ok) {
    void showInformation(vscode.l10n.t('No layouts could be planned: {0}.', plan.reason));
    return;
  }
  if (plan.layouts.length === 0) {
    void showInformation(vscode.l10n.t('None of {0} layouts fits. Use more GPUs, or larger ones.', plan.tried));
    return;
  }
  const version = document.version;
  const chosen = await vscode.window.showQuickPick(choices(plan.layouts, plan.present), {
    placeHolder: vscode.l10n.t('{0} of {1} layouts fit; the quickest first, by estimate', plan.fitting, plan.tried),
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen?.text && document.version !== version) {
    // the layout was made of the old text
    void showInformation(vscode.l10n.t('The layout has changed meanwhile. Plan again.'));
  } else if (chosen?.text) {
    await replaceLayout(document, chosen.text);
  }
}

/** The layouts under headings, one a group of equally quick ones, and the present layout last. */
function choices(layouts: readonly PlannedLayout[], present: PlannedLayout | null): Choice[] {
  const rows = layouts.flatMap((layout, index) => {
    const isFirst = layout.group !== layouts[index - 1]?.group;
    const heading =
      layout.group === 1 ? vscode.l10n.t('as quick as one another') : vscode.l10n.t('slower: group {0}', layout.group);
    return [...(isFirst ? [separator(heading)] : []), choice(layout)];
  });
  return present ? [...rows, separator(vscode.l10n.t('the present layout')), choice(present)] : rows;
}

const separator = (label: string): Choice => ({ label, kind: vscode.QuickPickItemKind.Separator, text: '' });

function choice({ degrees, vpp, micro, why, needs, seconds, totalBytes, text, isPresent }: PlannedLayout): Choice {
  const { tp, cp, pp, dp, ep } = degrees;
  const sizes = Object.entries({ tp, cp, pp, vpp, dp, ep }).filter(([name, size]) => size > 1 || name === 'tp');
  return {
    label: sizes.map(([name, size]) => `${name} ${size}`).join(' · '),
    description: vscode.l10n.t('{0} s a step, {1} GiB a GPU', seconds.toPrecision(3), gibibytes(totalBytes)),
    detail: [vscode.l10n.t('micro-batch {0}', micro), ...needs, why].join(', '),
    // the present layout is there to be compared with
    text: isPresent ? '' : text,
  };
}
