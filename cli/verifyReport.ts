import type { Log, Result } from 'sarif';
import { groupsText, VERDICT_TITLES, type Verification, verificationSections } from '../jobs';
import { terminalLine } from '../layout';
import { styled } from './output';
import { uriOf } from './sarif';

/** The most items that a section of the text lists. */
const MAX_ITEMS = 12;

/** A verification as plain text. */
export function* verificationText(found: Verification): Iterable<string> {
  const colour = found.verdict === 'healthy' ? 'green' : 'red';
  yield `${styled(['bold', colour], VERDICT_TITLES[found.verdict])}\n`;
  for (const sentence of found.why) {
    yield `  ${terminalLine(sentence)}\n`;
  }
  for (const { title, items } of verificationSections(found, (line) => `${found.layout}:${line}: `)) {
    yield `\n${styled('bold', terminalLine(title))}\n`;
    for (const { subject = '', label = '', text, details = [] } of items.slice(0, MAX_ITEMS)) {
      yield `  ${styled(['bold', 'red'], subject)}${terminalLine(label + text)}\n`;
      yield* details.map((detail) => `    ${terminalLine(detail)}\n`);
    }
    yield items.length > MAX_ITEMS ? `  and ${items.length - MAX_ITEMS} more\n` : '';
  }
}

/** A SARIF 2.1.0 log: differences on the layout's lines, ranks at fault on the layout. */
export function verificationSarif(found: Verification): Log {
  const at = (line: number) => [
    { physicalLocation: { artifactLocation: { uri: uriOf(found.layout) }, region: { startLine: line } } },
  ];
  const results: Result[] = [
    ...found.groups.different.map(({ name, cause, line, actual }) => ({
      ruleId: 'run/groups',
      level: 'error' as const,
      message: {
        text: `The run's ${name} groups are ${groupsText(actual)}.${cause === null ? '' : ` These are the groups of ${cause}.`}`,
      },
      locations: at(line ?? 1),
    })),
    ...found.culprits.map(({ rank, because }) => ({
      ruleId: `run/${found.verdict}`,
      level: 'error' as const,
      message: { text: [`Rank ${rank}.`, ...because].join(' ') },
      locations: at(1),
    })),
    ...(found.verdict === 'unknown'
      ? [
          {
            ruleId: 'run/unknown',
            level: 'warning' as const,
            message: { text: ['The files do not show the state of the run.', ...found.why].join(' ') },
            locations: at(1),
          },
        ]
      : []),
  ];
  return {
    version: '2.1.0',
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    runs: [{ tool: { driver: { name: 'parallelism-layout' } }, columnKind: 'utf16CodeUnits', results }],
  };
}
