import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { specOf } from '../../layout/format/keyPath';
import { PLAIN_OPTIONS } from '../../layout/frameworks/megatronOptions';
import { EXPORT_TARGETS, type ExportTarget, exportLayout } from '../../layout/launch';
import { runs } from '../harness/property';
import { goldenText } from './golden';
import { EXAMPLES, homogeneousLayouts, IMPORTED, SHAPES } from './layouts';

/** The options of each framework with the kinds of their values, as tools/frameworks/options.py recorded them. */
const RECORDED: { readonly options: Readonly<Record<string, string>> } = JSON.parse(goldenText('options.json'));
const OPTIONS: Readonly<Record<string, ReadonlyMap<string, string>>> = Object.fromEntries(
  Object.entries(RECORDED.options).map(([framework, text]) => [
    framework,
    new Map(text.split(' ; ').map((one) => [one.slice(0, one.indexOf(': ')), one.slice(one.indexOf(': ') + 2)])),
  ]),
);

/** Megatron-LM's parser; the format marks the keys that dev alone knows. */
const MEGATRON = ['megatron', 'megatron-dev'];

/** What a framework refuses of the text that was written for it. */
const REFUSED: Readonly<Record<ExportTarget, (text: string) => string[]>> = {
  'megatron-args': (text) => refusedWords(wordsOf(text), ...MEGATRON),
  torchrun: (text) => refusedWords(argumentsOf(text, 'pretrain_gpt.py'), ...MEGATRON),
  sbatch: (text) => refusedWords(argumentsOf(text, 'pretrain_gpt.py'), ...MEGATRON),
  'mimo-args': (text) => refusedWords(argumentsOf(text, 'examples/mimo/pretrain_mimo.py'), ...MEGATRON, 'mimo'),
  // the functional tests of Megatron-LM split a value at blanks, and hand a switch on without a value
  'model-config': (text) =>
    Object.entries<unknown>(parse(text).MODEL_ARGS).flatMap(([flag, value]) =>
      refusedWords([flag, ...(value === true ? [] : String(value).split(' '))], ...MEGATRON),
    ),
  bridge: (text) =>
    refusedValues(leavesOf(parse(text)), bridgeKind(parse(text).model?.multi_latent_attention === true)),
  'nemo-rl': (text) => refusedValues(leavesOf(parse(text)), nemoKind),
  verl: (text) =>
    refusedValues(
      argumentsOf(text, 'verl.trainer.main_ppo')
        .slice(2)
        .map((word) => [word.slice(0, word.indexOf('=')), parse(word.slice(word.indexOf('=') + 1))]),
      (path) => OPTIONS[text.includes('--config-name=ppo_trainer') ? 'verl-fsdp' : 'verl']?.get(path),
    ),
  torchtitan: (text) => refusedSettings(argumentsOf(text, 'torchtitan.train').slice(4)),
  'module-grid-spec': (text) => refusedKeywords(text, 'module-grid-spec'),
  'ntp-config': (text) => refusedKeywords(text, 'ntp-config'),
};

/** The kinds of a field of Megatron Bridge; models with latent attention have more. */
function bridgeKind(isLatent: boolean): (path: string) => string | undefined {
  return (path) => {
    const kinds = [OPTIONS.bridge?.get(path), isLatent ? OPTIONS['bridge-mla']?.get(path) : undefined];
    return kinds.filter((kind) => kind !== undefined).join('|') || undefined;
  };
}

/** Fields of the model in Megatron Bridge have no name of their own in a recipe of NeMo-RL. */
function nemoKind(path: string): string | undefined {
  const [, field] = /^policy\.megatron_cfg\.model_overrides\.(\w+)$/.exec(path) ?? [];
  return field === undefined ? OPTIONS['nemo-rl']?.get(path) : bridgeKind(true)(`model.${field}`);
}

/** The words of a command as a shell reads them: quotes are taken off, nothing is expanded. */
function wordsOf(text: string): string[] {
  const words = text.replaceAll('\\\n', ' ').match(/(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+/gs) ?? [];
  return words.map((word) =>
    word.replace(/'([^']*)'|"([^"]*)"|\\(.)/gs, (_, one = '', two = '', three = '') => one + two + three),
  );
}

/** The words behind the program of the last command. */
function argumentsOf(text: string, program: string): string[] {
  const words = wordsOf(text);
  expect(words).toContain(program);
  return words.slice(words.lastIndexOf(program) + 1);
}

