import { countOf, gibibytes, grouped, type MeasuredRun, markdownText } from '../../layout';
import { milliseconds } from './texts';
import type { Culprit, ExplainedDifference, ProfiledRun, SlowRank, Verdict, Verification } from './verification';

/** The most items that a section of the Markdown report lists. */
const MAX_ITEMS = 200;

/** Each verdict in one line. */
export const VERDICT_TITLES: Readonly<Record<Verdict, string>> = {
  healthy: 'healthy: the groups are those of the layout, and no rank blocks another',
  'wrong-groups': 'wrong groups: the job runs with other process groups than the layout has',
  hang: 'hang: ranks wait for a rank that has not come',
  mismatch: 'mismatch: ranks of one group do not do the same thing',
  lost: 'lost: ranks wait for a rank whose process seems to be gone',
  unknown: 'unknown: the files do not show the state of the run',
};

/** How the groups of one name differ from the layout's, in one line. */
export function differenceText({ name, expected, actual }: ExplainedDifference): string {
  return `${name} should be ${groupsText(expected)}, but is ${groupsText(actual)}.`;
}

/** The first groups of a list, and the first ranks of each. */
export function groupsText(groups: readonly (readonly number[])[]): string {
  return groups
    .slice(0, 4)
    .map((ranks) => `[${ranks.slice(0, 16).join(', ')}${ranks.length > 16 ? ', ...' : ''}]`)
    .join(' ');
}

/** One line of a report, with lines below it. */
export interface ReportItem {
  /** The emphasized beginning. */
  readonly subject?: string;
  /** A beginning that holds no text of a file, such as `line 3: `. */
  readonly label?: string;
  readonly text: string;
  readonly details?: readonly string[];
}

/** A titled list of a report. */
export interface ReportSection {
  readonly title: string;
  readonly items: readonly ReportItem[];
}

/**
 * The sections of a report that have items. Texts are plain: the writer escapes them.
 * @param placeOf the label of a line of the layout, from 1
 */
export function verificationSections(
  { culprits, mismatch, victims, groups, sources, measured, profiled, slow }: Verification,
  placeOf = (line: number) => `line ${line}: `,
): ReportSection[] {
  const { ranks = [], steps = 0 } = profiled ?? {};
  const span = `${countOf(ranks.length, 'rank')}, ${steps === 0 ? 'the whole profile' : countOf(steps, 'step')}`;
  const used = sources.filter(({ kind }) => kind !== 'other');
  const sections = [
    { title: 'Culprits', items: culprits.map(culpritItem) },
    {
      title: mismatch ? `Mismatch of ${mismatch.what} in ${mismatch.group} #${mismatch.seq}` : '',
      items: Object.entries(mismatch?.by_rank ?? {}).map(([rank, did]) => ({ label: `rank ${rank}: `, text: did })),
    },
    {
      title: `${countOf(victims.length, 'rank')} waiting`,
      items: victims.map(({ rank, group, op, seq, waits_for }) => ({
        text: `rank ${rank} in ${group} ${op} #${seq} for ${waits_for.slice(0, 16).join(', ') || 'nobody'}`,
      })),
    },
    {
      title: 'Groups',
      items: [
        { text: `${countOf(groups.equal, 'group')} as in the layout` },
        ...groups.different.map((different) => differenceItem(different, placeOf)),
        ...groups.unexpected.map((one) => ({
          label: 'not in the layout: ',
          text: `${one.name} ${groupsText(one.groups)}`,
        })),
        ...(groups.not_seen.length > 0 ? [{ label: 'not seen: ', text: groups.not_seen.join(', ') }] : []),
      ],
    },
    { title: 'Slow ranks', items: slow.map(slowItem) },
    {
      title: `Where the time goes (${span})`,
      items: profiled ? profiledItems(profiled) : [],
    },
    {
      title: measured ? `Speed and memory (${measured.framework})` : '',
      items: measured ? measuredItems(measured) : [],
    },
    {
      title: `${countOf(used.length, 'file')} read, ${sources.length - used.length} skipped`,
      // files with a note first: long lists are cut
      items: [...used]
        .sort((a, b) => Number(a.note === '') - Number(b.note === ''))
        .map(({ file, kind, note }) => ({ text: `${file} (${kind}${note === '' ? '' : `; ${note}`})` })),
    },
  ];
  return sections.filter(({ items }) => items.length > 0);
}

function culpritItem({ rank, coordinates, host, gpu, pid, confidence, because }: Culprit): ReportItem {
  const place = placeText({ ...coordinates, host, GPU: gpu, pid });
  return { subject: `rank ${rank}`, text: `${place}, confidence ${Math.round(confidence * 100)} %`, details: because };
}

function slowItem({ rank, coordinates, part, ratio, because }: SlowRank): ReportItem {
  const text = `${placeText(coordinates)}, ${part}: ${Math.round((ratio - 1) * 100)} % longer`;
  return { subject: `rank ${rank}`, text, details: [because] };
}

