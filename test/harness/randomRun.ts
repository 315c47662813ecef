import { readFileSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readEvidence, type Verification, verify } from '../../jobs';
import type { ResolvedLayout } from '../../layout';
import { soundLayout } from './layouts';
import { Random } from './random';
import { type PlantedFault, placesOf, type SimulatedRun, simulate, writeDumps } from './simulatedRun';

/** A run of a seed: its layout, its faults, and what is lost of its dumps. */
export interface RandomRun {
  readonly seed: number;
  readonly world: number;
  readonly parallelism: string;
  readonly run: SimulatedRun;
  readonly json: boolean;
  readonly version: string;
  /** Ranks whose dump is not there, and the share of others that is. */
  readonly missing: readonly number[];
  readonly cut: ReadonlyMap<number, number>;
  /** What a launcher printed; empty for no log. */
  readonly log: string;
}

/** How right an answer is; `confident-wrong` blames a rank that is not at fault with 0.7 or more, or calls a hung run healthy. */
type Grade = 'right' | 'among' | 'unknown' | 'wrong' | 'confident-wrong';

/** From which confidence on a wrong answer misleads a person. */
const CONFIDENT = 0.7;

const LAYOUTS: readonly (readonly [number, string])[] = [
  [4, ''],
  [4, 'tp: 2'],
  [8, 'tp: 2'],
  [8, 'tp: 4'],
  [8, 'tp: 8'],
  [2, 'pp: 2'],
  [4, 'pp: 2'],
  [4, 'pp: 4'],
  [8, 'tp: 2, pp: 2'],
  [16, 'tp: 2, pp: 2'],
  [8, 'tp: 2, pp: 4'],
  [16, 'tp: 2, pp: 4'],
  [4, 'tp: 2, cp: 2'],
  [8, 'tp: 2, cp: 2'],
  [8, 'ep: 4'],
  [8, 'pp: 2, ep: 2'],
  [16, 'tp: 2, pp: 2, ep: 2, expt_tp: 2'],
  [16, 'tp: 2, cp: 2, pp: 2, order: tp-cp-ep-pp-dp'],
];

const KINDS: readonly (PlantedFault['kind'] | 'raise')[] = [
  ...(['sleep', 'sleep', 'stop', 'stop', 'raise', 'swap', 'skip', 'twice', 'group'] as const),
  ...(['size', 'long', 'dtype', 'op'] as const),
];

const VERSIONS = ['2.5', '2.6', '2.7', '2.8', '2.9', '2.10'];

/** The run of a seed. */
export function randomRun(seed: number): RandomRun {
  const random = new Random(seed);
  const [world, parallelism] = random.of(LAYOUTS);
  const layout = layoutOf(world, parallelism);
  const base: SimulatedRun = {
    faults: [],
    steps: 3 + random.below(3),
    overlap: random.chance(0.3),
    unbatched: random.chance(0.3),
    ...(random.chance(0.3) ? { microbatches: 2 + random.below(6) } : {}),
    ...(random.chance(0.2) ? { ring: 8 + random.below(50) } : {}),
    ...(random.chance(0.25) ? { names: random.of(['hashes', 'undescribed'] as const) } : {}),
  };
  const kinds = random.chance(0.08)
    ? []
    : random.chance(0.12)
      ? [random.of(KINDS), random.of(KINDS)]
      : [random.of(KINDS)];
  const ranks = shuffled(world, random);
  const planted = kinds.map((kind, i) => ({ ...faultOn(ranks[i] ?? 0, kind, base, layout, random), kind }));
  const raised = planted.filter(({ kind }) => kind === 'raise').map(({ rank }) => rank);
  const faults: PlantedFault[] = planted.map((fault) => ({
    ...fault,
    kind: fault.kind === 'raise' ? 'stop' : fault.kind,
  }));
  const still = { ...base, faults };
  return {
    seed,
    world,
    parallelism,
    run: random.chance(kinds.length === 0 ? 0.5 : 0.1)
      ? { ...still, moments: momentsOf(still, layout, random) }
      : still,
    json: random.chance(0.2),
    version: random.of(VERSIONS),
    ...lossesOf(world, raised.length > 0, random),
    log: raised.length > 0 && random.chance(0.6) ? logOf(raised) : '',
  };
}

function layoutOf(world: number, parallelism: string): ResolvedLayout {
  return soundLayout(textOf(world, parallelism)).resolved;
}

function textOf(world: number, parallelism: string): string {
  return `layout: 1\nworld_size: ${world}\nparallelism: {${parallelism}}\nmodel: {num_experts: 8}\n`;
}

function shuffled(count: number, random: Random): number[] {
  const ranks = Array.from({ length: count }, (_, rank) => rank);
  for (let i = count - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [ranks[i], ranks[j]] = [ranks[j] ?? 0, ranks[i] ?? 0];
  }
  return ranks;
}

