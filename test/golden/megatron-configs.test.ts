import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { check } from '../../layout';
import { PLAIN_OPTIONS } from '../../layout/frameworks/megatronOptions';
import { readLaunchFile } from '../../layout/launch';
import { goldenText, layoutText } from './golden';
import { isPlaced, sectionsOf } from './inputs';

type Arguments = Readonly<Record<string, number | string | boolean>>;

interface Variant {
  readonly recipe: string;
  readonly nodes: number;
  readonly gpus_per_node: number;
  readonly world_size: number;
}

interface Config {
  /** The worlds on which the test runs, by their numbers of ranks. */
  readonly static_check?: Readonly<Record<string, unknown>>;
  readonly path: string;
  readonly model_dir: string;
  readonly test_case: string;
  readonly flavour: string;
  readonly args: Arguments;
  readonly variants: readonly Variant[];
}

/** What Megatron-LM's own parser makes of the files, by option. */
const all = JSON.parse(goldenText('megatron_configs.json')) as readonly Config[];

const configs = all.filter(({ flavour, path }) => flavour === 'megatron-cli' && path.endsWith('/model_config.yaml'));

const KEYS: ReadonlyMap<string, string> = new Map(
  PLAIN_OPTIONS.flatMap(({ names, key }) => names.map((name) => [name, key] as const)),
);

/** The file as it stands in the tests: a flag of a value, `true` for a switch. */
function fileOf({ args }: Config): string {
  const flags = Object.entries(args).map(([name, value]) => [`--${name.replaceAll('_', '-')}`, value]);
  return stringify({ MODEL_ARGS: Object.fromEntries(flags) }, { lineWidth: 0 });
}

/** validate_args switches sequence parallelism off where tp is 1; the parser alone does not. */
function isSwitchedOff(name: string, args: Arguments): boolean {
  return name === 'sequence_parallel' && (args.tensor_model_parallel_size ?? 1) === 1;
}

describe("values of Megatron-LM's functional tests", () => {
  test('there are many', () => {
    expect(configs.length).toBeGreaterThan(80);
  });

  test.each(configs)('$test_case', (config) => {
    const { values } = readLaunchFile(config.path, fileOf(config), () => null);
    const found = new Map<string, unknown>(values.map(({ key, value }) => [key, value]));
    const expected = Object.entries(config.args).flatMap(([name, value]): [string, unknown][] => {
      const key = KEYS.get(name);
      return key === undefined ? [] : [[key, isSwitchedOff(name, config.args) ? false : value]];
    });
    expect(expected.length).toBeGreaterThan(3);
    expect(expected.map(([key]) => [key, found.get(key)])).toEqual(expected);
  });
});

describe('worlds of the functional tests', () => {
  const launched = configs.filter(({ variants }) => variants.length > 0);

  test.each(launched)('$test_case', (config) => {
    const worlds = new Set(
      config.variants.map(({ gpus_per_node, nodes }) => nodes * (gpus_per_node === 1 ? 8 : gpus_per_node)),
    );
    const recipes = new Map(
      config.variants.map(({ recipe, nodes, gpus_per_node }) => [
        `tests/test_utils/recipes/${recipe}`,
        stringify({
          spec: {
            model: config.model_dir,
            nodes,
            gpus: gpus_per_node,
            script: gpus_per_node === 1 ? 'bash run.sh' : 'export GPUS_PER_NODE={gpus}\nbash run.sh',
          },
          products: [{ test_case: [config.test_case] }],
        }),
      ]),
    );
    const { values } = readLaunchFile(config.path, fileOf(config), (path) => recipes.get(path) ?? null);
    const world = values.find(({ key }) => key === 'world_size')?.value;
    expect(world).toBe(worlds.size === 1 ? [...worlds][0] : null);
  });
});

/** The layout of the arguments that have a key; the record leaves out what is no size. */
function textOf({ args }: Config, world_size: number): string {
  const placed = Object.fromEntries(Object.entries(args).filter(([name]) => isPlaced(name)));
  const num_query_groups = args.group_query_attention ? args.num_query_groups : null;
  return layoutText({ world_size, ...sectionsOf({ ...placed, num_query_groups }) });
}

describe('sizes of the functional tests', () => {
  const runs = all.flatMap((config) =>
    Object.keys(config.static_check ?? {}).map((world) => ({ name: config.test_case, world: Number(world), config })),
  );

  test.each(runs)('$name on $world ranks has no error', ({ name, config, world }) => {
    const errors = check(textOf(config, world)).diagnostics.filter(({ severity }) => severity === 'error');
    // it is an error in training only
    const allowed = name.includes('inference') ? ['sequence-parallel-with-experts'] : [];
    expect(errors.filter(({ code }) => !allowed.includes(code))).toEqual([]);
  });
});
