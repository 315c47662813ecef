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
import { complain, EXIT, exitWith, print } from './output';
import type { OutputItem } from './outputSchemas';

type Format = 'text' | 'json';

const HELP = `
Exit status: 0 explained, 2 no such name, or a flag that says nothing about the layout.

Examples:
  parallelism-layout explain world-gap                       a rule
  parallelism-layout explain --tensor-model-parallel-size    a flag of Megatron-LM
  parallelism-layout explain dp_cp                           a process group
  parallelism-layout explain gpu                             the kinds of GPUs that have figures`;

/** Adds `explain`: the page of a rule, a key or a process group, or the list of all rules. */
export function addExplainCommand(program: Command): void {
  program
    .command('explain')
    .description('explain a rule, a key of the format, a flag of Megatron-LM or a process group')
    .argument('[name]', 'rule code such as world-gap, key, flag or process group; without it, all rules')
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
    complain(FLAG.test(name) ? whyNoFlag(name) : whyNoName(name));
    exitWith(EXIT.unusable);
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
  return `there is no rule, key or process group '${name}'${near ? `; did you mean ${near}?` : ''}`;
}

/** A flag, with or without a value. */
const FLAG = /^--[a-z][\w-]*(?:=.*)?$/i;

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
  const flag = FLAG.test(name) ? name : `--${name.replaceAll('_', '-')}`;
  return FLAG.test(flag) ? flag : null;
};

const flagOf = (name: string): string => name.split('=', 1)[0] ?? name;

/** The keys that `import` reads from a flag of torchrun, of Megatron-LM or of slime: `--fp16` sets `model.params_dtype`. */
function keysOfFlag(name: string): string[] {
  const flag = flagOf(name);
  const commands = [
    `torchrun --nproc-per-node 8 \\\n${flag} 1 pretrain_gpt.py`,
    `torchrun --nproc-per-node 8 pretrain_gpt.py \\\n${flag} 1`,
    `python3 train.py --actor-num-nodes 1 \\\n${flag} 1`,
  ];
  const values = commands.flatMap((command) => readLaunchFile('launch.sh', `${command}\n`, () => null).values);
  const read = values.flatMap(({ key, source }) => (typeof source !== 'string' && source.line === 2 ? [key] : []));
  return [...new Set<string>(read)];
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
  const keys = key === null && group === null && flag !== null ? keysOfFlag(flag).map(keyMarkdown) : [key];
  return [
    ...keys.flatMap((markdown) => (markdown === null ? [] : [{ kind: 'key' as const, name, markdown }])),
    ...(name === 'gpu' || name === 'cluster.gpu' ? [{ kind: 'gpus' as const, name, markdown: gpusMarkdown() }] : []),
    ...(group === null ? [] : [{ kind: 'group' as const, name, markdown: group }]),
  ];
}
