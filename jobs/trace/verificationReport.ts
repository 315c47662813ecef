import { countOf, markdownCode, markdownText } from '../../layout';
import type { Culprit, ExplainedDifference, SourceFile, Verdict, Verification } from './verification';

/** How many lines of one kind a report has. */
const MAX_LINES = 200;

/** Each verdict in one line. */
export const VERDICT_TITLES: Readonly<Record<Verdict, string>> = {
  healthy: 'healthy: the groups are those of the layout, and nobody waits for a rank that does not come',
  'wrong-groups': 'wrong groups: the job runs with other process groups than the layout has',
  hang: 'hang: others wait for a rank that is alive and does not come',
  mismatch: 'mismatch: ranks of one group do not do the same thing',
  lost: 'lost: others wait for a rank whose process seems to be gone',
  unknown: 'unknown: the files do not tell',
};

/** Where a culprit runs: its coordinates, and its host and GPU where a file tells. */
export function culpritPlace({ coordinates, host, gpu }: Culprit): string {
  return [
    ...Object.entries(coordinates).map(([name, index]) => `${name} ${index}`),
    ...(host === null ? [] : [`host ${host}`]),
    ...(gpu === null ? [] : [`GPU ${gpu}`]),
  ].join(', ');
}

/** How the groups of one name differ from the layout's, in one line. */
export function differenceText({ name, expected, actual }: ExplainedDifference): string {
  return `${name} should be ${groupsText(expected)}, but is ${groupsText(actual)}.`;
}

/** The first groups of a list, and the first ranks of each. */
export function groupsText(groups: readonly (readonly number[])[]): string {
  return groups.slice(0, 4).map(ranksText).join(' ');
}

function ranksText(ranks: readonly number[]): string {
  return `[${ranks.slice(0, 16).join(', ')}${ranks.length > 16 ? ', ...' : ''}]`;
}

/**
 * A verification in Markdown, made to be pasted into a ticket. Lists are cut at 200 lines.
 * @param name what the layout is called
 */
export function verificationReport(found: Verification, name: string): string {
  const { verdict, why, culprits, mismatch, victims, groups, sources } = found;
  const used = sources.filter(({ kind }) => kind !== 'other');
  const sections = [
    [`# Run of ${markdownText(name)}`, '', `**${markdownText(VERDICT_TITLES[verdict])}**`],
    why.map((sentence) => `- ${markdownText(sentence)}`),
    section('Culprits', culprits.flatMap(culpritLines)),
    mismatch &&
      section(
        `Mismatch of ${mismatch.what} in ${markdownText(mismatch.group)} #${mismatch.seq}`,
        Object.entries(mismatch.by_rank).map(([rank, did]) => `- rank ${markdownText(rank)}: ${markdownText(did)}`),
      ),
    section(
      `${countOf(victims.length, 'rank')} waiting`,
      victims.map(
        ({ rank, group, op, seq, waits_for }) =>
          `- rank ${rank} in ${markdownText(`${group} ${op}`)} #${seq} for ${waits_for.slice(0, 16).join(', ') || 'nobody'}`,
      ),
    ),
    section('Groups', [
      `- ${countOf(groups.equal, 'group')} as in the layout`,
      ...groups.different.map(differenceLine),
      ...groups.unexpected.map(
        (one) => `- not in the layout: ${markdownText(`${one.name} ${groupsText(one.groups)}`)}`,
      ),
      ...(groups.not_seen.length > 0 ? [`- not seen: ${markdownText(groups.not_seen.join(', '))}`] : []),
    ]),
    section('Sources', used.map(sourceLine)),
  ];
  return `${sections
    .filter((lines) => lines !== null && lines.length > 0)
    .map((lines) => lines?.join('\n'))
    .join('\n\n')}\n`;
}

function culpritLines(culprit: Culprit): string[] {
  const place = culpritPlace(culprit);
  const where = place === '' ? '' : ` (${markdownText(place)})`;
  return [
    `- **rank ${culprit.rank}**${where}, confidence ${Math.round(culprit.confidence * 100)} %`,
    ...culprit.because.map((sentence) => `  - ${markdownText(sentence)}`),
  ];
}

function differenceLine(different: ExplainedDifference): string {
  const { cause, line } = different;
  const because = cause === null ? '' : ` These are the groups of ${cause}.`;
  return `- ${line === null ? '' : `line ${line}: `}${markdownText(differenceText(different) + because)}`;
}

function sourceLine({ file, kind, note }: SourceFile): string {
  return `- ${markdownCode(file)}: ${kind}${note === '' ? '' : `; ${markdownText(note)}`}`;
}

/** A section with its first lines; nothing where it has none. */
function section(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) {
    return [];
  }
  const left = lines.length - MAX_LINES;
  return [
    `## ${title}`,
    '',
    ...lines.slice(0, MAX_LINES),
    ...(left > 0 ? [`- and ${countOf(left, 'line')} more`] : []),
  ];
}
