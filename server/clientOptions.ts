import type { InitializeParams } from 'vscode-languageserver';
import { levelsOfSettings, type RuleLevels } from '../layout';
import type { Commands } from './messages';

/** Whether a client pulls diagnostics: one that can may still want them pushed, which reaches it sooner. */
export function pulls({ capabilities, initializationOptions }: InitializeParams): boolean {
  return (
    capabilities.textDocument?.diagnostic !== undefined && property(initializationOptions, 'diagnostics') !== 'push'
  );
}

/** Whether the client knows the notification with the summary of a check. */
export function wantsSummaries(options: unknown): boolean {
  return property(options, 'summaries') === true;
}

/** Whether files of the workspace that are not open are checked. */
export function wantsWorkspace(options: unknown): boolean {
  return property(options, 'workspaceDiagnostics') !== false;
}

/** The client's commands; what is not text is ignored. */
export function commandsOf(options: unknown): Commands {
  const commands = property(options, 'commands');
  const names = ['showGrid', 'runSmokeJob', 'compareLaunchFile', 'newLayout', 'addModel'] as const;
  const texts = names.map((name) => [name, property(commands, name)]);
  return Object.fromEntries(texts.filter(([, text]) => typeof text === 'string'));
}

/** Kinds of inlay hints: the ranks of a grid, derived numbers, defaults in force, memory of a GPU. */
export type HintKind = 'ranks' | 'derived' | 'defaults' | 'memory';

/** What a person can choose while the server runs (`workspace/didChangeConfiguration`). */
export interface Settings {
  /** The inlay hints that are shown. */
  readonly hints: ReadonlySet<HintKind>;
  /** Severities other than the rules' own. */
  readonly levels: RuleLevels;
  /** Whether launch files are checked themselves. */
  readonly checksLaunchFiles: boolean;
}

const KINDS: readonly HintKind[] = ['ranks', 'derived', 'defaults', 'memory'];

export const DEFAULT_SETTINGS: Settings = { hints: new Set(KINDS), levels: new Map(), checksLaunchFiles: false };

/** Reads the section `parallelismLayout` of a client's settings; a hint that it does not turn off is on. */
export function settingsOf(settings: unknown): Settings {
  const section = property(settings, 'parallelismLayout');
  const hints = property(section, 'inlayHints');
  return {
    hints: new Set(KINDS.filter((kind) => property(hints, kind) !== false)),
    levels: levelsOfSettings(property(section, 'rules')),
    checksLaunchFiles: property(section, 'checkLaunchFiles') === true,
  };
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
