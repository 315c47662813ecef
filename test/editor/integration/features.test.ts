import { strict as assert } from 'node:assert';
import * as vscode from 'vscode';
import { until } from '../../harness/until';
import { ask, codeOf, findings, offer, open, place, replace, revert, textOf, untilFindings } from './editor';

const EXAMPLE = 'mimo-8gpu.layout.yaml';

/** What a person sees while writing a layout: the same on a machine and in a browser. */
export function defineFeatures(): void {
  describe('while a layout is written', () => {
    let editor: vscode.TextEditor;

    beforeEach(async () => {
      editor = await open(EXAMPLE);
    });

    afterEach(async () => {
      await revert(editor);
    });

    it('knows the language of the file', () => {
      assert.equal(editor.document.languageId, 'parallelism-layout');
    });

    it('underlines the wrong number, says what Megatron-LM would, and clears when it is fixed', async () => {
      const { uri } = editor.document;
      await replace(editor, 'pp: 2', 'pp: 3');
      const [finding] = await untilFindings(uri, 1);
      assert.ok(finding);
      assert.equal(codeOf(finding), 'dense-factorization');
      assert.equal(editor.document.getText(finding.range), '3');
      assert.match(finding.message, /Megatron-LM: num_ranks \(4\) must be divisible by tp\*gtp_remat\*cp\*pp \(6\)/);
      await replace(editor, 'pp: 3', 'pp: 2');
      await untilFindings(uri, 0);
    });

    it('fixes by a quick fix, which one undo takes back', async () => {
      const { uri } = editor.document;
      const before = editor.document.getText();
      await replace(editor, 'rank_offset: 4', 'rank_offset: 6');
      const broken = editor.document.getText();
      const [finding] = await untilFindings(uri, 1);
      assert.ok(finding);
      const actions = await ask<vscode.CodeAction[]>('CodeAction', uri, finding.range);
      const preferred = actions.find(({ isPreferred }) => isPreferred);
      assert.ok(preferred?.edit, 'a preferred fix');
      await vscode.workspace.applyEdit(preferred.edit);
      await untilFindings(uri, 0);
      assert.equal(editor.document.getText(), before);
      await vscode.commands.executeCommand('undo');
      assert.equal(editor.document.getText(), broken);
    });

    it('applies all safe fixes', async () => {
      const { uri } = editor.document;
      await replace(editor, 'rank_offset: 4\n', 'rank_offset: "4"\n');
      const [finding] = await untilFindings(uri, 1, (one) => codeOf(one) === 'wrong-type');
      assert.ok(finding);
      // the command of the editor would take the editor that has the focus
      const all = vscode.CodeActionKind.SourceFixAll.value;
      const [action] = await ask<vscode.CodeAction[]>('CodeAction', uri, finding.range, all);
      assert.ok(action?.edit, 'an action that applies all safe fixes');
      await vscode.workspace.applyEdit(action.edit);
      assert.ok(editor.document.getText().includes('rank_offset: 4\n'));
    });

    it('shows derived values on hover', async () => {
      const at = editor.document.positionAt(editor.document.getText().lastIndexOf('tp: 2'));
      const hovers = await ask<vscode.Hover[]>('Hover', editor.document.uri, at);
      const text = hovers.flatMap(({ contents }) => contents.map(textOf)).join('\n');
      assert.match(text, /--tensor-model-parallel-size/);
      assert.match(text, /dp 1 \(1 replica of 4 ranks\)/);
    });

    it('completes keys that are not there yet', async () => {
      await replace(editor, '    pp: 2\n', '    pp: 2\n    \n');
      const labels = await offer(editor, place(editor, '    pp: 2\n    ', 'end'));
      assert.ok(labels.includes('ep'), labels.join());
      assert.ok(!labels.includes('num_ranks'), labels.join());
    });

    it('completes the values that fit', async () => {
      await replace(editor, '    pp: 2\n', '    pp: \n');
      const labels = await offer(editor, place(editor, '    pp: ', 'end'));
      assert.ok(labels.includes('2'), labels.join());
      assert.ok(!labels.includes('3'), labels.join());
    });

    it('shows derived numbers as inlay hints', async () => {
      const whole = new vscode.Range(0, 0, editor.document.lineCount, 0);
      const hints = await ask<vscode.InlayHint[]>('InlayHint', editor.document.uri, whole);
      const labels = hints.map(({ label }) =>
        typeof label === 'string' ? label : label.map(({ value }) => value).join(''),
      );
      assert.ok(labels.includes('→ ranks 4–7 · dp 1'), labels.join('; '));
    });

    it('shows the hints that are wanted, from the moment that the settings change', async () => {
      const settings = vscode.workspace.getConfiguration('parallelismLayout.inlayHints');
      const shown = async () => {
        const whole = new vscode.Range(0, 0, editor.document.lineCount, 0);
        const hints = await ask<vscode.InlayHint[]>('InlayHint', editor.document.uri, whole);
        return hints.map(({ label }) => label).join('; ');
      };
      try {
        await settings.update('derived', false, vscode.ConfigurationTarget.Global);
        await until(shown, (labels) => labels === '→ ranks 0–3; → ranks 4–7', 'spans alone');
        await settings.update('ranks', false, vscode.ConfigurationTarget.Global);
        await until(shown, (labels) => labels === '', 'no hint');
      } finally {
        await settings.update('derived', undefined, vscode.ConfigurationTarget.Global);
        await settings.update('ranks', undefined, vscode.ConfigurationTarget.Global);
      }
      await until(shown, (labels) => labels.includes('→ ranks 4–7 · dp 1'), 'all hints');
    });

    it('shows the findings that are wanted, from the moment that the settings change', async () => {
      const settings = vscode.workspace.getConfiguration('parallelismLayout.diagnostics');
      const { uri } = await vscode.workspace.openTextDocument({
        language: 'parallelism-layout',
        content: 'layout: 1\nworld_size: 16\ncluster: {nodes: 2, gpus_per_node: 8}\nparallelism: {tp: 16}\n',
      });
      const codes = () => findings(uri).map(codeOf).join();
      await until(codes, (seen) => seen === 'tp-crosses-nvlink', 'a warning');
      try {
        await settings.update('show', 'errors', vscode.ConfigurationTarget.Global);
        await until(codes, (seen) => seen === '', 'no warning');
      } finally {
        await settings.update('show', undefined, vscode.ConfigurationTarget.Global);
      }
      await until(codes, (seen) => seen === 'tp-crosses-nvlink', 'the warning again');
    });

    it('traces what the editor and the server say while the setting asks for it', async () => {
      const settings = vscode.workspace.getConfiguration('parallelismLayout.trace');
      const traced = async () => {
        await ask('Hover', editor.document.uri, place(editor, 'tp: 2', 'start'));
        const commands = await vscode.commands.getCommands(true);
        const show = commands.find((name) => name.endsWith('Parallelism Layout Trace'));
        if (show) {
          await vscode.commands.executeCommand(show);
        }
        return vscode.workspace.textDocuments
          .filter(({ uri, getText }) => uri.scheme === 'output' && getText().includes('textDocument/hover'))
          .map(({ uri }) => uri.path);
      };
      try {
        await settings.update('server', 'messages', vscode.ConfigurationTarget.Global);
        await until(traced, ({ length }) => length > 0, 'a trace');
      } finally {
        await settings.update('server', undefined, vscode.ConfigurationTarget.Global);
        await vscode.commands.executeCommand('workbench.action.closePanel');
      }
    });

    it('shows ranks and groups above each grid', async () => {
      const lenses = await ask<vscode.CodeLens[]>('CodeLens', editor.document.uri, 100);
      const titles = lenses.map(({ command }) => command?.title ?? '');
      assert.ok(titles.includes('Show Rank Grid'), titles.join('; '));
      assert.ok(
        titles.some((title) => /^4 ranks, \d+ process groups$/.test(title)),
        titles.join('; '),
      );
    });

    it('formats and keeps every comment', async () => {
      await replace(editor, '    tp: 2\n    dp: 2', '    tp:   2   # twins\n    dp: 2');
      const edits = await ask<vscode.TextEdit[]>('FormatDocument', editor.document.uri, {
        tabSize: 2,
        insertSpaces: true,
      });
      const change = new vscode.WorkspaceEdit();
      change.set(editor.document.uri, edits);
      await vscode.workspace.applyEdit(change);
      assert.match(editor.document.getText(), / {4}tp: 2 +# twins\n/);
    });

    it('renames a module wherever it is named', async () => {
      const at = place(editor, '  images', 'end');
      const change = await ask<vscode.WorkspaceEdit>('DocumentRename', editor.document.uri, at, 'vision');
      await vscode.workspace.applyEdit(change);
      assert.match(editor.document.getText(), /^ {2}vision:$/m);
      assert.ok(!editor.document.getText().includes('images:'));
    });

    it('outlines, folds, links, selects and colours what the server knows of the file', async () => {
      await replace(editor, '    pp: 2', '    pp: 2 # see dense-factorization');
      const { uri } = editor.document;
      const at = place(editor, '    pp: 2', 'end');
      const symbols = await ask<vscode.DocumentSymbol[]>('DocumentSymbol', uri);
      const modules = symbols.find(({ name }) => name === 'modules')?.children.map(({ name }) => name);
      assert.deepEqual(modules, ['images', 'language']);
      const folds = await ask<vscode.FoldingRange[]>('FoldingRange', uri);
      assert.ok(folds.some(({ start }) => start === place(editor, '  language:', 'start').line));
      const links = await ask<vscode.DocumentLink[]>('Link', uri);
      assert.ok(links[0]?.target?.path.endsWith('dense-factorization.md'));
      const [selection] = await ask<vscode.SelectionRange[]>('SelectionRange', uri, [at]);
      assert.equal(editor.document.getText(selection?.parent?.range), 'pp: 2');
      const tokens = await vscode.commands.executeCommand<vscode.SemanticTokens>(
        'vscode.provideDocumentSemanticTokens',
        uri,
      );
      assert.ok(tokens.data.length > 0);
    });

    it('checks a layout that is nowhere saved', async () => {
      const document = await vscode.workspace.openTextDocument({
        language: 'parallelism-layout',
        content: 'layout: 1\nworld_size: 8\ncluster: {nodes: 1, gpus_per_node: 8}\nparallelism: {tp: 3}\n',
      });
      const [finding] = await untilFindings(document.uri);
      assert.equal(finding && codeOf(finding), 'dense-factorization');
    });

    it('makes a new layout from a template, without a mistake', async () => {
      const made = vscode.commands.executeCommand('parallelismLayout.newLayout');
      const pressEnter = async () => {
        await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem');
        return vscode.window.activeTextEditor?.document;
      };
      const document = await until(pressEnter, (active) => active?.isUntitled === true, 'an unsaved layout');
      await made;
      assert.equal(document?.languageId, 'parallelism-layout');
      assert.match(document?.getText() ?? '', /^name: dense-64gpu$/m);
      // a name for the file that every system takes, not the first line
      assert.match(document?.uri.path ?? '', /(^|\/)dense-64gpu(-\d+)?\.layout\.yaml$/);
    });

    it('writes the quickest layout that fits, and one undo takes it back', async () => {
      const content = [
        'layout: 1',
        'cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}',
        'parallelism: {tp: 16}',
        'model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, vocab_size: 128256, gated_linear_unit: true}',
        'sequence: {seq_length: 4096}',
        'batch: {micro_batch_size: 1, global_batch_size: 64}',
        '',
      ].join('\n');
      const document = await vscode.workspace.openTextDocument({ language: 'parallelism-layout', content });
      await vscode.window.showTextDocument(document);
      const planned = vscode.commands.executeCommand('parallelismLayout.planLayouts');
      const pressEnter = async () => {
        await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem');
        return document.getText();
      };
      await until(pressEnter, (text) => text !== content, 'a planned layout');
      await planned;
      assert.match(document.getText(), /^optimizer: \{use_distributed_optimizer: true\}$/m);
      assert.deepEqual(
        findings(document.uri).filter(({ severity }) => severity === vscode.DiagnosticSeverity.Error),
        [],
      );
      await vscode.commands.executeCommand('undo');
      assert.equal(document.getText(), content);
    });

    it('opens a sample with a mistake to fix', async () => {
      await vscode.commands.executeCommand('parallelismLayout.openSample');
      const document = vscode.window.activeTextEditor?.document;
      assert.ok(document?.isUntitled);
      await until(
        () => findings(document.uri).map((finding) => document.getText(finding.range)),
        (underlined) => underlined.join() === '3',
        'the wrong number is underlined',
      );
    });

    it('opens the rank grid of a layout', async () => {
      await vscode.commands.executeCommand('parallelismLayout.showGrid');
      const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
      const tab = await until(
        () => tabs().find(({ label }) => label.includes('mimo-8gpu') && label.startsWith('Ranks')),
        (found) => found !== undefined,
        'the panel is open',
      );
      assert.ok(tab);
      await vscode.window.tabGroups.close(tab);
    });
  });
}
