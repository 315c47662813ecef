import { countOf, type ResolvedLayout } from '../layout';
import { rankList } from './facts';
import { type Headline, subject } from './headline';
import { PASSED_VERDICT, type SmokeOutcome } from './smokeOutcome';

/** A link is called slow when it has less than this share of the fastest of its kind. */
const SLOW = 0.9;

/** Whether the smoke job passed, and the worst that it found. */
export function smokeHeadline(layout: ResolvedLayout, outcome: SmokeOutcome | null): Headline {
  return { title: outcome ? sentence(outcome) : 'No smoke job has run for this layout yet.', sub: subject(layout) };
}

function sentence(outcome: SmokeOutcome): string {
  const { verdict } = outcome.message;
  const families = outcome.outcomes();
  if (verdict !== PASSED_VERDICT) {
    const failed = families.find(({ counts }) => counts[2] > 0);
    const index = failed?.open[0];
    const where =
      failed && index !== undefined
        ? `; ${failed.family.name} group ${index} (ranks ${rankList(failed.family.ranks(index), 4)})`
        : '';
    const suspects = [...outcome.suspects];
    const fault =
      suspects.length > 0 ? `; at fault: ${suspects.length === 1 ? 'rank' : 'ranks'} ${rankList(suspects, 4)}` : '';
    return `Smoke job: ${verdict.replaceAll('_', ' ')}${where}${fault}.`;
  }
  const groups = families.reduce((sum, { family }) => sum + family.count, 0);
  const worst = families
    .flatMap(({ family, slowest, fastest }) =>
      slowest && fastest ? [{ family, slowest, share: slowest.busGBs / fastest }] : [],
    )
    .sort((a, b) => a.share - b.share)[0];
  const slow =
    worst && worst.share < SLOW
      ? `; the slowest link is ${worst.family.name} group ${worst.slowest.index} at ${worst.slowest.busGBs.toPrecision(3)} GB/s, ${Math.round(100 * worst.share)} % of the fastest`
      : '';
  return `Smoke job: passed, ${countOf(groups, 'process group')}${slow}.`;
}
