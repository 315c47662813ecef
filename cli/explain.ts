import type { Command } from 'commander';
import { nearest, RULES, ruleMarkdown, ruleOf } from '../layout';
import { complain, EXIT, exitWith, print } from './output';

/** Adds `explain`: the page of a rule, or the list of all rules. */
export function addExplainCommand(program: Command): void {
  program
    .command('explain')
    .description('explain a rule: what it says, why, and how a file looks that it passes')
    .argument('[code]', 'code of a rule, such as world-gap; left out: all rules')
    .action((code?: string) => print(explain(code)));
}

function* explain(code: string | undefined): Iterable<string> {
  if (code === undefined) {
    const width = Math.max(...RULES.map((rule) => rule.code.length));
    for (const rule of RULES) {
      yield `${rule.code.padEnd(width)}  ${rule.severity.padEnd(11)}  ${rule.title}\n`;
    }
    return;
  }
  const rule = ruleOf(code);
  if (rule) {
    yield ruleMarkdown(rule);
    return;
  }
  const near = nearest(
    code,
    RULES.map((known) => known.code),
  );
  complain(`there is no rule \`${code}\`${near ? `; did you mean \`${near}\`?` : ''}`);
  exitWith(EXIT.unusable);
}
