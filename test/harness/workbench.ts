// A page object of the workbench: what a person sees and does.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { Browser, FrameLocator, Locator, Page } from 'playwright-core';
import { launchChromium } from './chromium.ts';
import { SERVER_MAIN, startEditorServer, writeSettings } from './editorServer.ts';

/** Where packaging leaves the extension. */
const VSIX = 'parallelism-layout.vsix';

/** How long an action may take to show on a busy machine, in milliseconds. */
const PATIENCE = 60_000;

/** How long a key may take to work before it is pressed again, in milliseconds. */
const RETRY = 4000;

/** A running editor, with the extension installed: its port, and the folder of its data. */
interface RunningEditor {
  readonly port: number;
  readonly data: string;
}

export interface WorkbenchOptions {
  /** The folder of which a copy is opened. */
  readonly folder: string;
  /** The editor to use; left out, one is started, with `vsix` installed. */
  readonly editor?: RunningEditor;
  readonly vsix?: string;
  /** A colour theme of the editor, by its name. */
  readonly theme?: string;
  readonly settings?: object;
  readonly width?: number;
  readonly height?: number;
  /** Make the copy of the folder a git repository with one commit. */
  readonly commit?: boolean;
}

/** The editor in a browser, with the packaged extension installed and a copy of a folder open. */
export class Workbench {
  #page: Page | undefined;
  #browser: Browser | undefined;
  #editor: RunningEditor | undefined;
  #stop: (() => Promise<void>) | undefined;
  #work = '';

  /** Opens one; it is closed again where that fails. */
  async open(options: WorkbenchOptions): Promise<void> {
    try {
      await this.#start(options);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #start({
    folder,
    editor,
    vsix = VSIX,
    theme,
    settings = {},
    width = 1440,
    height = 900,
    commit = false,
  }: WorkbenchOptions) {
    this.#work = mkdtempSync(join(tmpdir(), 'parallelism-layout-e2e-'));
    const project = join(this.#work, basename(resolve(folder)));
    cpSync(resolve(folder), project, { recursive: true });
    if (commit) {
      commitAll(project);
    }
    this.#editor = editor ?? (await this.#startEditor(vsix));
    writeSettings(this.#editor.data, {
      'security.workspace.trust.enabled': false,
      'editor.minimap.enabled': false,
      ...(theme && { 'workbench.colorTheme': theme }),
      ...settings,
    });
    this.#browser = await launchChromium();
    this.#page = await this.#browser.newPage({ viewport: { width, height } });
    this.page.setDefaultTimeout(PATIENCE);
    await this.page.goto(`http://127.0.0.1:${this.#editor.port}/?folder=${encodeURIComponent(project)}`);
    await this.#ready();
  }

  /** Starts an editor of this workbench alone. */
  async #startEditor(vsix: string): Promise<RunningEditor> {
    const { stop, ...editor } = await startEditorServer({ extensionsDir: installExtension(vsix, this.#work) });
    this.#stop = stop;
    return editor;
  }

  /** Waits until the workbench has its parts, and answers to keys. */
  async #ready(): Promise<void> {
    await this.page.locator('.monaco-workbench .statusbar-item').first().waitFor();
    await this.page.locator('.monaco-workbench .part.editor').waitFor();
  }

  get isOpen(): boolean {
    return this.#page !== undefined;
  }

  async close() {
    await this.#browser?.close();
    await this.#stop?.();
    if (this.#work) {
      rmSync(this.#work, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    }
  }

  /** Where this workbench keeps its files: the project, and the installed extension. */
  get folder(): string {
    return this.#work;
  }

  /** @throws before it is open */
  get page(): Page {
    if (!this.#page) {
      throw new Error('the workbench is not open');
    }
    return this.#page;
  }

  /**
   * Changes a setting, as an edit of the settings file does.
   * @param whose of the person, or of the machine that the extensions run on
   */
  setting(name: string, value: unknown, whose: 'User' | 'Machine' = 'User'): void {
    const file = join(this.#editor?.data ?? '', 'data', whose, 'settings.json');
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), [name]: value }));
  }

  /** Opens a file of the folder from the Explorer. */
  async openFile(name: string): Promise<void> {
    await this.page.getByRole('treeitem', { name }).dblclick();
    await this.page.locator('.editor-instance .view-line').first().waitFor();
    await this.editorTab(name).waitFor();
  }

