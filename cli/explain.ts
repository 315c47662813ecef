import type { Command } from 'commander';
import {
  flagNames,
  gpusMarkdown,
  groupKindNames,
  groupMarkdown,
  jsonText,
  keyMarkdown,
  keyNames,
  nearest,
  RULES,
  type Rule,
  ruleMarkdown,
  ruleOf,
} from '../layout';
import { readLaunchFile } from '../layout/launch';
import { formatOption } from './options';
import { fail, print } from './output';
import type { OutputItem } from './outputSchemas';

type Format = 'text' | 'json';

const HELP = `
Exit status: 0 explained, 2 no such name, or a flag that says nothing about the layout.

Examples:
  parallelism-layout explain world-gap                       a rule
  parallelism-layout explain --tensor-model-parallel-size    a flag of Megatron-LM
  parallelism-layout explain dp_cp                           a process group
  parallelism-layout explain actor_rollout_ref.rollout.n     an option of verl
  parallelism-layout explain gpu                             the kinds of GPUs that have figures`;

/** Adds `explain`: the page of a rule, a key or a process group, or the list of all rules. */
export function addExplainCommand(program: Command): void {
  program
    .command('explain')
    .description('explain a rule, a key of the format, a flag of Megatron-LM or a process group')
    .argument(
      '[name]',
      'rule code such as world-gap, key, flag, option of a configuration or process group; without it, all rules',
    )
    .addOption(formatOption('text', 'json'))
    .addHelpText('after', HELP)
    // a flag of Megatron-LM is a name like any other here
    .allowUnknownOption()
    .action((name: string | undefined, { format }: { format: Format }) =>
      print(name === undefined ? list(format) : explain(name, format)),
    );
}

function* list(format: Format): Iterable<string> {
  if (format === 'json') {
    yield `${jsonText(RULES.map(ruleData), 2)}\n`;
    return;
  }
  const width = Math.max(...RULES.map((rule) => rule.code.length));
  for (const rule of RULES) {
    yield `${rule.code.padEnd(width)}  ${rule.severity.padEnd(11)}  ${rule.title}\n`;
  }
}

const ruleData = ({ code, severity, title }: Rule): Page => ({ kind: 'rule', name: code, severity, title });

/** A page as `--format json` prints it. */
type Page = OutputItem<'explain'>;

function* explain(name: string, format: Format): Iterable<string> {
  const pages = pagesOf(name);
  if (pages.length === 0) {
    fail(FLAG.test(name) ? whyNoFlag(name) : whyNoName(name));
  }
  if (format === 'json') {
    yield `${jsonText(pages, 2)}\n`;
  } else {
    yield pages.map(({ markdown }) => markdown).join('\n');
  }
}

function whyNoName(name: string): string {
  const names = [...RULES.map(({ code }) => code), ...keyNames(), ...groupKindNames()];
  const near = nearest(name, names) ?? names.find((one) => name.length > 2 && one.startsWith(name));
  if (!near && DOTTED.test(name)) {
    return `the option '${flagOf(name)}' says nothing about the layout: no key is read from it`;
  }
  return `there is no rule, key or process group '${name}'${near ? `; did you mean ${near}?` : ''}`;
}

/** A flag, with or without a value. */
const FLAG = /^--[a-z][\w.-]*(?:=.*)?$/i;

/** Why a flag has no page: it is misspelt, or `import` reads nothing from it. */
function whyNoFlag(name: string): string {
  const flag = flagOf(name);
  const near = nearest(flag, flagNames());
  return near
    ? `no key is read from the flag '${flag}'; did you mean ${near}?`
    : `the flag '${flag}' says nothing about the layout: no key is read from it`;
}

/** A name as a flag: configurations write `n_samples_per_prompt` for `--n-samples-per-prompt`. Null where it can be none. */
const asFlag = (name: string): string | null => {
  if (DOTTED.test(name)) {
    return name;
  }
  const flag = FLAG.test(name) ? name : `--${name.replaceAll('_', '-')}`;
  return FLAG.test(flag) ? flag : null;
};

