import * as vscode from 'vscode';
import { workbenchText } from '../../layout';
import type { LaunchReading } from '../../layout/launch';
import { degreesOf, jobsIn, type Launch, readLaunchFile } from './read';
import { addressOfLaunch } from './scriptLayouts';

/** Languages and names of the scripts that start jobs. */
const SCRIPTS: vscode.DocumentSelector = [{ language: 'shellscript' }, { pattern: '**/*.{sh,bash,slurm,sbatch,sub}' }];

/** What a script that starts a job calls, so that others are not read. */
const STARTS =
  /\b(?:torchrun|srun|mpirun|deepspeed|accelerate|python3?|torch\.distributed|ray|nemo|llamafactory-cli|swift)\b/;

/** How many jobs of a script get lenses. */
const MAX_JOBS = 8;

/** What menus call the scripts that are known to start a job: a list of their paths. */
const KNOWN = 'parallelismLayout.launchFiles';

/** Lenses on the command of a launch script that starts a training job: its ranks, and what can be made of it. */
export class LaunchLenses implements vscode.CodeLensProvider {
  readonly #known = new Set<string>();

  static register(): vscode.Disposable {
    return vscode.languages.registerCodeLensProvider(SCRIPTS, new LaunchLenses());
  }

  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const lenses = (await jobsOf(document)).flatMap((job) => jobLenses(document, job));
    const { uri } = document;
    // as the key `resourcePath` names it
    const path = uri.scheme === 'file' ? uri.fsPath : uri.path;
    if (this.#known.has(path) !== lenses.length > 0) {
      this.#known[lenses.length > 0 ? 'add' : 'delete'](path);
      void vscode.commands.executeCommand('setContext', KNOWN, [...this.#known]);
    }
    return lenses;
  }
}

/** The jobs of a script as its document has it; of the only one without its name. */
export async function jobsOf(document: vscode.TextDocument): Promise<readonly Launch[]> {
  const mayStart = vscode.languages.match(SCRIPTS, document) > 0 && STARTS.test(document.getText());
  const reading = mayStart ? await readLaunchFile(document.uri) : '';
  if (typeof reading === 'string') {
    return [];
  }
  const launch = { uri: document.uri, reading };
  const jobs = await jobsIn(launch, MAX_JOBS);
  return jobs.length > 0 ? jobs : [launch];
}

/** Whether a job trains something, on a known number of ranks. */
export const isDrawable = ({ trains, values }: LaunchReading): boolean =>
  trains && values.some(({ key, value }) => key === 'world_size' && typeof value === 'number');

/** The lenses of one job; none where its command stands in another file, or trains nothing. */
function jobLenses(document: vscode.TextDocument, { reading, job = '' }: Launch): vscode.CodeLens[] {
  const { command, trains } = reading;
  if (command?.file !== document.uri.path || !trains) {
    return [];
  }
  const at = document.lineAt(document.positionAt(command.offset)).range;
  const lens = (title: string, name = '', tooltip = '', ...arguments_: unknown[]) =>
    new vscode.CodeLens(at, { title, tooltip, command: name && `parallelismLayout.${name}`, arguments: arguments_ });
  const degrees = degreesOf(reading);
  const title =
    job === '' ? degrees : [workbenchText(vscode.l10n.t('Job {0}', job)), degrees].filter(Boolean).join(': ');
  const show = vscode.l10n.t('Show Ranks');
  const create = vscode.l10n.t('New Layout');
  const isDrawn = isDrawable(reading);
  return [
    lens(isDrawn ? title : [title, vscode.l10n.t('ranks not known')].filter(Boolean).join(' · ')),
    ...(isDrawn
      ? [lens(show, 'showGrid', vscode.l10n.t('Draw the ranks of this job'), addressOfLaunch(document.uri, job))]
      : []),
    lens(create, 'importLaunchFile', vscode.l10n.t('Open a layout of this job'), document.uri, undefined, job),
  ];
}