  /** Drags a file from the Explorer onto a text in the editor and drops it with Shift held, which is a drop into the text. */
  async dropFile(name: string, target: Locator): Promise<void> {
    const { mouse, keyboard } = this.page;
    const centre = async (locator: Locator) => {
      const { x, y, width, height } = (await locator.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
      return [x + Math.min(width / 2, 20), y + height / 2] as const;
    };
    // a busy workbench may not take the first moves for a drag: then it begins again
    await this.#again(this.page.locator('.editor-instance .dnd-target'), async () => {
      await keyboard.press('Escape');
      await keyboard.up('Shift');
      await mouse.up();
      await mouse.move(...(await centre(this.page.getByRole('treeitem', { name }))));
      await mouse.down();
      const [x, y] = await centre(target);
      await mouse.move(x, y, { steps: 4 });
      await keyboard.down('Shift');
      await mouse.move(x + 5, y, { steps: 4 });
    });
    await mouse.up();
    await keyboard.up('Shift');
  }

  /** Opens a file's context menu in the Explorer and runs a command of it. */
  async contextMenu(name: string, command: string): Promise<void> {
    const entry = this.page.locator('.monaco-menu .action-item', { hasText: command });
    await this.#again(entry, () => this.page.getByRole('treeitem', { name }).click({ button: 'right' }));
    // a menu takes no click in its first moments, but keys
    await entry.hover();
    await entry.and(this.page.locator('.focused')).waitFor();
    await this.page.keyboard.press('Enter');
    await entry.waitFor({ state: 'detached' });
  }

  /** The menu beside a text that was dropped or pasted: the other ways to insert it. */
  async insertChoices(): Promise<Locator> {
    await this.page.locator('.post-edit-widget').first().click();
    const choices = this.page.locator('.action-widget').first();
    await choices.waitFor();
    return choices;
  }

  editorTab(name: string): Locator {
    return this.page.locator('.tabs-container .tab', { hasText: name });
  }

  /** The line of the text editor that has the given text; spaces there are not plain spaces. */
  line(text: string): Locator {
    return this.page
      .locator('.editor-instance .view-line', { hasText: new RegExp(text.replaceAll(' ', '\\s')) })
      .first();
  }

  /** A lens above a line of the text editor. */
  lens(text: string | RegExp): Locator {
    return this.page.locator('.codelens-decoration a', { hasText: text });
  }

  /** Waits for a lens of a file that is open. An editor without the focus may draw its lenses later, so it gets the focus. */
  async waitForLens(file: string, text: string): Promise<void> {
    await this.#again(this.lens(text), () => this.editorTab(file).first().click());
  }

  /** Clicks a lens until what it opens is there: one that the editor draws anew between press and release takes no click. */
  async clickLens(text: string, opened: Locator): Promise<void> {
    await this.#again(opened, () => this.lens(text).first().click());
  }

  get squiggles(): Locator {
    return this.page.locator('.squiggly-error');
  }

  /** Presses a key until what it opens is there: a busy workbench can lose a key. */
  async press(key: string, opened: Locator): Promise<void> {
    await this.#again(opened, () => this.page.keyboard.press(key));
  }

  /** Does something again and again until what comes of it is there. */
  async #again(wanted: Locator, act: () => Promise<void>): Promise<void> {
    for (const end = Date.now() + PATIENCE; ; ) {
      await act();
      try {
        await wanted.first().waitFor({ timeout: RETRY });
        return;
      } catch (error) {
        if (Date.now() > end) {
          throw error;
        }
      }
    }
  }

  /** Puts the cursor at the end of the word in the line that has the given text, and types over the last characters. */
  async typeOver(lineText: string, word: string, replacement: string): Promise<void> {
    await this.line(lineText).locator('span', { hasText: word }).last().click();
    await this.page.keyboard.press('End');
    for (let i = 0; i < word.length; i++) {
      await this.page.keyboard.press('Backspace');
    }
    await this.page.keyboard.type(replacement);
  }

  /** Shows the Problems panel and gives its row with the given text. */
  async problem(text: string): Promise<Locator> {
    const row = this.page.locator('.markers-panel .monaco-list-row', { hasText: text });
    await this.press('Control+Shift+M', row);
    return row.first();
  }

  /** Runs a command from the palette. */
  async command(title: string): Promise<void> {
    const input = this.page.locator('.quick-input-widget input.input');
    // the row that Enter takes: the command may stand among those used lately before the list is filtered
    const row = this.page.locator('.quick-input-list .monaco-list-row[data-index="0"]', { hasText: title });
    await this.#again(row, async () => {
      // the palette may still be setting its own text, and takes no notice of one that is there already
      await this.page.keyboard.press('F1');
      if (await input.isVisible()) {
        // it closes where something else takes the focus: then it is opened again
        const filled = input.fill('>', { timeout: RETRY }).then(() => input.fill(`>${title}`, { timeout: RETRY }));
        await filled.catch(() => undefined);
      }
    });
    await this.page.keyboard.press('Enter');
  }

  /** A notification in the centre of notifications, which is opened: the editor's test driver shows none by itself. */
  notification(text: string | RegExp): Notification {
    const all = this.page.locator('.notifications-center.visible');
    const found = all.locator('.notification-list-item', { hasText: text }).first();
    return {
      button: (name) => found.getByRole('button', { name }),
      waitFor: async ({ timeout = PATIENCE } = {}) => {
        for (const end = Date.now() + timeout; ; ) {
          // it closes when its last notification goes
          if (!(await all.isVisible())) {
            await this.command('Notifications: Show Notifications');
          }
          try {
            await found.waitFor({ timeout: RETRY });
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
  async reload(): Promise<void> {
    await Promise.all([this.page.waitForEvent('load'), this.command('Developer: Reload Window')]);
    await this.#ready();
  }

  /** Opens the quick fixes at the cursor and applies one. */
  async quickFix(title: string): Promise<void> {
    const entry = this.page.locator('.action-widget').getByText(title);
    await this.press('Control+.', entry);
    await entry.first().click();
  }

  /** The inside of the rank grid: a webview is two frames deep. */
  get grid(): FrameLocator {
    return this.page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
  }

  /** Keeps a picture of the whole window as an artefact of the run. */
  async screenshot(name: string): Promise<void> {
    mkdirSync('artifacts', { recursive: true });
    await this.page.screenshot({ path: join('artifacts', `${name}.png`) });
  }
}

interface Notification {
  readonly button: (name: string) => Locator;
  readonly waitFor: (options?: { readonly timeout?: number }) => Promise<void>;
}

/** Makes a folder a git repository with one commit, whoever the person at this machine is. */
function commitAll(folder: string): void {
  const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: folder, stdio: 'pipe' });
  git('init', '--quiet');
  git('add', '--all');
  git('-c', 'user.name=test', '-c', 'user.email=test@example.com', 'commit', '--quiet', '--message', 'first');
}

/** Installs a packaged extension as a person would, into a folder of its own. */
export function installExtension(vsix: string, work: string): string {
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
