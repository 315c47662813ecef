// Opens the rank grid of the example that `npm run try` opens.
const { commands, Uri, workspace } = require('vscode');

exports.activate = () => {
  const example = Uri.joinPath(workspace.workspaceFolders[0].uri, 'moe-64gpu.layout.yaml');
  return commands.executeCommand('parallelismLayout.showGrid', example);
};
