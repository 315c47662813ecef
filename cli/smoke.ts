import { join } from 'node:path';
import { type Command, Option } from 'commander';
import {
  type Cluster,
  ClusterError,
  type CommBackend,
  EnvironmentError,
  type GroupResult,
  LOCAL,
  lineOfGroup,
  localCommand,
  runSmoke,
  type SmokePlan,
  type SmokeProgress,
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

/** The exit status of a run that was cancelled from the keyboard. */
const CANCELLED = 130;

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
  if (options.dryRun) {
    await print([dryRun(cluster, plan)]);
    return;
  }
  await run(file, checked, plan, cluster, options);
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

function dryRun(cluster: Cluster, plan: SmokePlan): string {
  const command = localCommand(cluster.python ?? 'python3', join(jobFolder(), 'smoke_job.py'), 'plan.json');
  return `# command, with this plan as plan.json\n${JSON.stringify(command)}\n# plan\n${JSON.stringify(plan)}\n`;
}

async function run(file: string, checked: Checked, plan: SmokePlan, cluster: Cluster, options: Options): Promise<void> {
  const abort = new AbortController();
  const cancel = () => abort.abort();
  process.once('SIGINT', cancel).once('SIGTERM', cancel);
  const jsonl = options.format === 'jsonl';
  try {
    const result = await runSmoke(
      { plan, cluster, job: jobFolder(), ...(options.backend && { backend: options.backend }) },
      {
        onCommand: (_, backend) => {
          if (backend === 'gloo') {
            complain('running on the CPU with gloo: groups and data are proved, speed is not');
          }
        },
        onEvent: (event, progress) => {
          if (jsonl) {
            process.stdout.write(`${JSON.stringify(event)}\n`);
          }
          showProgress(progress);
        },
      },
      abort.signal,
    );
    clearProgress();
    if (!jsonl) {
      await print([report(file, checked, result)]);
    }
    process.exitCode = result.ok ? EXIT.clean : result.verdict === 'cancelled' ? CANCELLED : EXIT.findings;
  } catch (error) {
    clearProgress();
    if (abort.signal.aborted) {
      process.exitCode = CANCELLED;
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
    ? styled('green', `passed: ${result.groups.length} process groups in ${result.seconds.toFixed(1)} s`)
    : styled(
        'red',
        `${result.verdict} after ${result.seconds.toFixed(1)} s, ${result.groups.length} process groups passed`,
      );
  const on = result.device === '' ? [] : [`${result.device}, ${result.software.join('; ')}`];
  const words = result.verdict === 'unknown' ? result.lastWords.map(printable) : [];
  return `${[...rows, ...words, ...failure, ...on, verdict].join('\n')}\n`;
}

/** A line for every family of groups with more than one rank, in the order of creation, with its slowest group's speeds. */
function familyRows(groups: readonly GroupResult[]): string[] {
  const families = new Map<string, GroupResult[]>();
  for (const group of [...groups].sort((a, b) => a.group - b.group)) {
    const name = group.module === null ? group.kind : `${group.kind} of ${group.module}`;
    families.set(name, [...(families.get(name) ?? []), group]);
  }
  const shared = [...families].filter(([, members]) => members.some(({ ranks }) => ranks.length > 1));
  const width = Math.max(0, ...shared.map(([name]) => name.length));
  const rows = shared.map(([name, members]) => {
    const shape = `${members.length} x ${members[0]?.ranks.length ?? 0}`;
    return `${styled('green', 'ok')}  ${name.padEnd(width)}  ${shape.padEnd(9)}  ${speeds(members)}`.trimEnd();
  });
  const single = families.size - shared.length;
  return single === 0
    ? rows
    : [...rows, `${styled('green', 'ok')}  and ${single} families whose groups are single ranks`];
}

function speeds(members: readonly GroupResult[]): string {
  const names = Object.keys(members[0]?.ops ?? {});
  const slowest = (name: string) =>
    Math.min(...members.map(({ ops }) => ops[name]?.busGBs ?? Number.POSITIVE_INFINITY));
  return names.map((name) => `${name} ${slowest(name).toFixed(1)} GB/s`).join(', ');
}
