import * as vscode from 'vscode';
import { check, hasErrors, keyValues, type LayoutFacts, measuredRun } from '../../layout';
import { estimateOf, measuredScore, runMark, scoresOfFacts } from '../../layout/cost';
import { costOf } from '../../picture/cost';
import type { CompareWith, PanelBase } from '../../webview/panel/messages';
import { fileItems, LAYOUT_FILE, layoutFiles } from '../layoutDocument';
import { chooseFileBeside, nameOf } from '../paths';
import { currentLayoutText, readLayoutText, readText } from '../readText';
import { understoodDocument } from '../understoodDocument';
import { textInLastCommit } from './lastCommit';

/**
 * The layout that a document is compared with; null where a person chose none.
 * @param file the address of the file to compare with, where it is known from before
 * @throws Error where it cannot be read
 */
export async function baseFor(
  document: vscode.TextDocument,
  what: CompareWith,
  file: string | null,
): Promise<CompareBase | null> {
  switch (what) {
    case 'nothing':
      return null;
    case 'saved': {
      const text = document.isUntitled ? null : await readLayoutText(document.uri);
      // the numbers alone: a picture beside every picture would halve it while one types
      return text === null
        ? null
        : { ...baseOf(text, vscode.l10n.t('the saved file'), null), layout: null, problem: null, facts: null };
    }
    case 'commit':
      return baseOf(await textInLastCommit(document.uri), vscode.l10n.t('the last commit'), null);
    case 'file': {
      const uri =
        file !== null && LAYOUT_FILE.test(file) ? vscode.Uri.parse(file, true) : await chooseFile(document.uri);
      return uri ? baseOf(await textOf(uri), nameOf(uri), uri.toString()) : null;
    }
    case 'run': {
      const logs = { [vscode.l10n.t('Logs')]: ['log', 'txt', 'out', 'err', '*'] };
      const uri = file === null ? await chooseFileBeside(document.uri, logs) : vscode.Uri.parse(file, true);
      return uri ? baseOfRun(document, uri) : null;
    }
  }
}

/** What the panel is told of a layout to compare with, and what is known of it where it has no errors. */
export interface CompareBase extends PanelBase {
  readonly facts: LayoutFacts | null;
}

/** A base whose cost is unknown. */
export const NO_BASE: CompareBase = {
  facts: null,
  title: '',
  file: null,
  layout: null,
  problem: null,
  values: [],
  scores: null,
  cost: null,
  run: null,
};

function baseOf(text: string, title: string, file: string | null): CompareBase {
  const checked = check(text);
  const { facts, resolved } = checked;
  const isSound = resolved !== null && !hasErrors(checked);
  return {
    ...NO_BASE,
    title,
    file,
    layout: resolved,
    problem: resolved ? null : vscode.l10n.t('{0} has errors. Fix them before you compare.', title),
    values: keyValues(checked),
    scores: facts && isSound ? scoresOfFacts(facts) : null,
    cost: facts && isSound ? costOf(facts).cost : null,
    facts: isSound ? facts : null,
  };
}

/** The largest log that is read, in bytes. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;

/** What a log says of a run of the layout: its step time and its peak, and nothing else. */
async function baseOfRun(document: vscode.TextDocument, uri: vscode.Uri): Promise<CompareBase> {
  const text = await readText(uri, MAX_LOG_BYTES);
  const { facts } = understoodDocument(document);
  const run = text === null ? null : measuredRun(text.split(/\r?\n/));
  const estimate = facts && estimateOf(facts);
  const mark = run && estimate?.ok ? runMark(run, estimate.estimate) : null;
  const [own] = facts ? scoresOfFacts(facts) : [];
  if (!mark || !own?.score) {
    const problem = vscode.l10n.t('{0} holds no step time that can be compared with this layout.', nameOf(uri));
    return { ...NO_BASE, file: uri.toString(), problem };
  }
  const score = measuredScore(own.score, mark);
  return {
    ...NO_BASE,
    title: vscode.l10n.t('the run {0}', nameOf(uri)),
    file: uri.toString(),
    scores: [{ ...own, score }],
    run: mark,
  };
}

async function textOf(uri: vscode.Uri): Promise<string> {
  const text = await currentLayoutText(uri);
  if (text === null) {
    throw vscode.FileSystemError.Unavailable(uri);
  }
  return text;
}

/** Asks for another layout file: one of the workspace, or any other. */
async function chooseFile(document: vscode.Uri): Promise<vscode.Uri | undefined> {
  const items = fileItems((await layoutFiles()).filter((uri) => uri.toString() !== document.toString()));
  const browse = { label: vscode.l10n.t('Browse...'), description: '', uri: undefined };
  const placeHolder = vscode.l10n.t('Compare {0} with which layout?', nameOf(document));
  const chosen = await vscode.window.showQuickPick([...items, browse], { placeHolder, matchOnDescription: true });
  const layouts = { [vscode.l10n.t('Layouts')]: ['layout.yaml', 'layout.yml', 'yaml', 'yml'] };
  return chosen === browse ? chooseFileBeside(document, layouts) : chosen?.uri;
}
