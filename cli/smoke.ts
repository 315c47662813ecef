import { join } from 'node:path';
import { type Command, Option } from 'commander';
import {
  attachSmoke,
  type Cluster,
  type CommBackend,
  dryRunScript,
  EnvironmentError,
  type JobState,
  kindsOfGroups,
  LOCAL,
  prepareSmoke,
  RemainingTime,
  runSmoke,
  runsFolder,
  type SmokeListener,
  type SmokeProgress,
  type SmokeRequest,
  savedRuns,
  smokePlan,
} from '../jobs';
import { type Checked, hasErrors, jsonText, safeJson } from '../layout';
import { clusterNamed, clusterNames } from './clusters';
import { inputFiles } from './files';
import { type Format, formatOption } from './options';
import { complain, EXIT, exitWith, fail, onOutputClosed, print, SIGNAL_EXIT } from './output';
import type { Output } from './outputSchemas';
import { smokeReport } from './smokeReport';
import { diagnosticTexts } from './text';

/** The signals that cancel a job. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface Options {
  readonly cluster: string;
  readonly clusters?: string;
  readonly backend?: CommBackend;
  readonly dryRun?: boolean;
  readonly attach?: boolean;
  readonly format: Format;
}

const EXIT_HELP = `
--format json prints the result, or with --dry-run the command, its files and groups;
jsonl prints the events as they arrive.

Exit status: 0 passed; 1 failed, no verdict, or the layout has errors; 2 cannot run;
130, 143 or 129 cancelled by SIGINT, SIGTERM or SIGHUP; 141 the output was closed.

Examples:
  parallelism-layout smoke train.layout.yaml
  parallelism-layout smoke train.layout.yaml --clusters my.clusters.yaml --cluster big
  parallelism-layout smoke train.layout.yaml --clusters my.clusters.yaml --cluster big --dry-run
  parallelism-layout smoke train.layout.yaml --dry-run --format json`;

/** Adds `smoke`: runs the process groups of a layout on real machines. */
export function addSmokeCommand(program: Command): void {
  program
    .command('smoke')
    .description('run every process group of a layout on a cluster, with small checked collectives')
    .argument('<file>', 'the layout file')
    .option('--cluster <name>', 'the cluster to run on', LOCAL.name)
    .option('--clusters <file>', 'YAML file that lists the clusters')
    .addOption(
      new Option('--backend <backend>', 'communication backend; default: that of the cluster').choices([
        'auto',
        'nccl',
        'gloo',
      ]),
    )
    .option('--dry-run', 'print the command and the plan without running them')
    .option('--attach', 'follow the newest job that an earlier run left on the cluster')
    .addOption(formatOption('text', 'json', 'jsonl'))
    .addHelpText('after', EXIT_HELP)
    .action(smoke);
  program
    .command('cluster-names', { hidden: true })
    .description('the clusters of the files *.clusters.yaml here, for the completion of a shell')
    .action(() => print(clusterNames()));
}

async function smoke(file: string, options: Options): Promise<void> {
  const cluster = clusterNamed(options.cluster, options.clusters);
  const [input] = inputFiles([file]);
  if (!cluster || !input || !('checked' in input)) {
    exitWith(EXIT.unusable);
    return;
  }
  const { checked } = input;
  const { resolved, facts } = checked;
  if (hasErrors(checked) || !resolved || !facts) {
    process.stderr.write([...diagnosticTexts(file, checked)].join(''));
    fail(`${file}: fix the errors of the layout first`, EXIT.findings);
    return;
  }
  const abort = new AbortController();
  const cancel = (signal: NodeJS.Signals) => abort.abort(signal);
  const forget = onOutputClosed(() => cancel('SIGPIPE'));
  for (const signal of ENDING) {
    process.once(signal, cancel);
  }
  try {
    const plan = smokePlan(resolved, facts, file, options.backend ?? cluster.backend ?? 'auto');
    const request = {
      plan,
      cluster,
      jobFolder: join(__dirname, 'smoke'),
      ...(options.backend && { backend: options.backend }),
    };
    await (options.dryRun
      ? dryRun(file, request, options, abort.signal)
      : run(file, checked, request, options, abort.signal));
  } catch (error) {
    clearProgress();
    if (abort.signal.aborted) {
      process.exitCode = cancelledStatus(abort.signal);
    } else if (error instanceof EnvironmentError) {
      fail(error.message);
    } else {
      throw error;
    }
  } finally {
    forget();
    for (const signal of ENDING) {
      process.removeListener(signal, cancel);
    }
  }
}

