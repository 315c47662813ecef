import * as vscode from 'vscode';
import { LANGUAGE } from './layoutDocument';
import { showInformation } from './notifications';

/**
 * VS Code gives the settings of `[yaml]` to YAML files only, and lets no language take those of another. So the person's own
 * `[yaml]` settings are copied to `[parallelism-layout]`: by a command, or once they agree.
 */
const YAML = '[yaml]';
const LAYOUT = `[${LANGUAGE}]`;

/** Where a person said that layouts keep the settings that they have. */
const DECLINED = 'yamlSettings.declined';

/** The settings of one language, as the settings file has them. */
type Settings = Readonly<Record<string, unknown>>;

const written = (language: string): Settings =>
  vscode.workspace.getConfiguration().inspect<Settings>(language)?.globalValue ?? {};

/** The person's settings for YAML that they have not set for layouts. */
function missing(): Settings {
  const own = written(LAYOUT);
  return Object.fromEntries(Object.entries(written(YAML)).filter(([name]) => !Object.hasOwn(own, name)));
}

/** Copies the person's `[yaml]` settings to layouts; what they have set for layouts stays. */
export async function copyYamlSettings(): Promise<void> {
  const copied = missing();
  const names = Object.keys(copied);
  if (names.length === 0) {
    void showInformation(vscode.l10n.t('Layouts have all of your [yaml] settings.'));
    return;
  }
  const value = { ...written(LAYOUT), ...copied };
  await vscode.workspace.getConfiguration().update(LAYOUT, value, vscode.ConfigurationTarget.Global);
}

/** Offers that once, when a person who has `[yaml]` settings opens a layout. */
export function offerYamlSettings({ globalState }: vscode.ExtensionContext): vscode.Disposable {
  let offered = false;
  const offer = async (editor: vscode.TextEditor | undefined) => {
    const names = Object.keys(missing());
    if (offered || editor?.document.languageId !== LANGUAGE || names.length === 0 || globalState.get(DECLINED)) {
      return;
    }
    offered = true;
    const use = vscode.l10n.t('Use for Layouts');
    const never = vscode.l10n.t("Don't Ask Again");
    const message = vscode.l10n.t('Use your [yaml] settings for layouts, too? {0}', names.join(', '));
    const choice = await showInformation(message, use, never);
    if (choice === use) {
      await copyYamlSettings();
    } else if (choice === never) {
      await globalState.update(DECLINED, true);
    }
  };
  void offer(vscode.window.activeTextEditor);
  return vscode.window.onDidChangeActiveTextEditor(offer);
}
