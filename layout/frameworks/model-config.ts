import type { World } from '../launch/commands';
import type { LaunchContext, LaunchFamily } from '../launch/family';
import type { LayoutWriter } from '../launch/layoutWriter';
import { listUnmapped } from '../launch/optionRows';
import { type Option, Options } from '../launch/options';
import { at, optionOf, optionsOf, type Tree, type TreeMap, textAtPath } from '../launch/sources/tree';
import { derived, Facts, isKnown, ONE } from '../launch/value';
import { deriveFromWorld, deriveGlobalBatch, setWorld } from '../launch/world';
import { MEGATRON_DIALECT } from './megatron-lm';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from './megatronOptions';
import { megatronFlags } from './megatronWrite';

/** NeMo's keys, over a recipe of its own: what is absent is not known. */
const NEMO: Dialect = {
  defaults: null,
  switches: 'value',
  expertTpIsTp: false,
  modelElsewhere: true,
  keepsSequenceParallel: true,
};

const NEMO_RECIPE = 'the NeMo recipe';

/**
 * `model_config.yaml` of Megatron-LM's functional tests: `MODEL_ARGS` maps flags to values
 * (tests/functional_tests/shell_test_utils/_run_training.sh).
 */
export const modelConfig: LaunchFamily<'model-config'> = {
  name: 'model-config',
  document: {
    evidence: ({ tree }) => (at(tree, 'MODEL_ARGS')?.kind === 'map' ? 'own' : null),
    read({ tree }, context) {
      const facts = new Facts();
      const options = argumentsOf(at(tree, 'MODEL_ARGS'));
      const isNemo = [...options.entries.keys()].some((name) => name.startsWith('trainer.'));
      if (isNemo) {
        readMegatron(new Options(options.entries, NEMO_RECIPE), NEMO, facts);
        facts.set('model.num_experts', facts.get('model.num_experts') ?? { unknown: NEMO_RECIPE });
        setWorld(facts, { nodes: options.integer('trainer.num_nodes'), perNode: options.integer('trainer.devices') });
        deriveFromWorld(facts);
      } else {
        readMegatron(options, MEGATRON_DIALECT, facts);
        setWorldOfTest(tree, context, facts);
      }
      listUnmapped(options, new Set([...MEGATRON_OPTIONS, 'trainer.num_nodes', 'trainer.devices']), facts);
      facts.trains = textAtPath(tree, 'MODE') !== 'inference';
      if ([...tree.entries.keys()].some((name) => /^MODEL_ARGS_\d+$/.test(name))) {
        facts.note('MODEL_ARGS_2 describes a second run; it is not read.');
      }
      return facts;
    },
  },
};

/** The flags of a map: `true` is a bare switch, a list loses its brackets, an empty text drops the flag. */
function argumentsOf(tree: TreeMap | ReturnType<typeof at>): Options {
  const entries = new Map<string, Option>();
  for (const [flag, value] of tree?.kind === 'map' ? tree.entries : []) {
    const option = optionOf(value);
    const [first] = option?.values ?? [];
    if (!option || first === '' || option.values.length === 0) {
      continue;
    }
    // NeMo's tests write dotted keys: `trainer.strategy.tensor_model_parallel_size`, `data.seq_length`
    const name = flag
      .replace(/^--/, '')
      .replace(/^(trainer\.strategy|data|model(\.config)?)\./, '')
      .replaceAll('-', '_');
    entries.set(name, flag.startsWith('--') ? withVariables(name, option) : option);
  }
  return new Options(entries, null);
}

