import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import {
  type Cluster,
  ClusterError,
  type CommBackend,
  EnvironmentError,
  type GroupResult,
  type Launch,
  LOCAL,
  lineOfGroup,
  prepareSmoke,
  runSmoke,
  type SmokePlan,
  type SmokeProgress,
  type SmokeRequest,
  type SmokeResult,
  smokePlan,
} from '../client/cluster';
import { readClusterFile } from '../client/cluster/clusterFile';
import { type Checked, hasErrors } from '../layout';
import { inputFiles } from './files';
import { complain, EXIT, exitWith, print, printable, styled } from './output';
import { findingText } from './text';

interface Options {
  readonly cluster: string;
  readonly clusters?: string;
  readonly backend?: CommBackend;
  readonly dryRun?: boolean;
  readonly format: 'text' | 'jsonl';
}

/** Adds `smoke`: proves on real machines that the process groups of a layout work. */
export function addSmokeCommand(program: Command): void {
  program
    .command('smoke')
    .description('prove on a cluster that every process group comes up and moves data correctly')
    .argument('<file>', 'the layout file')
    .option('--cluster <name>', 'the cluster to run on', LOCAL.name)
    .option('--clusters <file>', 'a YAML file with a list of clusters')
    .addOption(new Option('--backend <backend>', "instead of the cluster's own").choices(['auto', 'nccl', 'gloo']))
    .option('--dry-run', 'print the command and the plan, and run nothing')
    .addOption(new Option('--format <format>', 'form of the output').choices(['text', 'jsonl']).default('text'))
    .action(smoke);
}

async function smoke(file: string, options: Options): Promise<void> {
  const cluster = clusterOf(options);
  const [input] = inputFiles([file]);
  if (!cluster || !input || !('checked' in input)) {
    exitWith(EXIT.unusable);
    return;
  }
  const { checked } = input;
  const { resolved, facts } = checked;
  if (hasErrors(checked) || !resolved || !facts) {
    process.stderr.write(checked.findings.map((finding) => findingText(file, checked, finding)).join(''));
    complain(`${file}: the layout has errors, so there is nothing to prove`);
    exitWith(EXIT.unusable);
    return;
  }
  const plan = smokePlan(resolved, facts, file, options.backend ?? cluster.backend ?? 'auto');
  const request = { plan, cluster, job: jobFolder(), ...(options.backend && { backend: options.backend }) };
  const abort = new AbortController();
  const cancel = (signal: NodeJS.Signals) => abort.abort(signal);
  process.once('SIGINT', cancel).once('SIGTERM', cancel);
  try {
    await (options.dryRun ? dryRun(request, abort.signal) : run(file, checked, request, options, abort.signal));
  } catch (error) {
    clearProgress();
    if (abort.signal.aborted) {
      process.exitCode = cancelledStatus(abort.signal);
    } else if (error instanceof EnvironmentError) {
      complain(error.message);
      exitWith(EXIT.unusable);
    } else {
      throw error;
    }
  } finally {
    process.removeListener('SIGINT', cancel).removeListener('SIGTERM', cancel);
  }
}

/** What a shell reports of a program that a signal ended. */
function cancelledStatus({ reason }: AbortSignal): number {
  return reason === 'SIGTERM' ? 143 : 130;
}

function clusterOf({ clusters, cluster: wanted }: Options): Cluster | null {
  try {
    const known = clusters === undefined ? [LOCAL] : readClusterFile(clusters);
    const cluster = known.find(({ name }) => name === wanted);
    if (!cluster) {
      complain(`there is no cluster ${wanted}; known: ${known.map(({ name }) => name).join(', ')}`);
    }
    return cluster ?? null;
  } catch (error) {
    if (!(error instanceof ClusterError)) {
      throw error;
    }
    complain(error.message);
    return null;
  }
}

/** The folder of the Python job beside this bundle. */
function jobFolder(): string {
  return join(__dirname, 'smoke');
}

/** Prints what would run, word for word, and runs nothing. */
async function dryRun(request: SmokeRequest<Cluster>, signal: AbortSignal): Promise<void> {
  const launch = await prepareSmoke(request, join(tmpdir(), 'parallelism-layout-smoke'), signal);
  await print([dryRunText(launch)]);
}

function dryRunText({ notes, command, files, planFile, plan }: Launch): string {
  return [
    ...notes.map((note) => `# ${note}`),
    ...files.flatMap(({ path, text }) => [`# ${path}`, text.trimEnd()]),
    `# runs on ${plan.world_size} ranks, with the plan below in ${planFile}`,
    command.map(shellWord).join(' '),
    '# plan',
    planText(plan),
    '',
  ].join('\n');
}

/** The plan with a line for every family of groups. */
function planText({ groups, ...settings }: SmokePlan): string {
  const head = JSON.stringify(settings, null, 1).replace(/\n}$/, '');
  return `${head},\n "groups": [\n${groups.map((family) => `  ${JSON.stringify(family)}`).join(',\n')}\n ]\n}`;
}

