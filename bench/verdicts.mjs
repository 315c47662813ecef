// How right `verify` is on random runs with planted faults: `npm run bench:verdicts`. RUNS and SEED say how many, and from which seed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importSource } from '../scripts/source.mjs';

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
