// How right `verify` is: `npm run bench:verdicts`. First on random simulated runs with planted faults (RUNS and SEED say how many, and
// from which seed; SHOW lists those of some grades), then on dumps of real NCCL jobs beside torch's own analyzer.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importSource } from '../scripts/source.mts';

const { gradedRun, randomRun } = await importSource('test/harness/randomRun.ts');

const RUNS = Number(process.env.RUNS ?? 2000);
const SEED = Number(process.env.SEED ?? 1);
const SHOWN = new Set((process.env.SHOW ?? 'confident-wrong').split(','));
const GRADES = ['right', 'among', 'unknown', 'wrong', 'confident-wrong'];

const folder = mkdtempSync(join(tmpdir(), 'verdicts-'));
const table = new Map();
const count = (row, grade) => {
  const counts = table.get(row) ?? new Map();
  table.set(row, counts);
  counts.set(grade, (counts.get(grade) ?? 0) + 1);
};
for (let seed = SEED; seed < SEED + RUNS; seed++) {
  const random = randomRun(seed);
  const { grade, hung, found } = gradedRun(random, folder);
  const whole = random.missing.length === 0 && random.cut.size === 0 && !random.run.moments;
  const kinds = random.run.faults.map(({ kind }) => kind);
  const row = kinds.length > 1 ? 'two faults' : (kinds[0] ?? 'none');
  count(hung ? 'all that hang' : 'all that go on', grade);
  count(`${hung ? 'hang' : 'go on'}, ${whole ? 'all dumps' : 'dumps lost or early'}`, grade);
  count(`${hung ? 'hang' : 'go on'}: ${row}`, grade);
  if (SHOWN.has(grade)) {
    const faults = random.run.faults.map(
      (one) => `${one.kind} rank ${one.rank} ${one.at}${one.on ? `>${one.on}` : ''} step ${one.step} nth ${one.nth}`,
    );
    console.log(
      `${seed} ${grade}${hung ? '' : ' (goes on)'}: ${random.world} {${random.parallelism}} ${faults.join('; ') || 'no fault'}; missing ${random.missing}; cut ${[...random.cut.keys()]}; early ${[...(random.run.moments?.keys() ?? [])]}; ring ${random.run.ring ?? '-'} ${random.run.names ?? ''}${random.run.overlap ? ' overlap' : ''}${random.run.unbatched ? ' unbatched' : ''}${random.log ? ' log' : ''}`,
    );
    console.log(
      `    ${found.verdict}: ${found.culprits.map(({ rank, confidence, because }) => `${rank} (${confidence}) ${because.join(' ')}`).join('\n      ')} ${found.why.join(' ')}`,
    );
  }
}
rmSync(folder, { recursive: true });
console.log(['runs', ...GRADES].map((name, i) => (i === 0 ? name.padEnd(28) : name.padStart(16))).join(''));
for (const [row, counts] of [...table].sort(([a], [b]) => a.localeCompare(b))) {
  console.log(row.padEnd(28) + GRADES.map((grade) => String(counts.get(grade) ?? 0).padStart(16)).join(''));
}

// the same dumps of real NCCL jobs, and what tools/flight/torchfrtrace.py has recorded of torch's own analyzer
const { GIVEN, SHARED, verifiedRun } = await importSource('test/harness/realRuns.ts');
const recorded = JSON.parse(readFileSync('bench/torchfrtrace.json', 'utf8'));

/** The ranks that torchfrtrace names first: those that it calls culprits or missing in the first collective that it complains of. */
function namedBy({ plain, incomplete }) {
  const { exit, says, cut } = plain.exit === 0 ? plain : incomplete;
  const line = says.find((one) => /Culprit rank|missing ranks/.test(one)) ?? '';
  const ranks = [...line.matchAll(/Culprit rank (\d+)/g)].map(([, rank]) => rank);
  const missing = /missing ranks: \{([\d, ]*)\}/.exec(line)?.[1]?.split(', ') ?? [];
  const refused = plain.exit === 0 ? '' : ' (only with --allow-incomplete-ranks)';
  return {
    ranks: (ranks.length > 0 ? ranks : missing).map(Number).sort((a, b) => a - b),
    note: cut ? ' (the beginning was not recorded)' : exit === 0 ? refused : ' (fails)',
  };
}

const list = (ranks) => (ranks.length > 0 ? ranks.join() : 'none');
const rows = [
  ...Object.entries(GIVEN).map(([name, one]) => [name, `flight/${name}`, one]),
  ...Object.entries(SHARED).map(([name, one]) => [`shared-gpu/${name}`, `shared-gpu/${name}`, one]),
];
const right = { files: 0, dumps: 0, theirs: 0 };
const isRight = ({ verdict, culprits }, truth) =>
  verdict === truth.verdict && list(culprits.map(({ rank }) => rank).sort((a, b) => a - b)) === list(truth.planted);
console.log(
  `\nreal NCCL jobs: planted, verify (all files), verify (dumps alone), torchfrtrace of torch ${recorded.torch} (dumps alone)`,
);
for (const [folderName, key, [world, parallelism, verdict, planted]] of rows) {
  const dumps = readdirSync(`test/golden/data/flight/${folderName}`).filter((name) =>
    /^(nccl_trace_rank|manual)_\d+$/.test(name),
  );
  const answers = [[''], dumps].map((files) =>
    files.length > 0 ? verifiedRun(folderName, parallelism, files, world) : null,
  );
  const [files, alone] = answers;
  const unknown = { ranks: [], note: dumps.length > 0 ? ' (not recorded)' : ' (no dumps)' };
  const theirs = key in recorded.scenarios ? namedBy(recorded.scenarios[key]) : unknown;
  right.files += files && isRight(files, { verdict, planted }) ? 1 : 0;
  right.dumps += alone && isRight(alone, { verdict, planted }) ? 1 : 0;
  // it knows no layout
  const told = verdict !== 'wrong-groups' && !/fails|no dumps|not recorded/.test(theirs.note);
  right.theirs += told && list(theirs.ranks) === list(planted) ? 1 : 0;
  const [own, lone] = answers.map((one) =>
    one ? `${one.verdict} ${list(one.culprits.map(({ rank }) => rank))}` : 'no dumps',
  );
  console.log(
    `${key.padEnd(38)}${list(planted).padEnd(6)}${own.padEnd(20)}${lone.padEnd(20)}${list(theirs.ranks)}${theirs.note}`,
  );
}
console.log(
  `right of ${rows.length}: verify ${right.files}, verify with dumps alone ${right.dumps}, torchfrtrace ${right.theirs}`,
);
