import { randomBytes } from 'node:crypto';
import { type Backend, EnvironmentError, type JobOutput, type Ticket } from '../backend';
import { shellCommand } from '../dryRun';
import { jobFiles } from '../jobFiles';
import { planFor, withJoinLimit } from '../plan';
import { deleteJob, followJob, type KubernetesJob, type Timing } from './follow';
import { Kubectl, reasonOf } from './kubectl';
import { ENGINES, type Engine, type KubernetesCluster } from './kubernetesFields';
import {
  ENGINE_TABLE,
  INSTANCE_LABEL,
  type KubernetesObject,
  type Manifest,
  manifestOf,
  manifestText,
  partsOf,
  planName,
  runName,
} from './manifest';
import { uidOf } from './pods';

/** The time limit for all ranks to join: nodes pull the image one after another. Seconds. */
const JOIN = 300;

const TIMING: Timing = { pods: 3, patience: 600, lastWords: 10, farewell: 60 };

/** Kubernetes, through kubectl: an engine of the cluster starts the pods; the referee is in the first. */
export const kubernetesBackend: Backend<KubernetesCluster> = {
  async prepare({ plan, cluster, jobFolder, backend: wanted, dryRun = false }, signal) {
    const kubectl = new Kubectl(cluster);
    const { engine, notes } = await engineFor(kubectl, cluster, dryRun, signal);
    const backend = (wanted ?? cluster.backend) === 'gloo' ? 'gloo' : 'nccl';
    const written = withJoinLimit(planFor(plan, backend), JOIN);
    const name = runName(plan.name, randomBytes(3).toString('hex'));
    const token = randomBytes(16).toString('hex');
    // the probe is for interpreters of this machine
    const { 'probe.py': _, ...files } = await jobFiles(jobFolder);
    const manifest = manifestOf({ plan: written, cluster, backend, engine, name, token, files });
    const text = manifestText(manifest.objects);
    // for a person, the ConfigMap with the whole Python job comes last: pods wait for it
    const read = manifestText([...manifest.objects.slice(1), ...manifest.objects.slice(0, 1)]);
    const made = jobOf(name, engine, manifest.pods, cluster);
    return {
      plan: written,
      planFile: `ConfigMap ${name}, ${planName(written)}`,
      backend,
      command: kubectl.command(CREATE),
      files: [{ path: 'standard input of kubectl create', text }],
      script: scriptOf(kubectl, read, made),
      notes: [
        `a ${ENGINE_TABLE[engine].kind} ${name} with ${manifest.pods} ${manifest.pods === 1 ? 'pod' : 'pods'}, deleted at the end`,
        ...notes,
        ...(backend === 'gloo' ? ['gloo on the CPU proves groups and data, not speed'] : []),
      ],
      async run(output, cancel) {
        output.state({ phase: 'submitting', detail: name });
        await create(kubectl, manifest, text, made, output);
        output.submitted({ name, engine, pods: String(manifest.pods) });
        return followJob(kubectl, made, TIMING, output, cancel);
      },
    };
  },
  attach: (cluster, ticket, output, signal) =>
    followJob(new Kubectl(cluster), jobOfTicket(ticket, cluster), TIMING, output, signal),
};

/** @throws EnvironmentError for a ticket of another kind */
function jobOfTicket({ name = '', engine: wanted, pods = '' }: Ticket, cluster: KubernetesCluster): KubernetesJob {
  const engine = ENGINES.find((one) => one === wanted);
  if (!engine || !/^[a-z0-9-]{1,63}$/.test(name) || !/^[1-9]\d*$/.test(pods)) {
    throw new EnvironmentError('The saved run is not a Kubernetes job.');
  }
  return jobOf(name, engine, Number(pods), cluster);
}

/** The engine that starts the pods; a dry run assumes one where no cluster can be asked, and says so. */
async function engineFor(
  kubectl: Kubectl,
  cluster: KubernetesCluster,
  dryRun: boolean,
  signal?: AbortSignal,
): Promise<{ readonly engine: Engine; readonly notes: readonly string[] }> {
  try {
    return { engine: await findEngine(kubectl, cluster, signal), notes: [] };
  } catch (error) {
    if (!dryRun || !(error instanceof EnvironmentError) || signal?.aborted) {
      throw error;
    }
    const { kind } = ENGINE_TABLE[ASSUMED];
    return { engine: ASSUMED, notes: [`the cluster could not be asked (${error.message}); a ${kind} is assumed`] };
  }
}

/** The engine that every cluster has. */
const ASSUMED = 'job' satisfies Engine;

