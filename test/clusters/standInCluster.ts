import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { podTemplates, validate } from '../harness/kubernetesSchemas';

/** An object of the API, as loose as it comes. */
interface Stored {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
  readonly [field: string]: unknown;
}

interface Container {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
}

interface Template {
  readonly metadata: Stored['metadata'];
  readonly spec: { readonly containers: readonly [Container]; readonly terminationGracePeriodSeconds: number };
}

/** The kinds of objects that the cluster serves: the group's version, the plural, and the kind. */
const SERVED = {
  'v1 configmaps': 'ConfigMap',
  'v1 services': 'Service',
  'v1 pods': 'Pod',
  'v1 events': 'Event',
  'batch/v1 jobs': 'Job',
  'jobset.x-k8s.io/v1alpha2 jobsets': 'JobSet',
  'kubeflow.org/v1 pytorchjobs': 'PyTorchJob',
  'trainer.kubeflow.org/v1alpha1 trainjobs': 'TrainJob',
  'trainer.kubeflow.org/v1alpha1 trainingruntimes': 'TrainingRuntime',
  'authorization.k8s.io/v1 selfsubjectaccessreviews': 'SelfSubjectAccessReview',
} as const;

/** Runs a pod's command with the mounts, the names and the process ids of a container, in namespaces of its own. */
const CONTAINER = `set -e
hostname "$1"; mount --make-rprivate /
mount -t tmpfs none /opt; mkdir "$3"; mount --bind "$2/job" "$3"; mount -o remount,bind,ro "$3" 2>/dev/null || true
mount --bind "$2/hosts-$1" /etc/hosts; mount -t tmpfs none /dev/shm
shift 3; exec "$@"`;

/** What the cluster does to pods, beside running them. */
export interface Behaviour {
  /** The engines that are installed; a plain Job always is. */
  readonly engines?: readonly string[];
  /** Kinds that this user may not create. */
  readonly forbidden?: readonly string[];
  /** Why no pod is placed, until `place` is called. */
  readonly unschedulable?: string;
  /** Why no pods are made at all. */
  readonly quota?: string;
  /** Breaks connections to a log: the first after so many bytes, the second after twice as many, and so on. */
  readonly breakLogsAfter?: number;
  /** What containers write to standard error reaches the log after all that they write to standard output. */
  readonly errorsLast?: boolean;
}

/**
 * A stand-in for a Kubernetes cluster: a real HTTP server that speaks the part of the API that kubectl needs here, admits
 * only objects that fit the published schemas of their kinds, and runs the containers of pods, word for word, as processes
 * of this machine in namespaces of their own. It stands in for the API server, for controllers and for nodes: it proves
 * what this project sends, reads and runs, and nothing of a real cluster.
 */
export class StandInCluster {
  readonly #server: Server;
  readonly #folder = mkdtempSync(join(tmpdir(), 'stand-in-cluster-'));
  readonly #objects = new Map<string, Stored>();
  /** Jobs whose files are not there yet, by their name. */
  readonly #unmounted = new Map<string, Stored>();
  readonly #pods = new Map<string, Pod>();
  /** What was asked, in order: the method and the path. */
  readonly requests: string[] = [];
  /** Everything that was made, also what has been deleted since. */
  readonly made: Stored[] = [];
  #placed: boolean;

