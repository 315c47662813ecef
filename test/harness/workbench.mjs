// A page object of the workbench: what a person sees and does, by names that a newcomer understands.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { CHROMIUM, SERVER_MAIN, startEditorServer } from './editorServer.mjs';

/** Where packaging leaves the extension. */
const VSIX = 'parallelism-layout.vsix';

/** The editor in a browser, with the packaged extension installed and a copy of a folder open. */
export class Workbench {
  #page;
  #browser;
  #server;
  #work;

  /**
   * Opens one; it is closed again where that fails.
   * @param {{ folder: string, vsix?: string, theme?: string, settings?: object, env?: NodeJS.ProcessEnv, width?: number,
   *   height?: number, commit?: boolean }} options `env`: variables of the extension host; `commit`: make the copy of the
   *   folder a git repository with one commit
   */
  async open(options) {
    try {
      await this.#start(options);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #start({ folder, vsix = VSIX, theme, settings = {}, env = {}, width = 1440, height = 900, commit = false }) {
    this.#work = mkdtempSync(join(tmpdir(), 'parallelism-layout-e2e-'));
    const project = join(this.#work, basename(resolve(folder)));
    cpSync(resolve(folder), project, { recursive: true });
    if (commit) {
      commitAll(project);
    }
    this.#server = await startEditorServer({
      extensionsDir: installExtension(vsix, this.#work),
      settings: { 'editor.minimap.enabled': false, ...(theme && { 'workbench.colorTheme': theme }), ...settings },
      env,
    });
    this.#browser = await chromium.launch(CHROMIUM);
    this.#page = await this.#browser.newPage({ viewport: { width, height } });
    this.#page.setDefaultTimeout(30_000);
    await this.#page.goto(`http://127.0.0.1:${this.#server.port}/?folder=${encodeURIComponent(project)}`);
    await this.#page.locator('.monaco-workbench').waitFor();
  }

  async close() {
    await this.#browser?.close();
    await this.#server?.stop();
    if (this.#work) {
      rmSync(this.#work, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    }
  }

  /** Where this workbench keeps its files: the project, and the installed extension. */
  get folder() {
    return this.#work;
  }

  get page() {
    return this.#page;
  }

  /**
   * Changes a setting, as an edit of the settings file does.
   * @param {'User' | 'Machine'} whose of the person, or of the machine that the extensions run on
   */
  setting(name, value, whose = 'User') {
    const file = join(this.#server.data, 'data', whose, 'settings.json');
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), [name]: value }));
  }

  /** Opens a file of the folder from the Explorer. */
  async openFile(name) {
    await this.#page.getByRole('treeitem', { name }).dblclick();
    await this.#page.locator('.editor-instance .view-line').first().waitFor();
    await this.editorTab(name).waitFor();
  }

  editorTab(name) {
    return this.#page.locator('.tabs-container .tab', { hasText: name });
  }

  /** The line of the text editor that has the given text; spaces there are not plain spaces. */
  line(text) {
    return this.#page
      .locator('.editor-instance .view-line', { hasText: new RegExp(text.replaceAll(' ', '\\s')) })
      .first();
  }

  /** A lens above a line of the text editor. */
  lens(text) {
    return this.#page.locator('.codelens-decoration a', { hasText: text });
  }

  get squiggles() {
    return this.#page.locator('.squiggly-error');
  }

  /**
   * Presses a key until what it opens is there: one that comes while the workbench is busy can get lost.
   */
  async press(key, opened) {
    for (let i = 1; ; i++) {
      await this.#page.keyboard.press(key);
      try {
        await opened.first().waitFor({ timeout: 4000 });
        return;
      } catch (error) {
        if (i === 5) {
          throw error;
        }
      }
    }
  }

  /** Puts the cursor at the end of the word in the line that has the given text, and types over the last characters. */
  async typeOver(lineText, word, replacement) {
    await this.line(lineText).locator('span', { hasText: word }).last().click();
    await this.#page.keyboard.press('End');
    for (let i = 0; i < word.length; i++) {
      await this.#page.keyboard.press('Backspace');
    }
    await this.#page.keyboard.type(replacement);
  }

  /** Shows the Problems panel and gives its row with the given text. */
  async problem(text) {
    const row = this.#page.locator('.markers-panel .monaco-list-row', { hasText: text });
    await this.press('Control+Shift+M', row);
    return row.first();
  }

  /** Runs a command from the palette. */
  async command(title) {
    const input = this.#page.locator('.quick-input-widget input.input');
    const row = this.#page.locator('.quick-input-list .monaco-list-row', { hasText: title });
    await this.press('F1', input);
    for (let i = 1; ; i++) {
      // the palette may still be setting its own text, and takes no notice of one that is there already
      await input.fill('>');
      await input.fill(`>${title}`);
      try {
        await row.first().waitFor({ timeout: 4000 });
        break;
      } catch (error) {
        if (i === 5) {
          await this.screenshot('palette');
          throw error;
        }
      }
    }
    await this.#page.keyboard.press('Enter');
  }

  /** A notification in the centre of notifications, which is opened: the editor's test driver shows none by itself. */
  notification(text) {
    const all = this.#page.locator('.notifications-center.visible');
    const found = all.locator('.notification-list-item', { hasText: text }).first();
    return {
      button: (name) => found.getByRole('button', { name }),
      waitFor: async ({ timeout = 30_000 } = {}) => {
        for (const end = Date.now() + timeout; ; ) {
          // it closes when its last notification goes
          if (!(await all.isVisible())) {
            await this.command('Notifications: Show Notifications');
          }
          try {
            await found.waitFor({ timeout: 3000 });
            return;
          } catch (error) {
            if (Date.now() > end) {
              throw error;
            }
          }
        }
      },
    };
  }

  /** Reloads the window as a person does: the editor saves what panels and extensions keep before it goes. */
  async reload() {
    await Promise.all([this.#page.waitForEvent('load'), this.command('Developer: Reload Window')]);
  }

  /** Opens the quick fixes at the cursor and applies one. */
  async quickFix(title) {
    const entry = this.#page.locator('.action-widget').getByText(title);
    await this.press('Control+.', entry);
    await entry.first().click();
  }

  /** The inside of the rank grid: a webview is two frames deep. */
  get grid() {
    return this.#page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
  }

  /** Keeps a picture of the whole window as an artefact of the run. */
  async screenshot(name) {
    mkdirSync('artifacts', { recursive: true });
    await this.#page.screenshot({ path: join('artifacts', `${name}.png`) });
  }
}

/** Makes a folder a git repository with one commit, whoever the person at this machine is. */
function commitAll(folder) {
  const git = (...args) => execFileSync('git', args, { cwd: folder, stdio: 'pipe' });
  git('init', '--quiet');
  git('add', '--all');
  git('-c', 'user.name=test', '-c', 'user.email=test@example.com', 'commit', '--quiet', '--message', 'first');
}

/** Installs a packaged extension as a person would, into a folder of its own. */
export function installExtension(vsix, work) {
  const extensionsDir = join(work, 'extensions');
  execFileSync(
    process.execPath,
    [
      SERVER_MAIN,
      ...['--install-extension', resolve(vsix), '--extensions-dir', extensionsDir],
      ...['--server-data-dir', join(work, 'install'), '--accept-server-license-terms'],
    ],
    { stdio: 'pipe' },
  );
  return extensionsDir;
}
