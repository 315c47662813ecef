import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import { suggestion } from '../fixes';
import { either } from '../numbers';
import { job, type Report, type Rule } from '../rule';

export const nameDisagrees: Rule = {
  code: 'name-disagrees',
  severity: 'information',
  title: 'The name says other degrees than the file',
  effect: 'the name misleads readers of jobs, logs and checkpoints',
  what: '`name` contains a degree such as `tp8` or `pp4` that no grid of the file has.',
  why: 'Names appear in job names, logs and checkpoints. Mostly a file was copied, and only one of the two was changed.',
  failing: job(16, 'tp: 2, pp: 2', 'name: llama-tp4-dp4'),
  *check(facts) {
    const claims = claimsOf(facts);
    const grids = claims.length > 0 ? facts.modules.map(degreesOf) : [];
    const sizes = new Map(DEGREES.map((degree) => [degree, new Set(grids.map((grid) => grid[degree]))]));
    for (const claim of claims) {
      yield* claimReport(claim, sizes.get(claim.degree) ?? new Set());
    }
  },
};

/** The degrees that a name may write. */
const DEGREES = ['tp', 'pp', 'cp', 'ep', 'dp', 'etp'] as const;
type Degree = (typeof DEGREES)[number];

/** A degree in the name: `tp8`, where it stands, and the number. */
interface Claim {
  readonly degree: Degree;
  readonly size: number;
  readonly start: number;
  readonly end: number;
  readonly numberStart: number;
}

/** The degrees that the name writes; a letter in front makes it another word (`http2`). */
function claimsOf({ text, root }: LayoutFacts): Claim[] {
  const { written, span } = root.name;
  if (!written) {
    return [];
  }
  const found = text.slice(span.start, span.end).matchAll(/(?<![a-z])(tp|pp|cp|ep|dp|etp)(\d{1,7})(?!\d)/gi);
  return [...found].map(({ index, 0: all, 1: degree = '', 2: size = '' }) => ({
    degree: degree.toLowerCase() as Degree,
    size: Number(size),
    start: span.start + index,
    end: span.start + index + all.length,
    numberStart: span.start + index + degree.length,
  }));
}

/** The degrees of a grid by the words of names; undefined where one is not known. */
const degreesOf = ({ degrees, dp, expertModel }: ModuleFacts): Readonly<Record<Degree, number | undefined>> => ({
  tp: degrees?.tp,
  pp: degrees?.pp,
  cp: degrees?.cp,
  ep: expertModel && degrees?.ep,
  dp,
  etp: expertModel && degrees?.exptTp,
});

function* claimReport(
  { degree, size, start, end, numberStart }: Claim,
  sizes: ReadonlySet<number | undefined>,
): Iterable<Report> {
  if (sizes.size === 0 || sizes.has(undefined) || sizes.has(size)) {
    return;
  }
  const actual = [...sizes].filter((one) => one !== undefined);
  yield {
    message: `The name says ${degree}${size}, but ${degree} is ${either(actual)}. Change the name or the degree.`,
    span: { start, end },
    fixes: actual
      .slice(0, 3)
      .map((one) =>
        suggestion(`Write ${degree}${one} in the name`, [{ span: { start: numberStart, end }, newText: String(one) }]),
      ),
  };
}
