import { ROLE_LABEL } from './manifest';

/** The annotation in which an indexed Job writes a pod's index. */
const INDEX_ANNOTATION = 'batch.kubernetes.io/job-completion-index';

/** The state of a pod. */
export interface PodState {
  readonly name: string;
  /** Whether it is the first pod, which has the referee. */
  readonly first: boolean;
  readonly node?: string;
  readonly phase: 'waiting' | 'running' | 'succeeded' | 'failed';
  /** Why it waits or how it failed, in the cluster's words. */
  readonly reason?: string;
}

/** Reasons of a container that say less than the pod's other texts. */
const USUAL: readonly string[] = ['ContainerCreating', 'PodInitializing', 'Completed'];

/**
 * Reads the output of `kubectl get pods --output=json`.
 * @returns the pods in the order of their names
 */
export function readPods(text: string): PodState[] {
  const items = list(record(parseJson(text)).items);
  return items.map((item) => podState(record(item))).sort((a, b) => a.name.localeCompare(b.name));
}

function podState(pod: Loose): PodState {
  const metadata = record(pod.metadata);
  const spec = record(pod.spec);
  const status = record(pod.status);
  const index = record(metadata.annotations)[INDEX_ANNOTATION];
  const phase = phaseOf(status);
  const reason = phase === 'running' || phase === 'succeeded' ? undefined : reasonOfPod(status);
  return {
    name: string(metadata.name) ?? '',
    first: index === undefined ? record(metadata.labels)[ROLE_LABEL] === 'first' : index === '0',
    phase,
    ...(string(spec.nodeName) !== undefined && { node: string(spec.nodeName) ?? '' }),
    ...(reason !== undefined && { reason }),
  };
}

function phaseOf(status: Loose): PodState['phase'] {
  switch (status.phase) {
    case 'Succeeded':
      return 'succeeded';
    case 'Failed':
      return 'failed';
    default: {
      const states = containerStates(status);
      return states.length > 0 && states.every(({ running, terminated }) => running || terminated)
        ? 'running'
        : 'waiting';
    }
  }
}

/** The first reason that a pod gives: how it ended, what its container waits for, why it is not scheduled. */
function reasonOfPod(status: Loose): string | undefined {
  const said = words(string(status.reason), string(status.message));
  const disruption = conditionOf(status, 'DisruptionTarget', 'True');
  const containers = containerStates(status).flatMap(({ waiting, terminated }) => {
    const state = record(terminated ?? waiting);
    const reason = string(state.reason);
    if (reason === undefined || USUAL.includes(reason)) {
      return [];
    }
    const code = typeof state.exitCode === 'number' ? ` (exit status ${state.exitCode})` : '';
    return [words(`${reason}${code}`, string(state.message)) ?? reason];
  });
  return said ?? disruption ?? containers[0] ?? conditionOf(status, 'PodScheduled', 'False');
}

function conditionOf(status: Loose, type: string, value: string): string | undefined {
  const condition = list(status.conditions)
    .map(record)
    .find((one) => one.type === type && one.status === value);
  return condition && words(string(condition.reason), string(condition.message));
}

function containerStates(status: Loose): Loose[] {
  const containers = [...list(status.initContainerStatuses), ...list(status.containerStatuses)].map(record);
  return containers.map((container) => record(container.state)).filter((state) => !doneInitializing(state));
}

function doneInitializing({ terminated }: Loose): boolean {
  return terminated !== undefined && record(terminated).reason === 'Completed';
}

/** The state of the pods in one line: how many have started, and why others wait. */
export function podsText(pods: readonly PodState[], wanted: number): string {
  const started = pods.filter(({ phase }) => phase !== 'waiting').length;
  const reasons = new Map<string, number>();
  for (const { phase, reason } of pods) {
    if (phase === 'waiting' && reason !== undefined) {
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
  }
  const why = [...reasons].map(([reason, count]) => `${count} of ${wanted} pods: ${reason}`);
  return [`${started} of ${wanted} pods started`, ...why].join('; ');
}

/** The last warning or pending event of the objects whose names contain the run's. */
export function lastEvent(text: string, name: string): string | undefined {
  const events = list(record(parseJson(text)).items).map(record);
  const ours = events.filter(
    (event) =>
      (string(record(event.involvedObject).name) ?? '').includes(name) &&
      (event.type === 'Warning' || event.reason === 'Pending'),
  );
  const when = (event: Loose) => string(event.lastTimestamp) ?? string(event.eventTime) ?? '';
  const last = ours.sort((a, b) => when(a).localeCompare(when(b))).at(-1);
  return last && words(string(last.reason), string(last.message));
}

/** Whether a job is suspended, as it is while it waits in a queue. */
export function isSuspended(text: string): boolean {
  const { suspend, runPolicy } = record(record(parseJson(text)).spec);
  return (suspend ?? record(runPolicy).suspend) === true;
}

/** The uid of an object. */
export function uidOf(text: string): string | undefined {
  return string(record(record(parseJson(text)).metadata).uid);
}

function words(...parts: readonly (string | undefined)[]): string | undefined {
  const said = parts.filter((part) => part !== undefined && part !== '');
  return said.length > 0 ? said.join(': ').replace(/\s+/g, ' ').slice(0, 400) : undefined;
}

type Loose = Readonly<Record<string, unknown>>;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function record(value: unknown): Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function string(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