  private constructor(readonly behaviour: Behaviour) {
    this.#placed = behaviour.unschedulable === undefined;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(behaviour: Behaviour = {}): Promise<StandInCluster> {
    const cluster = new StandInCluster(behaviour);
    await new Promise<void>((done) => cluster.#server.listen(0, '127.0.0.1', done));
    return cluster;
  }

  /** A kubeconfig for this cluster, with the context `stand-in`. */
  kubeconfig(): string {
    const path = join(this.#folder, 'kubeconfig');
    const { port } = this.#server.address() as AddressInfo;
    writeFileSync(
      path,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }],
        users: [{ name: 'u', user: {} }],
        contexts: [{ name: 'stand-in', context: { cluster: 'c', user: 'u', namespace: 'default' } }],
        'current-context': 'stand-in',
      }),
    );
    return path;
  }

  /** Finds room for the pods that wait. */
  place(): void {
    this.#placed = true;
    for (const pod of this.#pods.values()) {
      pod.start();
    }
  }

  /** Ends a pod as an eviction does. */
  evict(index: number, message: string): void {
    const pod = [...this.#pods.values()].find((one) => one.index === index);
    pod?.fail('Evicted', message);
  }

  /** What is there, as `kind/name`. */
  objects(): string[] {
    return [
      ...[...this.#objects.values()].map(({ kind, metadata }) => `${kind}/${metadata.name}`),
      ...this.#pods.keys(),
    ];
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#pods.values()].map((pod) => pod.end()));
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  // ---- the API

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    let body = '';
    for await (const piece of request.setEncoding('utf8')) {
      body += piece;
    }
    this.requests.push(`${request.method} ${url.pathname}`);
    try {
      const log = /^\/api\/v1\/namespaces\/default\/pods\/([^/]+)\/log$/.exec(url.pathname)?.[1];
      if (log !== undefined) {
        this.#log(log, url.searchParams, response);
      } else if (url.pathname === '/openapi/v2') {
        // the smallest document of the older kubectl, which checks nothing then: swagger 2.0, a title, no paths
        response.end(Buffer.from('0a03322e3012060a0174120176' + '4200', 'hex'));
      } else {
        send(response, 200, this.#discovery(url.pathname) ?? this.#resource(request.method ?? '', url, body));
      }
    } catch (error) {
      const { code = 500, reason = 'InternalError' } = error as Partial<ApiError>;
      const message = error instanceof Error ? error.message : String(error);
      send(response, code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, reason, code });
    }
  }

  #served(): [version: string, plural: string, kind: string][] {
    const engines = ['Job', ...(this.behaviour.engines ?? ['TrainJob', 'JobSet', 'PyTorchJob'])];
    const known = Object.entries(SERVED).filter(
      ([, kind]) =>
        !/^(TrainJob|JobSet|PyTorchJob|TrainingRuntime)$/.test(kind) ||
        engines.includes(kind === 'TrainingRuntime' ? 'TrainJob' : kind),
    );
    return known.map(([key, kind]) => [key.split(' ')[0] ?? '', key.split(' ')[1] ?? '', kind]);
  }

  #discovery(path: string): unknown {
    const versions = [...new Set(this.#served().map(([version]) => version))];
    const groups = versions.filter((version) => version !== 'v1');
    const place = (version: string) => (version === 'v1' ? 'api/v1' : `apis/${version}`);
    if (path === '/api') {
      return { kind: 'APIVersions', versions: ['v1'] };
    }
    if (path === '/apis') {
      const entry = (groupVersion: string) => ({ groupVersion, version: groupVersion.split('/')[1] });
      const list = groups.map((one) => ({
        name: one.split('/')[0],
        versions: [entry(one)],
        preferredVersion: entry(one),
      }));
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: list };
    }
    if (path === '/openapi/v3') {
      const documents = versions.map((one) => [place(one), { serverRelativeURL: `/openapi/v3/${place(one)}?hash=1` }]);
      return { paths: Object.fromEntries(documents) };
    }
    const version = versions.find((one) => path === `/${place(one)}` || path === `/openapi/v3/${place(one)}`);
    if (version === undefined) {
      return undefined;
    }
    const kinds = this.#served().filter(([one]) => one === version);
    if (path.startsWith('/openapi')) {
      // says that the server checks what it is sent
      const [group, name] = version === 'v1' ? ['', 'v1'] : version.split('/');
      const post = (kind: string) => ({
        parameters: [{ name: 'fieldValidation', in: 'query', schema: { type: 'string' } }],
        responses: {},
        'x-kubernetes-group-version-kind': { group, version: name, kind },
      });
      const paths = kinds.map(([, plural, kind]) => [
        `/${place(version)}/namespaces/{namespace}/${plural}`,
        { post: post(kind), patch: post(kind) },
      ]);
      return { openapi: '3.0.0', info: { title: 'Stand-in', version: '1' }, paths: Object.fromEntries(paths) };
    }
    const resources = kinds.map(([, name, kind]) => ({
      name,
      singularName: kind.toLowerCase(),
      kind,
      namespaced: kind !== 'SelfSubjectAccessReview',
      verbs: ['create', 'delete', 'get', 'list', 'patch'],
    }));
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: version, resources };
  }

  #resource(method: string, url: URL, body: string): unknown {
    const [, group, namespaced, plural = '', name] =
      /^\/apis?\/(.+?)(\/namespaces\/default)?\/([a-z]+)(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    const kind = this.#served().find(([version, one]) => version === group && one === plural)?.[2];
    if (kind === undefined) {
      throw new ApiError(404, 'NotFound', `there is nothing at ${url.pathname}`);
    }
    if (kind === 'SelfSubjectAccessReview' && namespaced === undefined) {
      // newer kubectl asks in protocol buffers, in which a name has its length before it
      const asks = (resource: string) =>
        body.includes(`"${resource}"`) || body.includes(`${String.fromCharCode(resource.length)}${resource}`);
      return { apiVersion: group, kind, spec: {}, status: { allowed: !this.behaviour.forbidden?.some(asks) } };
    }
    if (method === 'POST') {
      return this.#create(kind, JSON.parse(body));
    }
    if (name === undefined) {
      return this.#list(kind, url.searchParams.get('labelSelector') ?? '');
    }
    const found = kind === 'Pod' ? this.#pods.get(name)?.object() : this.#objects.get(`${kind}/${name}`);
    if (!found) {
      throw new ApiError(404, 'NotFound', `${plural} "${name}" not found`);
    }
    switch (method) {
      case 'PATCH': {
        const { metadata, ...rest } = JSON.parse(body);
        const patched = { ...found, ...rest, metadata: { ...found.metadata, ...metadata } } as Stored;
        this.#objects.set(`${kind}/${name}`, patched);
        return patched;
      }
      case 'DELETE':
        this.#delete(found);
        return { kind: 'Status', apiVersion: 'v1', status: 'Success' };
      default:
        return found;
    }
  }

  #list(kind: string, selector: string): unknown {
    const [key = '', value] = selector.split('=');
    const all = kind === 'Pod' ? [...this.#pods.values()].map((pod) => pod.object()) : this.#ofKind(kind);
    const items = all.filter(({ metadata }) => value === undefined || metadata.labels?.[key] === value);
    return { kind: `${kind}List`, apiVersion: 'v1', metadata: {}, items };
  }

  #ofKind(kind: string): Stored[] {
    return [...this.#objects.values()].filter((one) => one.kind === kind);
  }

  #create(kind: string, sent: Stored): Stored {
    if (this.behaviour.forbidden?.includes(`${kind.toLowerCase()}s`)) {
      throw new ApiError(
        403,
        'Forbidden',
        `User "u" cannot create resource "${kind.toLowerCase()}s" in the namespace "default"`,
      );
    }
    try {
      validate(sent);
    } catch (error) {
      throw new ApiError(422, 'Invalid', `${kind} "${sent.metadata.name}" is invalid: ${error}`);
    }
    const object: Stored = { ...sent, metadata: { ...sent.metadata, namespace: 'default', uid: randomUUID() } };
    this.#objects.set(`${kind}/${object.metadata.name}`, object);
    this.made.push(object);
    const { name } = object.metadata;
    if (/^(TrainJob|JobSet|PyTorchJob|Job)$/.test(kind)) {
      this.#unmounted.set(name, object);
    }
    const job = this.#unmounted.get(name);
    // a container waits for the files that it mounts
    if (job && this.#objects.has(`ConfigMap/${name}`)) {
      this.#unmounted.delete(name);
      this.#run(job);
    }
    return object;
  }

  #delete(object: Stored): void {
    const { name, uid } = object.metadata;
    this.#objects.delete(`${object.kind}/${name}`);
    for (const [key, pod] of this.#pods) {
      if (pod.owner === uid) {
        void pod.end().then(() => this.#pods.delete(key));
      }
    }
    for (const other of [...this.#objects.values()]) {
      if (other.metadata.ownerReferences?.some((owner) => owner.uid === uid)) {
        this.#delete(other);
      }
    }
  }

  // ---- controllers

  /** Makes the pods of a job, as its controller promises: their names, and how each hears of its place. */
  #run(job: Stored): void {
    const { name, uid } = job.metadata;
    if (this.behaviour.quota !== undefined) {
      this.#warn(name, 'FailedCreate', this.behaviour.quota);
      return;
    }
    const runtime = job.kind === 'TrainJob' ? this.#objects.get(`TrainingRuntime/${name}`) : undefined;
    const [first, other = first] = podTemplates(runtime ?? job) as unknown as Template[];
    const count = podCount(runtime ?? job);
    for (let index = 0; index < count; index++) {
      const template = index === 0 ? first : other;
      if (template) {
        const host = hostOf(job.kind, name, index);
        const pod = new Pod(
          template,
          index,
          host,
          uid,
          job.kind === 'PyTorchJob',
          this.#mounts(name, host, hostOf(job.kind, name, 0)),
          this.behaviour.errorsLast ?? false,
        );
        this.#pods.set(pod.name, pod);
        if (this.#placed) {
          pod.start();
        } else {
          pod.wait(this.behaviour.unschedulable ?? '');
        }
      }
    }
  }

  #warn(name: string, reason: string, message: string): void {
    const object = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${name}.1`, namespace: 'default', uid: randomUUID() },
      involvedObject: { name },
      type: 'Warning',
      lastTimestamp: '2026-01-01T00:00:00Z',
      reason,
      message,
    };
    this.#objects.set(`Event/${object.metadata.name}`, object);
  }

  /** The files of a ConfigMap, and the names that the cluster's DNS would know. */
  #mounts(name: string, host: string, first: string): string {
    const folder = join(this.#folder, name);
    mkdirSync(join(folder, 'job'), { recursive: true });
    const { data, binaryData } = this.#objects.get(`ConfigMap/${name}`) as Stored & {
      data?: Record<string, string>;
      binaryData?: Record<string, string>;
    };
    for (const [file, text] of Object.entries(data ?? {})) {
      writeFileSync(join(folder, 'job', file), text);
    }
    for (const [file, text] of Object.entries(binaryData ?? {})) {
      writeFileSync(join(folder, 'job', file), Buffer.from(text, 'base64'));
    }
    const service = first.startsWith(`${name}-master`) ? first : `${first}.${name}`;
    writeFileSync(join(folder, `hosts-${host}`), `127.0.0.1 localhost ${host} ${first} ${service}\n`);
    return folder;
  }

  // ---- logs

  #log(name: string, query: URLSearchParams, response: ServerResponse): void {
    const pod = this.#pods.get(name);
    if (!pod) {
      throw new ApiError(404, 'NotFound', `pods "${name}" not found`);
    }
    if (!pod.started) {
      throw new ApiError(400, 'BadRequest', `container in pod "${name}" is waiting to start`);
    }
    const since = Date.parse(query.get('sinceTime') ?? '1970-01-01T00:00:00Z');
    response.writeHead(200, { 'content-type': 'text/plain' });
    let at = 0;
    const connection = this.requests.filter((one) => one.endsWith('/log')).length;
    let left = (this.behaviour.breakLogsAfter ?? Number.POSITIVE_INFINITY) * connection;
    const more = () => {
      for (; at < pod.lines.length; at++) {
        const { when, text } = pod.lines[at] ?? { when: 0, text: '' };
        const line = Buffer.from(`${new Date(when).toISOString().replace('Z', '000000Z')} ${text}\n`);
        if (when < since) {
          continue;
        }
        if (line.length > left) {
          response.write(line.subarray(0, left), () => response.destroy());
          pod.offMore(more);
          return;
        }
        left -= line.length;
        response.write(line);
      }
      if (pod.ended || query.get('follow') !== 'true') {
        pod.offMore(more);
        response.end();
      }
    };
    pod.onMore(more);
    response.once('close', () => pod.offMore(more));
    more();
  }
}

class ApiError extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

function send(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function podCount(job: Stored): number {
  const text = JSON.stringify(job);
  if (job.kind === 'PyTorchJob') {
    return [...text.matchAll(/"replicas":(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
  }
  return Number(/"completions":(\d+)/.exec(text)?.[1] ?? 0);
}

/** The host name of a pod, as its engine's documentation says. */
function hostOf(kind: string, name: string, index: number): string {
  switch (kind) {
    case 'TrainJob':
      return `${name}-node-0-${index}`;
    case 'JobSet':
      return `${name}-pod-0-${index}`;
    case 'PyTorchJob':
      return index === 0 ? `${name}-master-0` : `${name}-worker-${index - 1}`;
    default:
      return `${name}-${index}`;
  }
}

/** Replaces `$(NAME)` as a node does: two dollar signs are one, and unknown names stay. */
function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)/g, (all, name?: string) =>
    name === undefined ? '$' : (env[name] ?? all),
  );
}

/** A pod: the processes of its container. */
class Pod {
  readonly name: string;
  readonly lines: { readonly when: number; readonly text: string }[] = [];
  readonly #listeners = new Set<() => void>();
  #process: ChildProcess | undefined;
  #exit: number | null = null;
  #unplaced: string | undefined;
  #failure: { readonly reason: string; readonly message: string } | undefined;

  constructor(
    readonly template: Template,
    readonly index: number,
    readonly host: string,
    readonly owner: string,
    readonly ranked: boolean,
    readonly mounts: string,
    readonly errorsLast: boolean,
  ) {
    this.name = ranked ? host : `${host}-${randomUUID().slice(0, 5)}`;
  }

  get started(): boolean {
    return this.#process !== undefined;
  }

  get ended(): boolean {
    return this.#exit !== null;
  }

  onMore(listener: () => void): void {
    this.#listeners.add(listener);
  }

  offMore(listener: () => void): void {
    this.#listeners.delete(listener);
  }

  wait(why: string): void {
    this.#unplaced = why;
  }

  start(): void {
    const [{ command, env }] = this.template.spec.containers;
    const place: Record<string, string> = this.ranked
      ? { RANK: String(this.index), WORLD_SIZE: '99', PET_NNODES: '99', MASTER_ADDR: 'nowhere', MASTER_PORT: '1' }
      : { JOB_COMPLETION_INDEX: String(this.index) };
    const environment = { ...place };
    for (const { name, value = 'node-of-the-stand-in' } of env) {
      environment[name] = expand(value, environment);
    }
    const words = command.map((word) => expand(word, environment));
    const mount = '/opt/parallelism-layout';
    const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
    this.#process = spawn(
      'unshare',
      [
        ...[...user, '--mount', '--uts', '--pid', '--fork', '--kill-child=KILL', '--mount-proc'],
        ...['sh', '-c', CONTAINER, 'sh', this.host, this.mounts, mount, ...words],
      ],
      { env: { PATH: process.env.PATH, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const { stdout, stderr } = this.#process;
    const last: string[] = [];
    eachLine(stdout, (line) => this.#log(line));
    eachLine(stderr, (line) => (this.errorsLast ? last.push(line) : this.#log(line)));
    this.#process.once('close', (code) => {
      for (const line of last) {
        this.#log(line);
      }
      this.#exit = code ?? 137;
      this.#tell();
    });
  }

  #log(text: string): void {
    this.lines.push({ when: Date.now(), text });
    this.#tell();
  }

  /** Deletes the pod: the first process is told to end, and killed when it does not in time. */
  async end(): Promise<void> {
    if (!this.#process || this.ended) {
      this.#exit ??= 0;
      return;
    }
    const closed = new Promise((done) => this.#process?.once('close', done));
    const patience = setTimeout(
      () => this.#process?.kill('SIGKILL'),
      this.template.spec.terminationGracePeriodSeconds * 1000,
    );
    for (const first of children(this.#process.pid)) {
      process.kill(first, 'SIGTERM');
    }
    await closed;
    clearTimeout(patience);
  }

  fail(reason: string, message: string): void {
    this.#failure = { reason, message };
    void this.end();
  }

  object(): Stored {
    const { labels, annotations } = this.template.metadata;
    const place = this.ranked ? {} : { 'batch.kubernetes.io/job-completion-index': String(this.index) };
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: this.name,
        namespace: 'default',
        uid: this.name,
        ...(labels && { labels }),
        annotations: { ...annotations, ...place },
      },
      spec: { containers: this.template.spec.containers, ...(this.started && { nodeName: `node-${this.index}` }) },
      status: this.#status(),
    };
  }

  #status(): unknown {
    const name = this.template.spec.containers[0].name;
    if (!this.started) {
      const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: this.#unplaced };
      return { phase: 'Pending', conditions: [condition] };
    }
    if (this.#exit === null) {
      return { phase: 'Running', containerStatuses: [{ name, state: { running: {} } }] };
    }
    const reason = this.#exit === 0 ? 'Completed' : 'Error';
    return {
      phase: this.#exit === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [{ name, state: { terminated: { exitCode: this.#exit, reason } } }],
      ...this.#failure,
    };
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) {
      listener();
    }
  }
}

/** Calls for each line of a stream. */
function eachLine(stream: Readable | null, take: (line: string) => void): void {
  let rest = '';
  stream?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(take);
  });
}

/** The children of a process. */
function children(pid: number | undefined): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
