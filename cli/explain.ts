import type { Command } from 'commander';
import { groupMarkdown, groupNames, keyMarkdown, keyNames, nearest, RULES, ruleMarkdown, ruleOf } from '../layout';
import { complain, EXIT, exitWith, print } from './output';

/** Adds `explain`: the page of a rule, a key or a process group, or the list of all rules. */
export function addExplainCommand(program: Command): void {
  program
    .command('explain')
    .description('explain a rule, a key of the format, a flag of Megatron-LM or a process group')
    .argument('[name]', 'code of a rule, such as world-gap; key, flag or process group; left out: list all rules')
    // a flag of Megatron-LM is a name like any other here
    .allowUnknownOption()
    .action((name?: string) => print(explain(name)));
}

function* explain(name: string | undefined): Iterable<string> {
  if (name === undefined) {
    const width = Math.max(...RULES.map((rule) => rule.code.length));
    for (const rule of RULES) {
      yield `${rule.code.padEnd(width)}  ${rule.severity.padEnd(11)}  ${rule.title}\n`;
    }
    return;
  }
  const rule = ruleOf(name);
  // some names are both: the key `tp` sets the size of the process groups `tp`
  const pages = rule ? [ruleMarkdown(rule)] : [keyMarkdown(name), groupMarkdown(name)].filter((page) => page !== null);
  if (pages.length > 0) {
    yield pages.join('\n');
    return;
  }
  const near = nearest(name, [...RULES.map(({ code }) => code), ...keyNames(), ...groupNames()]);
  complain(`there is no rule, key or process group \`${name}\`${near ? `; did you mean \`${near}\`?` : ''}`);
  exitWith(EXIT.unusable);
}