const flagOf = (name: string): string => name.split('=', 1)[0] ?? name;

/** An option of a configuration by its path, as Hydra's overrides have it: `trainer.nnodes`, with or without a value. */
const DOTTED = /^\+{0,2}[a-z]\w*(?:\.\w+)+(?:=.*)?$/i;

/**
 * Commands that take an option, which stands on their second line: a flag of torchrun, Megatron-LM, slime or torchtitan, or an
 * override of verl or NeMo-RL with each of their engines.
 */
function commandsWith(option: string): string[] {
  if (!DOTTED.test(option)) {
    return [
      `torchrun --nproc-per-node 8 \\\n${option} 1 pretrain_gpt.py`,
      `torchrun --nproc-per-node 8 pretrain_gpt.py \\\n${option} 1`,
      `python3 train.py --actor-num-nodes 1 --colocate \\\n${option} 1`,
      `torchrun --nproc-per-node 8 -m torchtitan.train \\\n${option} 1`,
    ];
  }
  const nemo = (engine: string) => `python run_grpo.py policy.${engine}.enabled=true value.${engine}.enabled=true`;
  const starts = [
    ...['fsdp', 'megatron'].map(
      (engine) =>
        `python3 -m verl.trainer.main_ppo critic.enable=True critic.strategy=${engine} actor_rollout_ref.actor.strategy=${engine}`,
    ),
    ...['megatron_cfg', 'dtensor_cfg'].map(nemo),
    `${nemo('megatron_cfg')} policy.generation.backend=sglang`,
    `${nemo('megatron_cfg')} policy.generation.colocated.enabled=false cluster.num_nodes=4 cluster.gpus_per_node=8 policy.generation.colocated.resources.num_nodes=1 policy.generation.colocated.resources.gpus_per_node=8`,
  ];
  return starts.flatMap((start) => ['1', 'true', 'vllm'].map((value) => `${start} \\\n${option}=${value}`));
}

/** The keys that `import` reads from an option: `--fp16` sets `model.params_dtype`. */
function keysOfOption(name: string): string[] {
  const values = commandsWith(flagOf(name)).flatMap(
    (command) => readLaunchFile('launch.sh', `${command}\n`, () => null).values,
  );
  const read = values.flatMap(({ key, value, source }) =>
    typeof source !== 'string' && source.line === 2 && value !== null ? [key] : [],
  );
  return [...new Set<string>(read)];
}

/** The page of a key; an option of a configuration is told the whole path of the key, as it says no section of a layout. */
function pageOf(key: string, option: string): string | null {
  const markdown = keyMarkdown(key);
  return markdown !== null && DOTTED.test(option)
    ? `\`${option}\` is \`${key}\` of a layout.\n\n${markdown}`
    : markdown;
}

/** The pages of a name: some are both a key and a process group, as the key `tp` sets the size of the groups `tp`. */
function pagesOf(name: string): Page[] {
  const rule = ruleOf(name);
  if (rule) {
    return [{ ...ruleData(rule), markdown: ruleMarkdown(rule) }];
  }
  const group = groupMarkdown(name);
  const key = keyMarkdown(name);
  const flag = asFlag(name);
  const keys =
    key === null && group === null && flag !== null
      ? keysOfOption(flag).map((one) => pageOf(one, flagOf(flag)))
      : [key];
  return [
    ...keys.flatMap((markdown) => (markdown === null ? [] : [{ kind: 'key' as const, name, markdown }])),
    ...(name === 'gpu' || name === 'cluster.gpu' ? [{ kind: 'gpus' as const, name, markdown: gpusMarkdown() }] : []),
    ...(group === null ? [] : [{ kind: 'group' as const, name, markdown: group }]),
  ];
}
