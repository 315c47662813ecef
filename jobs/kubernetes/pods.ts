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
 * @returns the pods in the order of their names; null for an output that is not whole: pods that are not in it are not gone
 */
export function readPods(text: string): PodState[] | null {
  const items = at(answerIn(text), 'items');
  return Array.isArray(items) ? items.map(podState).sort((a, b) => a.name.localeCompare(b.name)) : null;
}

function podState(pod: unknown): PodState {
  const index = at(pod, 'metadata', 'annotations', INDEX_ANNOTATION);
  const node = textOf(at(pod, 'spec', 'nodeName'));
  const status = at(pod, 'status');
  const phase = phaseOf(status);
  const reason = phase === 'running' || phase === 'succeeded' ? undefined : reasonOfPod(status);
  return {
    name: textOf(at(pod, 'metadata', 'name')) ?? '',
    first: index === undefined ? at(pod, 'metadata', 'labels', ROLE_LABEL) === 'first' : index === '0',
    phase,
    ...(node !== undefined && { node }),
    ...(reason !== undefined && { reason }),
  };
}

function phaseOf(status: unknown): PodState['phase'] {
  const phase = at(status, 'phase');
  if (phase === 'Succeeded' || phase === 'Failed') {
    return phase === 'Failed' ? 'failed' : 'succeeded';
  }
  const states = containerStates(status);
  const started = states.every((state) => at(state, 'running') || at(state, 'terminated'));
  return states.length > 0 && started ? 'running' : 'waiting';
}

/** The first reason that a pod gives: how it ended, what its container waits for, why it is not scheduled. */
function reasonOfPod(status: unknown): string | undefined {
  const containers = containerStates(status).flatMap((one) => {
    const state = at(one, 'terminated') ?? at(one, 'waiting');
    const reason = textOf(at(state, 'reason'));
    if (reason === undefined || USUAL.includes(reason)) {
      return [];
    }
    const exit = at(state, 'exitCode');
    const code = typeof exit === 'number' ? ` (exit status ${exit})` : '';
    return [words(`${reason}${code}`, at(state, 'message')) ?? reason];
  });
  return (
    said(status) ??
    conditionOf(status, 'DisruptionTarget', 'True') ??
    containers[0] ??
    conditionOf(status, 'PodScheduled', 'False')
  );
}

function conditionOf(status: unknown, type: string, value: string): string | undefined {
  const conditions = listOf(at(status, 'conditions'));
  return said(conditions.find((one) => at(one, 'type') === type && at(one, 'status') === value));
}

/** The states of the containers that have not ended their part of the initialization. */
function containerStates(status: unknown): unknown[] {
  return ['initContainerStatuses', 'containerStatuses']
    .flatMap((key) => listOf(at(status, key)))
    .map((container) => at(container, 'state'))
    .filter((state) => at(state, 'terminated', 'reason') !== 'Completed');
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
  const ours = listOf(at(answerIn(text), 'items')).filter(
    (event) =>
      textOf(at(event, 'involvedObject', 'name'))?.includes(name) &&
      (at(event, 'type') === 'Warning' || at(event, 'reason') === 'Pending'),
  );
  const when = (event: unknown) => textOf(at(event, 'lastTimestamp')) ?? textOf(at(event, 'eventTime')) ?? '';
  return said(ours.sort((a, b) => when(a).localeCompare(when(b))).at(-1));
}

/** Whether a job is suspended, as it is while it waits in a queue. */
export function isSuspended(text: string): boolean {
  const spec = at(answerIn(text), 'spec');
  return (at(spec, 'suspend') ?? at(spec, 'runPolicy', 'suspend')) === true;
}

/** The uid of an object. */
export function uidOf(text: string): string | undefined {
  return textOf(at(answerIn(text), 'metadata', 'uid'));
}

/** The reason and the message of a status, a condition or an event. */
function said(one: unknown): string | undefined {
  return words(at(one, 'reason'), at(one, 'message'));
}

function words(...parts: readonly unknown[]): string | undefined {
  const text = parts.flatMap((part) => textOf(part) || []).join(': ');
  return text === '' ? undefined : text.replace(/\s+/g, ' ').slice(0, 400);
}

/** An answer of kubectl as it is: that of a large cluster has a million values. Undefined where it breaks off. */
function answerIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value under one key after another; undefined where one is missing. */
function at(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce(
    (found, key) => (found instanceof Object && Object.hasOwn(found, key) ? Object(found)[key] : undefined),
    value,
  );
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