/** As argparse: each option with as many values as it takes, each of its type. */
function refusedWords(words: readonly string[], ...parsers: readonly string[]): string[] {
  const refused: string[] = [];
  for (let at = 0; at < words.length; ) {
    const flag = words[at] ?? '';
    const end = words.findIndex((word, index) => index > at && /^--[a-z]/.test(word));
    const values = words.slice(at + 1, end < 0 ? words.length : end);
    const kind = parsers.map((parser) => OPTIONS[parser]?.get(flag)).find((one) => one !== undefined);
    const [type = '', count = '1'] = kind?.split(' ') ?? [];
    const fits = { switch: values.length === 0, '+': values.length > 0, '*': true }[type === 'switch' ? type : count];
    if (
      kind === undefined ||
      !(fits ?? values.length === Number(count)) ||
      !values.every((value) => takesWord(type, value))
    ) {
      refused.push(`${flag} ${values.join(' ')}: ${kind ?? 'unrecognized'}`);
    }
    at += 1 + values.length;
  }
  return refused;
}

function takesWord(kinds: string, word: string): boolean {
  return kinds.split('|').some((kind) => {
    switch (kind) {
      case 'int':
        return /^[+-]?\d+$/.test(word);
      case 'float':
        return word.trim() !== '' && !Number.isNaN(Number(word));
      case 'str':
      case 'any':
        return true;
      case 'bool':
        return /^(true|false)$/i.test(word);
      default:
        return kind === `=${word}`;
    }
  });
}

/** As tyro: a switch has no value, and `no_` before its name where it is off. */
function refusedSettings(words: readonly string[]): string[] {
  const refused: string[] = [];
  for (let at = 0; at < words.length; ) {
    const name = words[at]?.replace(/^--/, '') ?? '';
    const kind = OPTIONS.torchtitan?.get(name) ?? OPTIONS.torchtitan?.get(name.replace(/\.no_(?=\w+$)/, '.'));
    const hasValue = at + 1 < words.length && !words[at + 1]?.startsWith('--');
    const isSwitch = kind === 'bool';
    if (
      kind === undefined ||
      hasValue === isSwitch ||
      !(isSwitch || OPTIONS.torchtitan?.has(name)) ||
      (hasValue && !takesWord(kind, words[at + 1] ?? ''))
    ) {
      refused.push(`${name} ${hasValue ? words[at + 1] : ''}: ${kind ?? 'unrecognized'}`);
    }
    at += hasValue ? 2 : 1;
  }
  return refused;
}

type Leaf = readonly [path: string, value: unknown];

function leavesOf(value: unknown, path = ''): Leaf[] {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, path === '' ? name : `${path}.${name}`))
    : [[path, value]];
}

function refusedValues(leaves: readonly Leaf[], kindOf: (path: string) => string | undefined): string[] {
  return leaves.flatMap(([path, value]) => {
    const kinds = kindOf(path);
    return kinds?.split('|').some((kind) => takesValue(kind, value))
      ? []
      : [`${path} = ${JSON.stringify(value)}: ${kinds ?? 'unrecognized'}`];
  });
}

function takesValue(kind: string, value: unknown): boolean {
  switch (kind) {
    case 'any':
      return true;
    case 'int':
      return Number.isInteger(value);
    case 'float':
      return typeof value === 'number';
    case 'str':
      return typeof value === 'string';
    case 'bool':
      return typeof value === 'boolean';
    case 'list':
      return Array.isArray(value);
    case 'null':
      return value === null;
    default:
      return kind === `=${value}`;
  }
}