/** ` (tp 1, host node3)`: what is known of a place; empty where nothing is. */
function placeText(place: Readonly<Record<string, number | string | null>>): string {
  const known = Object.entries(place).flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`]));
  return known.length === 0 ? '' : ` (${known.join(', ')})`;
}

function profiledItems({ ranks, kinds, why }: ProfiledRun): ReportItem[] {
  const least = [...ranks].sort((a, b) => a.waiting_s - b.waiting_s);
  return [
    ...kinds.slice(0, MAX_MEASURED).map(({ name, time_s, waiting_s, hidden_s, hideable_s, bus_gb_s }) => ({
      text: [
        `${name}: ${milliseconds(time_s)} of a step`,
        ...(waiting_s < LEAST_TIME ? [] : [`${milliseconds(waiting_s)} of them waiting for another rank`]),
        ...(hideable_s < LEAST_TIME
          ? []
          : [`${milliseconds(hidden_s)} beside other work, which could be ${milliseconds(hideable_s)}`]),
        ...(bus_gb_s === null ? [] : [`${bus_gb_s.toFixed(1)} GB/s on the bus while all take part`]),
      ].join(', '),
    })),
    ...least.slice(0, MAX_MEASURED).map(({ rank, step_s, waiting_s }) => ({
      text: `rank ${rank} waits ${milliseconds(waiting_s)} of ${milliseconds(step_s)}`,
    })),
    ...(least.length > MAX_MEASURED ? [{ text: `and ${countOf(least.length - MAX_MEASURED, 'more rank')}` }] : []),
    ...why.map((sentence) => ({ text: sentence })),
  ];
}

/** Times below this are not listed. Seconds. */
const LEAST_TIME = 5e-5;

/** The most ranks and parts of a step that are listed. */
const MAX_MEASURED = 8;

function measuredItems({
  steps,
  first_step,
  last_step,
  step_time_s,
  tokens_per_s,
  tokens_per_s_per_gpu,
  tflops_per_gpu,
  memory_bytes_peak,
  parts,
}: MeasuredRun): ReportItem[] {
  const range = first_step === null || last_step === null ? '' : `, ${first_step} to ${last_step}`;
  const rate = [
    ...(step_time_s === null ? [] : [`${seconds(step_time_s)} a step`]),
    ...(tokens_per_s === null ? [] : [`${grouped(Math.round(tokens_per_s))} tokens/s`]),
    ...(tokens_per_s_per_gpu === null ? [] : [`${grouped(Math.round(tokens_per_s_per_gpu))} tokens/s a GPU`]),
    ...(tflops_per_gpu === null ? [] : [`${tflops_per_gpu.toFixed(1)} TFLOP/s a GPU`]),
  ];
  const largest = [...memory_bytes_peak].sort((a, b) => peakOf(b) - peakOf(a));
  return [
    ...(steps === 0 ? [] : [{ text: `${rate.join(', ')} (the median of ${countOf(steps, 'step')}${range})` }]),
    ...largest.slice(0, MAX_MEASURED).map(({ rank, allocated, reserved }) => ({
      label: rank === null ? 'peak memory: ' : `peak memory of rank ${rank}: `,
      text: [
        ...(reserved === null ? [] : [`${gibibytes(reserved)} GiB reserved`]),
        ...(allocated === null ? [] : [`${gibibytes(allocated)} GiB allocated`]),
      ].join(', '),
    })),
    ...(largest.length > MAX_MEASURED ? [{ text: `and ${countOf(largest.length - MAX_MEASURED, 'more rank')}` }] : []),
    ...parts.slice(0, MAX_MEASURED).map(({ name, min_s, max_s }) => ({
      text: `${name}: ${min_s === max_s ? seconds(max_s) : `${seconds(min_s)} to ${seconds(max_s)}`}`,
    })),
  ];
}

function peakOf({ allocated, reserved }: MeasuredRun['memory_bytes_peak'][number]): number {
  return reserved ?? allocated ?? 0;
}

/** `812.5 ms`, `2.10 s`. */
function seconds(value: number): string {
  return value < 1 ? `${(value * 1000).toFixed(1)} ms` : `${value.toFixed(2)} s`;
}

function differenceItem(different: ExplainedDifference, placeOf: (line: number) => string): ReportItem {
  const { cause, line } = different;
  return {
    label: line === null ? '' : placeOf(line),
    text: differenceText(different),
    ...(cause !== null && { details: [`These are the groups of ${cause}.`] }),
  };
}

/**
 * A verification in Markdown, for a ticket. Each list is cut at 200 items.
 * @param name the name of the layout
 */
export function verificationReport(found: Verification, name: string): string {
  const item = ({ subject, label = '', text, details = [] }: ReportItem) => [
    `- ${subject === undefined ? '' : `**${markdownText(subject)}**`}${label}${markdownText(text)}`,
    ...details.map((detail) => `  - ${markdownText(detail)}`),
  ];
  const blocks = [
    [`# Run of ${markdownText(name)}`, '', `**${markdownText(VERDICT_TITLES[found.verdict])}**`],
    found.why.map((sentence) => `- ${markdownText(sentence)}`),
    ...verificationSections(found).map(({ title, items }) => [
      `## ${markdownText(title)}`,
      '',
      ...items.slice(0, MAX_ITEMS).flatMap(item),
      ...(items.length > MAX_ITEMS ? [`- and ${items.length - MAX_ITEMS} more`] : []),
    ]),
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}
