import { type Text, textAt } from './shell/words';
import { at, itemsOf, type Tree, type TreeMap, type TreeScalar, textAtPath } from './tree';

/** What a Kubernetes job starts in its pods, as a script whose words stand where the manifest has them. */
export interface PodScript {
  /** As long as the manifest, so that offsets hold in both; all but the command is blank. */
  readonly text: string;
  /** Variables of the environment: those of the container, and those that the controller sets for torchrun. */
  readonly variables: ReadonlyMap<string, Text>;
  /** Pods and processes in each, as the manifest counts them; undefined where it does not. */
  readonly nodes: TreeScalar | undefined;
  readonly perNode: TreeScalar | undefined;
}

/** The pods of a job that train: their container and how many there are. */
interface Pods {
  readonly container: Tree;
  readonly nodes: TreeScalar | undefined;
  readonly perNode: TreeScalar | undefined;
  /** Whether the controller hands its counts to torchrun. */
  readonly forTorchrun: boolean;
}

/** Where each kind of job has its pods. Sources: kubeflow/trainer, kubeflow/mpi-operator and kubernetes-sigs/jobset, their APIs. */
const KINDS: Readonly<Record<string, (spec: Tree) => Pods | null>> = {
  PyTorchJob(spec) {
    const roles = ['Master', 'Worker'].flatMap((role) => at(spec, `pytorchReplicaSpecs.${role}`) ?? []);
    const container = roles.map((role) => containerIn(at(role, 'template'))).find((one) => one);
    const replicas = roles.map((role) => at(role, 'replicas'));
    const nodes = combined(replicas, (a, b) => a + b, 0);
    return podsOf(container, nodes, scalarOf(at(spec, 'nprocPerNode')) ?? gpusOf(container), true);
  },
  MPIJob(spec) {
    const container = containerIn(at(spec, 'mpiReplicaSpecs.Launcher.template'));
    return podsOf(container, at(spec, 'mpiReplicaSpecs.Worker.replicas'), at(spec, 'slotsPerWorker'), false);
  },
  TrainJob(spec) {
    const container = at(spec, 'trainer');
    const perNode = scalarOf(at(container, 'numProcPerNode')) ?? gpusOf(container);
    return podsOf(container, at(container, 'numNodes'), perNode, true);
  },
  JobSet(spec) {
    const job = itemsOf(at(spec, 'replicatedJobs')).find((one) => containerIn(at(one, JOB_PODS)));
    const counts = ['replicas', 'template.spec.parallelism'].map((path) => at(job, path));
    const container = containerIn(at(job, JOB_PODS));
    return podsOf(
      container,
      combined(counts, (a, b) => a * b, 1),
      gpusOf(container),
      false,
    );
  },
};

const JOB_PODS = 'template.spec.template';

function podsOf(
  container: Tree | undefined,
  nodes: Tree | undefined,
  perNode: Tree | undefined,
  forTorchrun: boolean,
): Pods | null {
  return container ? { container, nodes: scalarOf(nodes), perNode: scalarOf(perNode), forTorchrun } : null;
}

/** What a manifest starts; null where it is no job of these kinds, or its pods have no command. */
export function podScript(manifest: string, tree: TreeMap): PodScript | null {
  const kind = textAtPath(tree, 'kind') ?? '';
  const spec = at(tree, 'spec');
  const pods = spec && Object.hasOwn(KINDS, kind) ? KINDS[kind]?.(spec) : null;
  const words = pods ? wordsOf(pods.container) : [];
  if (!pods || words.length === 0 || textAtPath(tree, 'apiVersion') === null) {
    return null;
  }
  const { container, nodes, perNode, forTorchrun } = pods;
  const counts = forTorchrun
    ? ([
        ['PET_NNODES', nodes],
        ['PET_NPROC_PER_NODE', perNode],
      ] as const)
    : [];
  const variables = new Map<string, Text>([
    ...counts.flatMap(([name, count]) => (count ? [[name, textAt(String(count.value), count.place)] as const] : [])),
    ...itemsOf(at(container, 'env')).flatMap((entry) => {
      const [name, value] = [textAtPath(entry, 'name'), scalarOf(at(entry, 'value'))];
      return name !== null && value ? [[name, textAt(String(value.value), value.place)] as const] : [];
    }),
  ]);
  return { text: masked(manifest, words), variables, nodes, perNode };
}

