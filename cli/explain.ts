import type { Command } from 'commander';
import {
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
import { formatOption } from './options';
import { complain, EXIT, exitWith, print } from './output';
import type { OutputItem } from './outputSchemas';

type Format = 'text' | 'json';

/** Adds `explain`: the page of a rule, a key or a process group, or the list of all rules. */
export function addExplainCommand(program: Command): void {
  program
    .command('explain')
    .description('explain a rule, a key of the format, a flag of Megatron-LM or a process group')
    .argument('[name]', 'rule code such as world-gap, key, flag or process group; without it, all rules')
    .addOption(formatOption('text', 'json'))
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
    const names = [...RULES.map(({ code }) => code), ...keyNames(), ...groupKindNames()];
    const near = nearest(name, names) ?? names.find((one) => name.length > 2 && one.startsWith(name));
    complain(`there is no rule, key or process group '${name}'${near ? `; did you mean ${near}?` : ''}`);
    exitWith(EXIT.unusable);
  }
  if (format === 'json') {
    yield `${jsonText(pages, 2)}\n`;
  } else {
    yield pages.map(({ markdown }) => markdown).join('\n');
  }
}

/** The pages of a name: some are both a key and a process group, as the key `tp` sets the size of the groups `tp`. */
function pagesOf(name: string): Page[] {
  const rule = ruleOf(name);
  if (rule) {
    return [{ ...ruleData(rule), markdown: ruleMarkdown(rule) }];
  }
  const [key, group] = [keyMarkdown(name), groupMarkdown(name)];
  return [
    ...(key === null ? [] : [{ kind: 'key' as const, name, markdown: key }]),
    ...(name === 'gpu' || name === 'cluster.gpu' ? [{ kind: 'gpus' as const, name, markdown: gpusMarkdown() }] : []),
    ...(group === null ? [] : [{ kind: 'group' as const, name, markdown: group }]),
  ];
}