/** The run as a shell script: the same objects and the same commands. */
function scriptOf(kubectl: Kubectl, text: string, { name, objects, pods }: KubernetesJob): string[] {
  const selector = `--selector=${INSTANCE_LABEL}=${name}`;
  return [
    '# create the plan, the Python job and the job itself',
    `${shellCommand(kubectl.command(CREATE))} <<'END_OF_MANIFEST'`,
    text.trimEnd(),
    'END_OF_MANIFEST',
    '',
    '# the pods, and why they wait; then their logs: the first one has the events',
    shellCommand(kubectl.command(['get', 'pods', selector])),
    shellCommand(kubectl.command(['logs', selector, '--follow', '--tail=-1', `--max-log-requests=${pods}`])),
    '',
    '# at the end, or to cancel',
    shellCommand(kubectl.command(['delete', '--ignore-not-found=true', ...objects])),
  ];
}

const CREATE = ['create', '--filename=-', '--output=name'];

/** A job with its objects as kubectl names them. */
function jobOf(name: string, engine: Engine, pods: number, cluster: KubernetesCluster): KubernetesJob {
  const { resource, container } = ENGINE_TABLE[engine];
  const kinds = [resource, ...partsOf(engine, cluster), 'configmaps'];
  return { name, objects: kinds.map((one) => `${one}/${name}`), container, pods };
}

/**
 * Creates the objects of a run, all or none.
 * @throws EnvironmentError with the cluster's own reason
 */
async function create(
  kubectl: Kubectl,
  { objects }: Manifest,
  text: string,
  job: KubernetesJob,
  output: JobOutput,
): Promise<void> {
  const { status, stdout, stderr } = await kubectl.call(CREATE, text);
  output.log(stdout);
  if (status !== 0) {
    await deleteJob(kubectl, job, TIMING, output);
    throw new EnvironmentError(reasonOf(stderr));
  }
  await own(kubectl, objects, job, output);
}

/** Makes the job the owner of the other objects: deleting the job, or its time to live, deletes them, too. */
async function own(
  kubectl: Kubectl,
  objects: readonly KubernetesObject[],
  { objects: [job = '', ...others] }: KubernetesJob,
  output: JobOutput,
): Promise<void> {
  const { apiVersion, kind, metadata } = objects.at(-1) ?? { apiVersion: '', kind: '', metadata: { name: '' } };
  const uid = uidOf((await kubectl.call(['get', job, '--output=json'])).stdout);
  const patch = JSON.stringify({ metadata: { ownerReferences: [{ apiVersion, kind, name: metadata.name, uid }] } });
  for (const other of uid === undefined ? [] : others) {
    const { status, stderr } = await kubectl.call(['patch', other, '--type=merge', `--patch=${patch}`]);
    if (status !== 0) {
      output.log(`${reasonOf(stderr)}: ${other} has no owner, so that only this run deletes it\n`);
    }
  }
}

// ---- the engine

/**
 * The engine in the cluster's settings, or the first that the cluster has and this user may create.
 * @throws EnvironmentError where there is none, or the cluster cannot be reached
 */
async function findEngine(kubectl: Kubectl, cluster: KubernetesCluster, signal?: AbortSignal): Promise<Engine> {
  const { engine = 'auto' } = cluster;
  if (engine !== 'auto') {
    return engine;
  }
  const served = await servedKinds(kubectl, signal);
  const present = ENGINES.filter((one) => served.has(`${ENGINE_TABLE[one].apiVersion} ${ENGINE_TABLE[one].kind}`));
  for (const one of present) {
    const needed = [ENGINE_TABLE[one].resource, ...partsOf(one, cluster)];
    const asked = needed.map((kind) => kubectl.call(['auth', 'can-i', 'create', kind], '', signal));
    if ((await Promise.all(asked)).every(({ status }) => status === 0)) {
      return one;
    }
  }
  const kinds = present.map((one) => ENGINE_TABLE[one].kind).join(', ');
  throw new EnvironmentError(
    kinds === ''
      ? 'The cluster has no kind of job that can run the pods.'
      : `You may create no ${kinds} in this namespace.`,
  );
}

/** The kinds that the cluster serves, as `apiVersion kind`. API groups that do not answer are left out. */
async function servedKinds(kubectl: Kubectl, signal?: AbortSignal): Promise<Set<string>> {
  const words = ['api-resources', '--namespaced=true', '--verbs=create', '--no-headers=true'];
  const { status, stdout, stderr } = await kubectl.call(words, '', signal);
  if (status !== 0 && stdout.trim() === '') {
    throw new EnvironmentError(`${reasonOf(stderr)}. Is the cluster's context right, and are you signed in?`);
  }
  // NAME SHORTNAMES APIVERSION NAMESPACED KIND, of which SHORTNAMES may be empty
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  return new Set(rows.map((columns) => `${columns.at(-3)} ${columns.at(-1)}`));
}