/** The keyword arguments of calls in Python. */
function refusedKeywords(text: string, form: string): string[] {
  const given = [...text.matchAll(/(?<=[(,]\s*)(\w+)=("[^"]*"|-?\d+|None|True|False|\{)/g)];
  expect(given.length).toBeGreaterThan(0);
  return refusedValues(
    given.map(([, name = '', value = '']) => [name, /^[\d"-]/.test(value) ? JSON.parse(value) : value]),
    (name) => {
      const kind = OPTIONS[form]?.get(name);
      return kind?.includes('map') ? 'any' : kind;
    },
  );
}

/** What is refused of an export; a layout that a form cannot hold is no case of it. */
function refusedOf(text: string, target: ExportTarget): string[] {
  let exported: string;
  try {
    exported = exportLayout(text, target).text;
  } catch (error) {
    return error instanceof Error && /^The .*\.$|^A layout .*\.$/.test(error.message) ? [] : [String(error)];
  }
  return REFUSED[target](exported);
}

describe.each(EXPORT_TARGETS)('%s', (target) => {
  test('the framework takes the export of every example', () => {
    const refused = [...EXAMPLES, ...IMPORTED].flatMap(([name, text]) =>
      refusedOf(text, target).map((what) => `${name}: ${what}`),
    );
    expect(refused).toEqual([]);
  });

  test('the framework takes every key that is written, and a layout of every shape', () => {
    const refused = [...VARIANTS.map(everything), ...SHAPES].flatMap((text) => refusedOf(text, target));
    expect([...new Set(refused)]).toEqual([]);
  });

  test('the framework takes whatever is written', () => {
    fc.assert(
      fc.property(homogeneousLayouts, (text) => {
        expect(refusedOf(text, target), text).toEqual([]);
      }),
      runs(4),
    );
  });
});

test('what a framework does not take is refused here', () => {
  expect(refusedWords(['--tensor-model-parallel-size', '2', '--bf16'], 'megatron')).toEqual([]);
  expect(refusedWords(['--tensor-model-parallel-size', 'two'], 'megatron')).toHaveLength(1);
  expect(refusedWords(['--bf16', 'true'], 'megatron')).toHaveLength(1);
  expect(refusedWords(['--llm-tp', '2'], 'megatron')).toHaveLength(1);
  expect(refusedSettings(['--parallelism.no_enable_sequence_parallel'])).toEqual([]);
  expect(refusedSettings(['--parallelism.enable_sequence_parallel', 'true'])).toHaveLength(1);
  expect(REFUSED.bridge('model: {disable_bias_linear: true}')).toHaveLength(1);
  expect(REFUSED.bridge('model: {kv_lora_rank: 32}')).toHaveLength(1);
  expect(REFUSED.bridge('model: {multi_latent_attention: true, kv_lora_rank: 32}')).toEqual([]);
});

/** Values of texts that the format leaves to the framework, and of lists that have a length. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  'batch.rampup_batch_size': ['[16, 16, 1024]'],
  'model.experimental_attention_variant': ['gdn', 'dsa'],
  'moe.moe_router_load_balancing_type': ['aux_loss', '[aux_loss, seq_aux_loss]'],
  'optimizer.optimizer': ['adam', 'muon'],
  'sequence.sequence_packing_scheduler': ['dp_balanced'],
  'communicators.sharp_enabled_group': ['dp', 'dp_replica'],
};

/** A value of a key for one of the variants of a layout: an enumeration is gone through. */
function sampleOf({ key, kind }: (typeof PLAIN_OPTIONS)[number], variant: number): string {
  const spec = specOf(key);
  const options = spec?.type === 'enum' ? spec.options : (WORDS[key] ?? VALUES[kind]);
  return options[variant % options.length] ?? '';
}

const VALUES: Readonly<Record<(typeof PLAIN_OPTIONS)[number]['kind'], readonly string[]>> = {
  integer: ['2'],
  number: ['0.5', '1'],
  switch: ['true', 'false'],
  off: ['false', 'true'],
  text: ['x'],
  type: ['fp32', 'fp16'],
  texts: ['[a, b]'],
  oneOrMore: ['x'],
  choice: ['fully_reshardable'],
  integers: ['[1, 2]'],
  expression: ['3'],
};

const VARIANTS = [0, 1, 2, 3, 4, 5, 6, 7];

/** A layout that writes every key that becomes an option, and the phases of a reinforcement-learning job. */
function everything(variant: number): string {
  return [
    ...['layout: 1', 'cluster: {nodes: 2, gpus_per_node: 8}', 'parallelism: {vpp: 2, order: tp-cp-ep-pp-dp}'],
    `model: {num_query_groups: 8, gated_linear_unit: true, params_dtype: ${['fp16', 'bf16', 'fp32'][variant % 3]}}`,
    `phases: {rollout: {engine: ${['vllm', 'sglang'][variant % 2]}, tp: 2, dp: 2, pp: 2, ep: 2}, reference: {tp: 2}}`,
    ...PLAIN_OPTIONS.filter(({ key }) => key !== 'parallelism.pipeline_model_parallel_layout').map(
      (option) => `${option.key}: ${sampleOf(option, variant)}`,
    ),
  ].reduce((text, line) => withPath(text, line));
}

/** A text with a line of a whole path, such as `moe.moe_grouped_gemm: true`, in its section. */
function withPath(text: string, line: string): string {
  const [, section, rest] = /^(\w+)\.(.*)$/.exec(line) ?? [];
  const start = `\n${section}: {`;
  return section === undefined
    ? `${text}\n${line}`
    : text.includes(start)
      ? text.replace(start, `${start}${rest}, `)
      : `${text}${start}${rest}}`;
}