/** The exit status of a program that a signal ended, as shells report it. */
function cancelledStatus({ reason }: AbortSignal): number {
  return SIGNAL_EXIT[reason as keyof typeof SIGNAL_EXIT];
}

/** Prints the script of the run, or what it is made of. */
async function dryRun(
  file: string,
  request: SmokeRequest<Cluster>,
  { format }: Options,
  signal: AbortSignal,
): Promise<void> {
  const launch = await prepareSmoke({ ...request, dryRun: true }, signal);
  const { plan, backend, place, notes, command, files } = launch;
  const cluster = request.cluster.name;
  const script = dryRunScript(launch, `Dry run of the smoke job of ${plan.name} on ${cluster}`);
  if (format === 'text') {
    await print([script]);
    return;
  }
  const { world_size, checks } = plan;
  const shown: Output<'smoke-dry-run'> = {
    ...{ version: 1, file, cluster, host: place?.host ?? null, backend, world_size, checks, notes },
    ...{ groups: kindsOfGroups(plan), command, files, plan: { ...plan }, script },
  };
  await print([`${format === 'json' ? jsonText(shown, 2) : jsonText(shown)}\n`]);
}

/** @throws EnvironmentError where there is no job to attach to */
async function run(
  file: string,
  checked: Checked,
  request: SmokeRequest<Cluster>,
  options: Options,
  signal: AbortSignal,
): Promise<void> {
  const runs = runsFolder();
  const saved = options.attach && savedRuns(runs).find(({ cluster }) => cluster.name === request.cluster.name);
  if (options.attach && !saved) {
    throw new EnvironmentError(`No unfinished job is known on cluster ${request.cluster.name}.`);
  }
  const estimate = new RemainingTime(undefined, Date.now());
  const listener: SmokeListener = {
    onLaunch: ({ notes }) => {
      for (const note of notes) {
        complain(note);
      }
    },
    onState: (state) => {
      clearProgress();
      complain(stateText(state));
    },
    onEvent: (_, progress, line) => {
      if (options.format === 'jsonl') {
        process.stdout.write(`${safeJson(line)}\n`);
      }
      showProgress(progress, estimate.secondsLeft(progress, Date.now()));
    },
  };
  const result = await (saved ? attachSmoke(saved, listener, signal, runs) : runSmoke(request, listener, signal, runs));
  clearProgress();
  if (options.format === 'text') {
    await print([smokeReport(file, checked, result)]);
  } else if (options.format === 'json') {
    const output: Output<'smoke'> = { version: 1, file, cluster: request.cluster.name, ...result };
    await print([`${jsonText(output, 2)}\n`]);
  }
  // a cancelled job that had to be killed leaves no verdict
  const cancelled = signal.aborted && ['cancelled', 'unknown'].includes(result.verdict);
  const failed = cancelled ? cancelledStatus(signal) : EXIT.findings;
  process.exitCode = result.ok ? EXIT.clean : failed;
}

/** The state of the job at its scheduler, in one line. */
function stateText({ job, phase, detail }: JobState): string {
  const subject = job === undefined ? 'job' : `job ${job}`;
  const said = {
    submitting: `is being submitted on ${detail}`,
    queued: `is queued: ${detail}`,
    running: `is running (${detail})`,
    ending: `is ending: ${detail}`,
    disconnected: `is still running, connection lost: ${detail}`,
  };
  return `${subject} ${said[phase]}`;
}

/** @param seconds the estimated rest */
function showProgress({ ranks, world, groups, allGroups }: SmokeProgress, seconds: number | undefined): void {
  if (process.stderr.isTTY) {
    const left = seconds === undefined ? '' : `, about ${Math.ceil(seconds)} s left`;
    process.stderr.write(`\r\u001b[K${ranks} of ${world} ranks up, ${groups} of ${allGroups} groups done${left}`);
  }
}

function clearProgress(): void {
  if (process.stderr.isTTY) {
    process.stderr.write('\r\u001b[K');
  }
}
