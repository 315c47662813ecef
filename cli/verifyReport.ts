import type { Log, Result } from 'sarif';
import {
  type Culprit,
  culpritPlace,
  differenceText,
  type ExplainedDifference,
  groupsText,
  VERDICT_TITLES,
  type Verification,
  type Victim,
} from '../jobs';
import { countOf, terminalLine } from '../layout';
import { styled } from './output';
import { uriOf } from './sarif';

/** How many lines of one kind the text shows. */
const MAX_LINES = 12;

/** A verification as a person reads it. */
export function* verificationText(found: Verification): Iterable<string> {
  yield `${styled(['bold', found.verdict === 'healthy' ? 'green' : 'red'], VERDICT_TITLES[found.verdict])}\n`;
  for (const sentence of found.why) {
    yield `  ${terminalLine(sentence)}\n`;
  }
  yield* limited(found.culprits.map(culpritText), 'culprit');
  if (found.mismatch) {
    const { group, seq, what, by_rank } = found.mismatch;
    yield `\n${styled('bold', `Mismatch of ${what}`)} in ${terminalLine(group)} #${seq}:\n`;
    yield* limited(
      Object.entries(by_rank).map(([rank, did]) => `  rank ${rank}: ${terminalLine(did)}\n`),
      'rank',
    );
  }
  if (found.victims.length > 0) {
    yield `\n${styled('bold', countOf(found.victims.length, 'rank'))} waiting:\n`;
    yield* limited(found.victims.map(victimText), 'rank');
  }
  yield* groupsLines(found);
  yield* sourcesText(found);
}

function culpritText(culprit: Culprit): string {
  const { rank, confidence, because } = culprit;
  const place = culpritPlace(culprit);
  const head = `\n${styled(['bold', 'red'], `rank ${rank}`)}${place === '' ? '' : ` (${terminalLine(place)})`}, confidence ${Math.round(confidence * 100)} %\n`;
  return head + because.map((sentence) => `  ${terminalLine(sentence)}\n`).join('');
}

function victimText({ rank, waits_for, group, op, seq }: Victim): string {
  return `  rank ${rank} in ${terminalLine(`${group} ${op}`)} #${seq} for ${waits_for.slice(0, MAX_LINES).join(', ') || 'nobody'}\n`;
}

function* groupsLines({ layout, groups }: Verification): Iterable<string> {
  yield `\n${countOf(groups.equal, 'group')} as in ${terminalLine(layout)}`;
  yield groups.not_seen.length > 0 ? `; not seen: ${terminalLine(groups.not_seen.join(', '))}\n` : '\n';
  yield* limited(
    groups.different.map((one) => differenceLine(one, layout)),
    'name',
  );
  yield* limited(
    groups.unexpected.map(
      ({ name, groups: lists }) => `  not in the layout: ${terminalLine(name)} ${groupsText(lists)}\n`,
    ),
    'name',
  );
}

function differenceLine(different: ExplainedDifference, layout: string): string {
  const { cause, line } = different;
  const at = line === null ? '' : `${layout}:${line}: `;
  const because = cause === null ? '' : `    These are the groups of ${terminalLine(cause)}.\n`;
  return `  ${terminalLine(at + differenceText(different))}\n${because}`;
}

function* sourcesText({ sources }: Verification): Iterable<string> {
  const used = sources.filter(({ kind }) => kind !== 'other');
  yield `\n${countOf(used.length, 'file')} read${sources.length > used.length ? `, ${sources.length - used.length} left out` : ''}\n`;
  yield* limited(
    used.filter(({ note }) => note !== '').map(({ file, note }) => `  ${terminalLine(file)}: ${terminalLine(note)}\n`),
    'file',
  );
}

/** The first lines, and how many more there are. */
function* limited(lines: readonly string[], noun: string): Iterable<string> {
  yield* lines.slice(0, MAX_LINES);
  if (lines.length > MAX_LINES) {
    yield `  and ${countOf(lines.length - MAX_LINES, noun)} more\n`;
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
            message: { text: ['The files do not tell.', ...found.why].join(' ') },
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