function faultOn(
  rank: number,
  kind: PlantedFault['kind'] | 'raise',
  run: SimulatedRun,
  layout: ResolvedLayout,
  random: Random,
): Omit<PlantedFault, 'kind'> {
  const places = placesOf(layout, run, rank);
  const names = [...places.keys()];
  // only collectives have another operation, type or group; a transfer has another size, or is left out
  const collectives = names.filter((name) => name !== 'pp');
  const at = random.of(['group', 'op', 'dtype', 'twice'].includes(kind) ? collectives : names);
  const others = collectives.filter((name) => name !== at);
  return {
    rank,
    step: random.below(run.steps),
    at,
    nth: random.below(places.get(at) ?? 1),
    ...(kind === 'group' ? { on: others.length > 0 ? random.of(others) : at } : {}),
  };
}

/** Dumps from different moments: of all ranks, or of one. */
function momentsOf(run: SimulatedRun, layout: ResolvedLayout, random: Random): ReadonlyMap<number, number> {
  const rounds = simulate(layout, run)[0]?.rounds ?? 1;
  const first = random.below(rounds);
  const spread = 1 + random.below(6);
  return new Map(
    Array.from({ length: layout.worldSize }, (_, rank) => [rank, first + random.below(spread)] as const).filter(
      () => run.faults.length === 0 || random.chance(0.3),
    ),
  );
}

/** What is not there: a rank that raises lets torchrun end others before they dump. */
function lossesOf(world: number, raises: boolean, random: Random): Pick<RandomRun, 'missing' | 'cut'> {
  const share = raises ? random.of([0.2, 0.5, 0.8]) : random.chance(0.35) ? random.of([0.1, 0.3, 0.6]) : 0;
  const only = random.chance(0.06) ? random.below(world) : null;
  const ranks = Array.from({ length: world }, (_, rank) => rank);
  const missing = ranks.filter((rank) => (only === null ? random.chance(share) : rank !== only));
  const cuts = random.chance(0.15) ? 0.3 : 0;
  return { missing, cut: new Map(ranks.filter(() => random.chance(cuts)).map((rank) => [rank, random.next()])) };
}

/** What torchrun prints where ranks end with an exception. */
function logOf(ranks: readonly number[]): string {
  const [first = 0] = ranks;
  return [
    ...ranks.flatMap((rank) => [
      `[rank${rank}]: Traceback (most recent call last):`,
      `[rank${rank}]:   File "train.py", line 3, in <module>`,
      `[rank${rank}]: RuntimeError: planted`,
    ]),
    'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
    'Root Cause (first observed failure):',
    '[0]:',
    '  host      : node0',
    `  rank      : ${first} (local_rank: ${first})`,
    '  exitcode  : 1 (pid: 4711)',
    '',
  ].join('\n');
}

/** What became of a random run: what `verify` says of it, and how right that is. */
export interface Graded {
  readonly grade: Grade;
  /** Whether the run stands still. */
  readonly hung: boolean;
  readonly found: Verification;
}

/** Plays a random run, writes its files into a folder, verifies them there, and removes them. */
export function gradedRun(random: RandomRun, folder: string): Graded {
  const checked = soundLayout(textOf(random.world, random.parallelism));
  const ranks = simulate(checked.resolved, random.run);
  // what happens when all dumps are written is in none of them
  const hung =
    (random.run.moments?.size ?? 0) < random.world &&
    simulate(checked.resolved, { ...random.run, moments: new Map() }).some(({ finished }) => !finished);
  const path = join(folder, String(random.seed));
  writeDumps(path, ranks, { json: random.json, version: random.version, ring: random.run.ring ?? 2000 });
  const fileOf = (rank: number) => join(path, `nccl_trace_rank_${rank}${random.json ? '.json' : ''}`);
  for (const { rank } of ranks.filter(({ dumps }) => dumps)) {
    const share = random.cut.get(rank);
    if (random.missing.includes(rank)) {
      unlinkSync(fileOf(rank));
    } else if (share !== undefined) {
      truncateSync(fileOf(rank), Math.floor(readFileSync(fileOf(rank)).length * share));
    }
  }
  if (random.log !== '') {
    writeFileSync(join(path, 'log.txt'), random.log);
  }
  const found = verify('run.layout.yaml', checked, readEvidence([path], checked.resolved));
  rmSync(path, { recursive: true });
  return { grade: gradeOf(random, hung, found), hung, found };
}

function gradeOf({ run }: RandomRun, hung: boolean, { verdict, culprits }: Verification): Grade {
  const planted = new Set(run.faults.map(({ rank }) => rank));
  const wrong = culprits.filter(({ rank }) => !planted.has(rank));
  if (
    wrong.some(({ confidence }) => confidence >= CONFIDENT) ||
    verdict === 'wrong-groups' ||
    (verdict === 'healthy' && hung)
  ) {
    return 'confident-wrong';
  }
  if (culprits.length === 0) {
    return verdict === 'healthy' ? 'right' : 'unknown';
  }
  const best = Math.max(...culprits.map(({ confidence }) => confidence));
  const named = culprits.filter(({ confidence }) => confidence === best);
  if (named.every(({ rank }) => planted.has(rank))) {
    return 'right';
  }
  return culprits.some(({ rank }) => planted.has(rank)) ? 'among' : 'wrong';
}