/** The most characters among which words are looked for: one that the manifest writes with escapes is nowhere. */
const MAX_SEARCHED = 32 * 1024 * 1024;

/** The manifest with blanks for all but the words of its command, each where it stands. A script behind `bash -c` stands bare. */
function masked(manifest: string, words: readonly Tree[]): string {
  const texts = words.map(scalarOf).filter((word) => word !== undefined);
  const isShell = /(^|\/)(ba|z|da)?sh$/.test(String(texts[0]?.value)) && /^-\w*c$/.test(String(texts[1]?.value));
  const shown = isShell ? texts.slice(2, 3) : texts;
  const characters = Array.from({ length: manifest.length }, () => ' ');
  const put = (text: string, offset: number) => {
    for (let i = 0; i < text.length && offset + i < characters.length; i++) {
      characters[offset + i] = text[i] ?? ' ';
    }
  };
  let left = MAX_SEARCHED;
  for (const { value, place } of shown) {
    let offset = place.offset;
    for (const line of String(value).split('\n')) {
      const found = line.trim() === '' || left <= 0 ? -1 : manifest.indexOf(line.trim(), offset);
      left -= (found < 0 ? manifest.length : found) - offset;
      if (found >= 0) {
        const isPlain = isShell || /^[\w@%+=:,./-]+$/.test(line);
        put(isPlain ? line.trim() : `'${line.trim().replaceAll("'", ' ')}'`, isPlain ? found : found - 1);
        offset = found + line.trim().length;
        // the lines of a script end where they end; words of a list are one line
        const end = isShell ? manifest.indexOf('\n', offset) : -1;
        if (end >= 0) {
          put('\n', end);
        }
      }
    }
  }
  return characters.join('');
}

/** The first container of a pod's template that has a command. */
function containerIn(template: Tree | undefined): Tree | undefined {
  return itemsOf(at(template, 'spec.containers')).find((container) => wordsOf(container).length > 0);
}

/** The words that a container starts: lists, as Kubernetes takes nothing else. */
function wordsOf(container: Tree): readonly Tree[] {
  return ['command', 'args'].flatMap((key) => {
    const words = at(container, key);
    return words?.kind === 'list' ? words.items : [];
  });
}

/** The GPUs that a container asks for. */
function gpusOf(container: Tree | undefined): TreeScalar | undefined {
  for (const path of ['resources', 'resourcesPerNode']) {
    for (const kind of ['limits', 'requests']) {
      const amounts = at(container, `${path}.${kind}`);
      const gpus =
        amounts?.kind === 'map'
          ? (amounts.entries.get('nvidia.com/gpu') ?? amounts.entries.get('amd.com/gpu'))
          : undefined;
      const count = scalarOf(gpus);
      if (count) {
        return count;
      }
    }
  }
  return undefined;
}

function scalarOf(tree: Tree | undefined): TreeScalar | undefined {
  return tree?.kind === 'scalar' && tree.value !== null ? tree : undefined;
}

/** Counts as one, each 1 where it is not written, at the place of the last; undefined where they are no number. */
function combined(
  counts: readonly (Tree | undefined)[],
  join: (a: number, b: number) => number,
  start: number,
): TreeScalar | undefined {
  const written = counts.map(scalarOf);
  const value = written.reduce((total, count) => join(total, Number(count?.value ?? 1)), start);
  const place = written.findLast((count) => count !== undefined)?.place;
  return place && Number.isSafeInteger(value) && value > 0 ? { kind: 'scalar', value, place } : undefined;
}
