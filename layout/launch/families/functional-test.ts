import type { LaunchContext } from '../family';
import { type Facts, type Found, isKnown } from '../foundValues';
import { at, optionsOf, type Tree, type TreeMap, textAtPath } from '../tree';
import { deriveFromWorld, deriveGlobalBatch, setWorld } from '../world';

/** Where Megatron-LM keeps the recipes that run its functional tests, by platform. */
const FOLDERS = ['h100/', 'gb200/', ''].map((platform) => `tests/test_utils/recipes/${platform}`);

/** What follows the model's name in the name of a recipe. */
const KINDS = [
  ...[
    '',
    '-1node',
    '-perf',
    '-perf-dp8',
    '-perf-ep8',
    '-grads',
    '-grpo',
    '-nemo',
    '-static-inference',
    '-dynamic-inference',
  ],
  ...['-offline-inference', '-dynamic-inference-cuda-graphs', '-dynamic-inference-with-coordinator'],
];

/** Processes a node unless a recipe hands its own count on (functional_tests/shell_test_utils/_run_training.sh). */
const PROCESSES_A_NODE = 8;

interface TestWorld {
  readonly nodes: Found<number>;
  readonly perNode: Found<number>;
}

/**
 * Sets the world of a functional test of Megatron-LM: nodes x processes a node of the recipe that runs it. It is unknown
 * where no recipe is found, and where the recipes of several platforms differ.
 */
export function setWorldOfTest(tree: TreeMap, context: LaunchContext, facts: Facts): void {
  const worlds = recipesOf(context).map((recipe) => worldOf(recipe, tree));
  const sizes = new Set(worlds.map(sizeOf));
  const [first] = worlds;
  if (!first || sizes.size > 1 || sizes.has(null)) {
    const why = first ? 'the recipes that run the test differ' : 'nodes x gpus of the recipe that runs the test';
    facts.set('world_size', { unknown: `the world: ${why}` });
    return;
  }
  const same = worlds.every(({ nodes }) => isKnown(nodes) && isKnown(first.nodes) && nodes.value === first.nodes.value);
  setWorld(facts, same ? first : { total: totalOf(first) });
  deriveFromWorld(facts);
  deriveGlobalBatch(facts);
}

/** The recipes that run the test case whose configuration is read. */
function recipesOf(context: LaunchContext): TreeMap[] {
  const [, model = '', test = ''] = /test_cases\/([^/]+)\/([^/]+)\/[^/]+$/.exec(context.file) ?? [];
  // recipes of hybrid models are named after Mamba
  const stems = test === '' ? [] : [model.replaceAll('_', '-'), ...(model === 'hybrid' ? ['mamba'] : [])];
  const names = FOLDERS.flatMap((folder) =>
    stems.flatMap((stem) => KINDS.map((kind) => `${folder}${stem}${kind}.yaml`)),
  );
  return names.flatMap((name) => {
    const recipe = context.findTree(name)?.tree;
    return recipe && textAtPath(recipe, 'spec.model') === model && runs(recipe, test) ? [recipe] : [];
  });
}

/** Whether the products of a recipe have a test case. */
function runs(recipe: TreeMap, test: string): boolean {
  const products = at(recipe, 'products');
  return (
    products?.kind === 'list' && products.items.some((product) => textsOf(at(product, 'test_case')).includes(test))
  );
}

function textsOf(tree: Tree | undefined): string[] {
  const items = tree?.kind === 'list' ? tree.items : tree ? [tree] : [];
  return items.flatMap((item) => (item.kind === 'scalar' ? [String(item.value)] : []));
}

function worldOf(recipe: TreeMap, configuration: TreeMap): TestWorld {
  const spec = optionsOf(at(recipe, 'spec'));
  const [own] = ['MODEL_ENV_VARS.MODEL_ARGS', 'ENV_VARS'].flatMap(
    (path) => optionsOf(at(configuration, path)).integer('GPUS_PER_NODE') ?? [],
  );
  const isHandedOn = /GPUS_PER_NODE="?\{gpus\}/.test(textAtPath(recipe, 'spec.script') ?? '');
  const gpus = isHandedOn ? spec.integer('gpus') : { value: PROCESSES_A_NODE, source: 'default' as const };
  return {
    nodes: spec.integer('nodes') ?? { value: 1, source: 'default' },
    perNode: own ?? gpus ?? { unknown: 'gpus of the recipe' },
  };
}

function sizeOf({ nodes, perNode }: TestWorld): number | null {
  return isKnown(nodes) && isKnown(perNode) ? nodes.value * perNode.value : null;
}

function totalOf(world: TestWorld): Found<number> {
  const size = sizeOf(world);
  return size === null || !isKnown(world.nodes)
    ? { unknown: 'the world of the recipe' }
    : { value: size, source: world.nodes.source };
}
