import type { CodeAction, CodeLens, Connection, Range, ServerCapabilities } from 'vscode-languageserver';
import type { Checked } from '../../layout';
import type { Settings } from '../clientOptions';
import type { Documents } from '../documents';
import type { Commands } from '../messages';

/** A feature of the server: what it tells the client that it can do, and the requests that it answers. */
export interface Feature {
  readonly capabilities: ServerCapabilities;
  register(context: FeatureContext): void;
}

export function feature(capabilities: ServerCapabilities, register: Feature['register']): Feature {
  return { capabilities, register };
}

/** What features answer requests with. */
export interface FeatureContext {
  readonly connection: Connection;
  readonly documents: Documents;
  readonly commands: Commands;
  /** Whether completion may write tab stops. */
  readonly snippets: boolean;
  /** What launch files add to answers about layouts; undefined where the server reaches no files. */
  readonly launch: LaunchAnswers | undefined;
  /** The settings as they are now. */
  settings(): Settings;
  /**
   * The check of an open document.
   * @throws ResponseError where it is not open
   */
  checked(uri: string): Checked;
}

export interface LaunchAnswers {
  /** Whether an address is that of a launch file, or of a file that one names. */
  has(uri: string): boolean;
  lenses(uri: string, checked: Checked, command: string): Promise<CodeLens[]>;
  actions(uri: string, range: Range): CodeAction[];
}
