import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  hasErrors,
  isPacked,
  type NtpShape,
  packedFamilies,
  type ReshardSplits,
  type ResolvedNtp,
  reducedSlices,
  replacementGroups,
  reshardSplits,
  spareRanks,
  syncConflicts,
} from '../layout';
import { type InputFile, inputFiles } from './files';
import { complain, EXIT, exitWith, print, refusesToList } from './output';

interface Options {
  readonly format: 'text' | 'jsonl';
  readonly numShards?: number;
  readonly partitionSize?: number;
}

/** Adds `ntp`: what nonuniform TP makes of a layout. */
export function addNtpCommand(program: Command): void {
  program
    .command('ntp')
    .description('print what nonuniform TP makes of a layout: active slots, spares, replacement groups, reshard splits')
    .argument('<file...>', 'layout files; - is standard input')
    .addOption(new Option('--format <format>', 'form of the output').choices(['text', 'jsonl']).default('text'))
    .option('--num-shards <n>', 'units of a parameter, such as heads: print its splits too', positive)
    .option('--partition-size <m>', 'elements of its partition dimension on one rank', positive)
    .action((files: string[], options: Options) => {
      if ((options.numShards === undefined) !== (options.partitionSize === undefined)) {
        complain('--num-shards and --partition-size go together');
        exitWith(EXIT.unusable);
        return undefined;
      }
      return print(output(files, options));
    });
}

function positive(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError('It must be a whole number from 1.');
  }
  return value;
}

/** What the command prints of one file. */
interface NtpReport {
  readonly file: string;
  readonly ok: boolean;
  readonly tp_spares: number;
  readonly active: readonly { dp: number; cp: number; pp: number; local_ranks: readonly number[] }[];
  readonly spares: readonly number[];
  readonly groups: readonly { name: string; ranks: readonly number[] }[];
  readonly dp_sync_conflicts: readonly object[];
  readonly send_splits?: ReshardSplits['send'];
  readonly recv_splits?: ReshardSplits['recv'];
}

function* output(files: readonly string[], options: Options): Iterable<string> {
  for (const input of inputFiles(files)) {
    const report = reportOf(input, options);
    yield options.format === 'jsonl' ? `${JSON.stringify(report)}\n` : textOf(report);
  }
}

function reportOf(input: InputFile, options: Options): NtpReport {
  const none: NtpReport = {
    file: input.file,
    ok: false,
    tp_spares: 0,
    active: [],
    spares: [],
    groups: [],
    dp_sync_conflicts: [],
  };
  if (!('checked' in input)) {
    return none;
  }
  const { file, checked } = input;
  const ntp = checked.resolved?.ntp;
  const degrees = checked.facts?.modules[0]?.degrees;
  const dp = checked.facts?.modules[0]?.dp;
  if (!ntp || !degrees || dp === undefined || checked.facts?.heterogeneous) {
    complain(
      `${file}: ${checked.resolved ? 'the file has no `ntp`' : 'the layout has errors; `parallelism-layout check` shows them'}`,
    );
    exitWith(EXIT.findings);
    return none;
  }
  if (refusesToList(file, ntp.tpBase * degrees.cp * dp)) {
    return none;
  }
  // what goes wrong is shown too: the conflicts are there to be seen
  const ok = !hasErrors(checked);
  if (!ok) {
    complain(`${file}: the layout has errors; \`parallelism-layout check\` shows them`);
    exitWith(EXIT.findings);
  }
  const shape = { cp: degrees.cp, dp };
  return { ...none, ok, ...topologyOf(ntp, shape), ...splitsOf(file, ntp, options) };
}

function topologyOf(ntp: ResolvedNtp, shape: NtpShape): Omit<NtpReport, 'file' | 'ok'> {
  const packed = isPacked(ntp);
  return {
    tp_spares: ntp.tpSpares,
    active: reducedSlices(ntp, shape).map(({ dp, cp, active }) => ({ dp, cp, pp: 0, local_ranks: active })),
    // packed, the spares are not launched, every group is explicit, and no group has a member that leaves
    spares: packed ? [] : spareRanks(ntp, shape),
    groups: packed ? explicitGroups(ntp, shape) : replacementGroups(ntp, shape),
    dp_sync_conflicts: packed ? [] : syncConflicts(ntp, shape),
  };
}

function explicitGroups(ntp: ResolvedNtp, shape: NtpShape): NtpReport['groups'] {
  return packedFamilies(ntp, shape).flatMap(({ name, count, ranks }) =>
    Array.from({ length: count }, (_, index) => ({ name, ranks: ranks(index) })),
  );
}

function splitsOf(file: string, ntp: ResolvedNtp, { numShards, partitionSize }: Options): Partial<NtpReport> {
  if (numShards === undefined || partitionSize === undefined) {
    return {};
  }
  const splits = reshardSplits(ntp.tpBase, ntp.tpSpares, numShards, partitionSize);
  if (!splits) {
    complain(`${file}: ${numShards} shards cannot be shared by ${ntp.tpBase - ntp.tpSpares} active slots`);
    exitWith(EXIT.findings);
    return { ok: false };
  }
  return { send_splits: splits.send, recv_splits: splits.recv };
}

function textOf({ file, tp_spares, active, spares, groups, dp_sync_conflicts, send_splits }: NtpReport): string {
  return [
    `${file}: ${tp_spares} spares a reduced slice, ${spares.length} ranks leave: [${spares.join(', ')}]`,
    ...active.map(({ dp, cp, local_ranks }) => `  dp ${dp} cp ${cp}: active slots [${local_ranks.join(', ')}]`),
    ...groups.map(({ name, ranks }) => `  ${name}: [${ranks.join(', ')}]`),
    `  ${dp_sync_conflicts.length} data-parallel groups would hang`,
    ...(send_splits ?? []).map((row, slot) => `  slot ${slot} sends [${row.join(', ')}]`),
    '',
  ].join('\n');
}
