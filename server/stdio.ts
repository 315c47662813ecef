import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { serve } from './server';

// Speaks over standard input and output unless the client names another transport (`--node-ipc`, `--socket=PORT`).
if (!process.argv.some((argument) => /^--(stdio|node-ipc|socket=|pipe=)/.test(argument))) {
  process.argv.push('--stdio');
}
serve(createConnection(ProposedFeatures.all));