/** A word as a POSIX shell reads it back: for people to copy, never for us to run. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

async function run(
  file: string,
  checked: Checked,
  request: SmokeRequest<Cluster>,
  options: Options,
  signal: AbortSignal,
): Promise<void> {
  const jsonl = options.format === 'jsonl';
  const result = await runSmoke(
    request,
    {
      onCommand: (_, __, notes) => {
        for (const note of notes) {
          complain(note);
        }
      },
      onEvent: (_, progress, line) => {
        if (jsonl) {
          process.stdout.write(`${line}\n`);
        }
        showProgress(progress);
      },
    },
    signal,
  );
  clearProgress();
  if (!jsonl) {
    await print([report(file, checked, result)]);
  }
  const failed = result.verdict === 'cancelled' && signal.aborted ? cancelledStatus(signal) : EXIT.findings;
  process.exitCode = result.ok ? EXIT.clean : failed;
}

function showProgress({ ranks, world, groups, allGroups }: SmokeProgress): void {
  if (process.stderr.isTTY) {
    process.stderr.write(`\r\u001b[K${ranks} of ${world} ranks up, ${groups} of ${allGroups} groups done`);
  }
}

function clearProgress(): void {
  if (process.stderr.isTTY) {
    process.stderr.write('\r\u001b[K');
  }
}

/** The outcome for a person: one line a family of groups, and the fault with the line of the layout it comes from. */
function report(file: string, { facts, lines }: Checked, result: SmokeResult): string {
  const rows = familyRows(result.groups);
  const { fault } = result;
  const line = fault && facts ? lineOfGroup(facts, lines, fault.kind, fault.module ?? null) + 1 : 1;
  const failure = fault
    ? [`${file}:${line}:1: error[smoke-${fault.code.replaceAll('_', '-')}]: ${printable(fault.msg)}`]
    : [];
  const verdict = result.ok
    ? styled(
        'green',
        `passed: ${result.groups.length} process groups of more than one rank in ${result.seconds.toFixed(1)} s`,
      )
    : styled(
        'red',
        `${result.verdict} after ${result.seconds.toFixed(1)} s, ${result.groups.length} process groups passed`,
      );
  const on = result.device === '' ? [] : [machineText(result)];
  const words = result.verdict === 'unknown' ? result.lastWords.map(printable) : [];
  const passed = result.passed.map(({ name, message }) => `${styled('green', 'ok')}  ${name}: ${printable(message)}`);
  const skipped = result.skipped.map(
    ({ name, reason }) => `${styled('yellow', 'skipped')}  ${name}: ${printable(reason)}`,
  );
  const warnings = result.warnings.map((warning) => `${styled('yellow', 'warning')}  ${printable(warning)}`);
  return `${[...rows, ...bandwidthRows(result.bandwidth), ...passed, ...skipped, ...warnings, ...words, ...failure, ...on, verdict].join('\n')}\n`;
}

function machineText({ device, software, communicatorBytes }: SmokeResult): string {
  const memory =
    communicatorBytes === null
      ? ''
      : `, communicators hold ${(communicatorBytes / 2 ** 30).toFixed(2)} GiB of each GPU`;
  return printable(`${device}, ${software.join('; ')}${memory}`);
}

/** Results by kind and module, in the order of creation; names are as wide as the widest. */
function byFamily(groups: readonly GroupResult[]): [name: string, members: GroupResult[]][] {
  const families = new Map<string, GroupResult[]>();
  for (const group of [...groups].sort((a, b) => a.group - b.group)) {
    const name = group.module === null ? group.kind : `${group.kind} of ${group.module}`;
    families.set(name, [...(families.get(name) ?? []), group]);
  }
  const width = Math.max(0, ...[...families.keys()].map((name) => name.length));
  return [...families].map(([name, members]) => [name.padEnd(width), members]);
}

/** A line for every operation of every kind that the check `bandwidth` measured, payload by payload. */
function bandwidthRows(measured: readonly GroupResult[]): string[] {
  return byFamily(measured).flatMap(([name, sweep]) =>
    Object.keys(sweep[0]?.ops ?? {}).map((operation) => {
      const steps = sweep.flatMap(({ ops }) => ops[operation] ?? []);
      const shown = steps.map(({ bytes, busGBs }) => `${bandwidth(busGBs)} at ${mebibytes(bytes)}`);
      return `bandwidth  ${name}  ${operation} ${shown.join(', ')}`;
    }),
  );
}

/** An operation rounds the payload down to equal parts, so that the number is seldom whole. */
function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}

/** A line for every family of groups of more than one rank, in the order of creation, with its slowest group's speeds. */
function familyRows(groups: readonly GroupResult[]): string[] {
  return byFamily(groups).map(([name, members]) => {
    const shape = `${members.length} x ${members[0]?.ranks.length ?? 0}`;
    return `${styled('green', 'ok')}  ${name}  ${shape.padEnd(9)}  ${speeds(members)}`.trimEnd();
  });
}

/** Of each operation the slowest group's bandwidth. */
function speeds(members: readonly GroupResult[]): string {
  const [first] = members;
  const slowest = (name: string) =>
    Math.min(...members.map(({ ops }) => ops[name]?.busGBs ?? Number.POSITIVE_INFINITY));
  return [
    ...Object.keys(first?.ops ?? {}).map((name) => `${name} ${bandwidth(slowest(name))}`),
    ...Object.keys(first?.skippedOps ?? {}).map((name) => `${name} not on this backend`),
  ].join(', ');
}

function bandwidth(gigabytes: number): string {
  return `${gigabytes < 10 ? gigabytes.toPrecision(2) : gigabytes.toFixed(0)} GB/s`;
}
