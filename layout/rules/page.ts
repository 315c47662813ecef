import { check } from '../check';
import type { Diagnostic, Fix } from '../diagnostic';
import { applyEdits } from '../format/edit';
import { LineIndex } from '../format/lines';
import { soundFixes } from '../soundFixes';
import { FORMAT_SOURCE, MEGATRON_LM, type Rule } from './rule';

const HOME = 'https://github.com/parallelism-layout/parallelism-layout/blob/main/';

/** The address of a page of the project, which is given relative to its root. */
export function projectUrl(page: string): string {
  return HOME + page;
}

/** The address of the page that explains a rule. */
export function rulePageUrl(code: string): string {
  return projectUrl(`docs/rules/${code}.md`);
}

/** The page of a rule as Markdown: the one source of `docs/rules/` and of `parallelism-layout explain`. */
export function ruleMarkdown(rule: Rule): string {
  const { code, title, severity, what, why, failing, beside } = rule;
  const { effect = `${MEGATRON_LM} stops on every rank`, sources = [FORMAT_SOURCE] } = rule;
  return `# ${code}

**${title}** (${severity}: ${effect})

${what}

## Why

${why}

## A file that fails

\`\`\`yaml
${failing.trimEnd()}
\`\`\`
${beside ? `\nwith \`${beside.file}\`:\n\n\`\`\`sh\n${beside.text.trimEnd()}\n\`\`\`\n` : ''}
\`\`\`text
${printed(rule)}
\`\`\`

## A file that passes

\`\`\`yaml
${passingText(rule).trimEnd()}
\`\`\`
${sources.length > 0 ? `\n## Source\n\n${sources.map((source) => `- ${source}`).join('\n')}\n` : ''}`;
}

/** A file that passes: the rule's own, or the failing file with its likeliest fix. */
export function passingText(rule: Rule): string {
  const [first] = failures(rule);
  return rule.passing ?? applyEdits(rule.failing, first?.fixes[0]?.edits ?? []);
}

/** What the rule reports of its failing file, with the fixes that hold. */
function failures({ code, failing }: Rule): { readonly diagnostic: Diagnostic; readonly fixes: readonly Fix[] }[] {
  const checked = check(failing);
  const own = checked.diagnostics.filter((diagnostic) => diagnostic.code === code);
  const fixes = soundFixes(checked, own);
  return own.map((diagnostic) => ({ diagnostic, fixes: fixes.get(diagnostic) ?? [] }));
}

/** What the checker prints of the failing file. */
function printed(rule: Rule): string {
  if (rule.beside) {
    return rule.beside.said;
  }
  const lines = new LineIndex(rule.failing);
  return failures(rule)
    .flatMap(({ diagnostic, fixes }) => {
      const { line, character } = lines.positionAt(diagnostic.span.start);
      return [
        `${line + 1}:${character + 1}: ${diagnostic.severity}[${rule.code}]: ${diagnostic.message}`,
        ...(diagnostic.predicts ? [`= ${diagnostic.speaker}: ${diagnostic.predicts}`] : []),
        ...diagnostic.related.map(({ message, span }) => `= line ${lines.positionAt(span.start).line + 1}: ${message}`),
        ...fixes.map(({ title }) => `= fix: ${title}`),
      ];
    })
    .join('\n');
}

/** The index of all rules as Markdown. */
export function rulesMarkdown(rules: readonly Rule[]): string {
  const rows = rules.map(({ code, severity, title }) => `| [\`${code}\`](${code}.md) | ${severity} | ${title} |`);
  return `# Rules

What the checker says, and why. Each page is built from the description beside the rule's code in \`layout/rules/\`.

| code | severity | what it reports |
| --- | --- | --- |
${rows.join('\n')}
`;
}