/** `true` is a bare switch; `${VAR}` comes from the environment; `[a, b]` as text loses its brackets. */
function withVariables(name: string, option: Option): Option {
  const [first = ''] = option.values;
  if (option.values.length === 1 && first === 'true') {
    return { ...option, values: [], places: [] };
  }
  const variable = option.values.find((value) => value !== null && /\$\{?\w+/.test(value));
  if (variable !== undefined && variable !== null && MEGATRON_OPTIONS.has(name)) {
    return { ...option, values: option.values.map(() => null), unknown: `environment variable ${variable}` };
  }
  const list = /^\[([^\]]*)\]$/.exec(first ?? '');
  if (list) {
    const values = (list[1] ?? '').trim().split(/[\s,]+/);
    return { ...option, values, places: values.map(() => option.place) };
  }
  // the shell splits an unquoted value at its blanks
  const words = option.values.flatMap((value) =>
    value !== null && !/[|()]/.test(value) ? value.trim().split(/\s+/) : [value],
  );
  return { ...option, values: words, places: words.map(() => option.place) };
}

/** Where Megatron-LM keeps the recipes that run its functional tests, by platform. */
const FOLDERS = ['h100/', 'gb200/', ''].map((platform) => `tests/test_utils/recipes/${platform}`);

/** What follows the model's name in the name of a recipe. */
const KINDS = [
  ...['', '-1node', '-perf', '-perf-dp8', '-perf-ep8', '-grads', '-grpo', '-nemo', '-static-inference'],
  ...['-offline-inference', ...['', '-cuda-graphs', '-with-coordinator'].map((end) => `-dynamic-inference${end}`)],
];

/** Processes a node unless a recipe hands its own count on (functional_tests/shell_test_utils/_run_training.sh). */
const PROCESSES_A_NODE = 8;

/**
 * Sets the world of a functional test of Megatron-LM: nodes x processes a node of the recipe that runs it. It is unknown
 * where no recipe is found, and where the recipes of several platforms differ.
 */
function setWorldOfTest(tree: TreeMap, context: LaunchContext, facts: Facts): void {
  const worlds = recipesOf(context).map((recipe) => worldOf(recipe, tree));
  const totals = worlds.map(({ nodes, perNode }) => derived([nodes, perNode], (a, b) => a * b, 'the world'));
  const sizes = new Set(totals.map((total) => (isKnown(total) ? total.value : null)));
  const [first] = worlds;
  if (!first || sizes.size > 1 || sizes.has(null)) {
    const why = first ? 'the recipes that run the test differ' : 'nodes x gpus of the recipe that runs the test';
    facts.set('world_size', { unknown: `the world: ${why}` });
    return;
  }
  const same = worlds.every(({ nodes }) => isKnown(nodes) && isKnown(first.nodes) && nodes.value === first.nodes.value);
  setWorld(facts, same ? first : { total: totals[0] });
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

function worldOf(recipe: TreeMap, configuration: TreeMap): World {
  const spec = optionsOf(at(recipe, 'spec'));
  const [own] = ['MODEL_ENV_VARS.MODEL_ARGS', 'ENV_VARS'].flatMap(
    (path) => optionsOf(at(configuration, path)).integer('GPUS_PER_NODE') ?? [],
  );
  const isHandedOn = /GPUS_PER_NODE="?\{gpus\}/.test(textAtPath(recipe, 'spec.script') ?? '');
  const gpus = isHandedOn ? spec.integer('gpus') : { value: PROCESSES_A_NODE, source: 'default' as const };
  return {
    nodes: spec.integer('nodes') ?? ONE,
    perNode: own ?? gpus ?? { unknown: 'gpus of the recipe' },
  };
}

/** The flags of a layout as `MODEL_ARGS`. */
export function writeModelConfig(writer: LayoutWriter): string {
  // the shell that reads the form splits values at blanks
  const held = megatronFlags(writer).filter(([flag]) => flag !== '--step-batch-size-schedule');
  writer.used.delete('batch.step_batch_size_schedule');
  return writer.yaml(
    held.map(([flag, ...values]) => {
      const [only = ''] = values;
      const value = values.length > 1 ? values.join(' ') : /^-?\d+$/.test(only) ? Number(only) : only;
      return [['MODEL_ARGS', flag], values.length === 0 ? true : value];
    }),
  );
}
