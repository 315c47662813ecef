import type { Rule } from './rule';

const HOME = 'https://github.com/parallelism-layout/parallelism-layout/blob/main/';

const SEVERITIES = {
  error: 'error: Megatron-LM raises, hangs or trains wrongly',
  warning: 'warning: it runs, but slowly or not as the author thinks',
  information: 'information: a fact worth knowing',
} as const;

/** The address of a page of the project, which is given relative to its root. */
export function projectUrl(page: string): string {
  return HOME + page;
}

/** The page that explains a rule, relative to the root of the project. */
export function rulePage(code: string): string {
  return `docs/rules/${code}.md`;
}

/** The address of the page that explains a rule. */
export function rulePageUrl(code: string): string {
  return projectUrl(rulePage(code));
}

/** The page of a rule as Markdown: the one source of `docs/rules/` and of `parallelism-layout explain`. */
export function ruleMarkdown({ code, title, severity, what, why, failing, passing, source }: Rule): string {
  return `# ${code}

**${title}** (${SEVERITIES[severity]})

${what}

## Why

${why}

## A file that fails

\`\`\`yaml
${failing.trimEnd()}
\`\`\`

## A file that passes

\`\`\`yaml
${passing.trimEnd()}
\`\`\`

## Source

${source}
`;
}

/** The index of all rules as Markdown. */
export function rulesMarkdown(rules: readonly Rule[]): string {
  const rows = rules.map(({ code, severity, title }) => `| [\`${code}\`](${code}.md) | ${severity} | ${title} |`);
  return `# Rules

What the checker says, and why. Each page is built from the description beside the rule's code in \`layout/rules/\`.

| code | severity | fires when |
| --- | --- | --- |
${rows.join('\n')}
`;
}
