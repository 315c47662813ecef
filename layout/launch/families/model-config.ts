import { DEFAULTS } from '../defaults';
import type { DocumentFamily } from '../family';
import { Facts } from '../foundValues';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from '../megatron';
import { type Option, Options } from '../options';
import { at, optionOf, type TreeMap, textAtPath } from '../tree';
import { deriveFromWorld, setWorld } from '../world';
import { setWorldOfTest } from './functional-test';
import { listUnmapped } from './megatron-lm';

/** NeMo's keys, over a recipe of its own: what is absent is not known. */
const NEMO: Dialect = {
  defaults: DEFAULTS.primus,
  switches: 'value',
  expertTpIsTp: false,
  modelElsewhere: true,
  keepsSequenceParallel: true,
};

const TRAINER = ['trainer.num_nodes', 'trainer.devices'];

const DIALECT: Dialect = { defaults: DEFAULTS.megatron, switches: 'bare', expertTpIsTp: true };

/**
 * `model_config.yaml` of Megatron-LM's functional tests: `MODEL_ARGS` maps flags to values
 * (tests/functional_tests/shell_test_utils/_run_training.sh).
 */
export const modelConfig: DocumentFamily = {
  name: 'model-config',
  matches: ({ tree }) => at(tree, 'MODEL_ARGS')?.kind === 'map',
  read({ tree }, context) {
    const facts = new Facts();
    const options = argumentsOf(at(tree, 'MODEL_ARGS'));
    const isNemo = [...options.entries.keys()].some((name) => name.startsWith('trainer.'));
    readMegatron(isNemo ? new Options(options.entries, 'the NeMo recipe') : options, isNemo ? NEMO : DIALECT, facts);
    listUnmapped(options, new Set([...MEGATRON_OPTIONS, ...TRAINER]), facts);
    if (isNemo) {
      facts.set('model.num_experts', facts.get('model.num_experts') ?? { unknown: 'the NeMo recipe' });
      setWorld(facts, { nodes: options.integer('trainer.num_nodes'), perNode: options.integer('trainer.devices') });
      deriveFromWorld(facts);
    } else {
      setWorldOfTest(tree, context, facts);
    }
    facts.trains = textAtPath(tree, 'MODE') !== 'inference';
    if ([...tree.entries.keys()].some((name) => /^MODEL_ARGS_\d+$/.test(name))) {
      facts.note('MODEL_ARGS_2 describes a second run; it is not read.');
    }
    return facts;
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
