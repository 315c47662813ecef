import type { InitializeParams } from 'vscode-languageserver';
import type { Commands } from './messages';

/** Whether a client asks for diagnostics itself: one that can may still want them pushed, which reaches it sooner. */
export function pulls({ capabilities, initializationOptions }: InitializeParams): boolean {
  return (
    capabilities.textDocument?.diagnostic !== undefined && property(initializationOptions, 'diagnostics') !== 'push'
  );
}

/** Whether the client knows the notification that sums up every check. */
export function wantsSummaries(options: unknown): boolean {
  return property(options, 'summaries') === true;
}

/** Whether the files of the workspace that are not open are to be checked too. */
export function wantsWorkspace(options: unknown): boolean {
  return property(options, 'workspaceDiagnostics') !== false;
}

/** The client's commands, of which only texts are believed. */
export function commandsOf(options: unknown): Commands {
  const commands = property(options, 'commands');
  const showGrid = property(commands, 'showGrid');
  const runSmokeJob = property(commands, 'runSmokeJob');
  const compareLaunchFile = property(commands, 'compareLaunchFile');
  return {
    ...(typeof showGrid === 'string' && { showGrid }),
    ...(typeof runSmokeJob === 'string' && { runSmokeJob }),
    ...(typeof compareLaunchFile === 'string' && { compareLaunchFile }),
  };
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
