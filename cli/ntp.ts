import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  hasErrors,
  isPacked,
  jsonText,
  type NtpShape,
  packedFamilies,
  type ReshardSplits,
  type ResolvedNtp,
  reducedSlices,
  replacementGroups,
  reshardSplits,
  spareRanks,
  syncConflicts,
  terminalLine,
} from '../layout';
import { complainOfErrors, type InputFile, inputFiles } from './files';
import { complain, EXIT, exitWith, print, records, refusesToList } from './output';

interface Options {
  readonly format: 'text' | 'json' | 'jsonl';
  readonly numShards?: number;
  readonly partitionSize?: number;
}

/** Adds `ntp`: what nonuniform TP makes of a layout. */
export function addNtpCommand(program: Command): void {
  program
    .command('ntp')
    .description('print what nonuniform TP makes of a layout: active slots, spares, replacement groups, reshard splits')
    .argument('<file...>', 'layout files; - is standard input')
    .addOption(new Option('--format <format>', 'form of the output').choices(['text', 'json', 'jsonl']).default('text'))
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

/** The local ranks of one slice that go on. */
interface ActiveSlice {
  readonly dp: number;
  readonly cp: number;
  readonly pp: number;
  readonly local_ranks: readonly number[];
}

/** What the command prints of one file. */
interface NtpReport extends NtpRecord {
  /** Whether the file has an `ntp` section with output. */
  readonly known: boolean;
}

/** The record of one file in JSON. */
interface NtpRecord {
  readonly file: string;
  readonly ok: boolean;
  readonly tp_spares: number;
  readonly active: Iterable<ActiveSlice>;
  readonly spares: readonly number[];
  readonly groups: Iterable<{ name: string; ranks: readonly number[] }>;
  readonly dp_sync_conflicts: readonly object[];
  readonly send_splits?: ReshardSplits['send'];
  readonly recv_splits?: ReshardSplits['recv'];
}

function* output(files: readonly string[], options: Options): Iterable<string> {
  if (options.format !== 'text') {
    yield* records(options.format, inputFiles(files), (input) => jsonOf(reportOf(input, options)));
    return;
  }
  for (const input of inputFiles(files)) {
    const report = reportOf(input, options);
    yield* report.known ? textOf(report) : [];
  }
}

function reportOf(input: InputFile, options: Options): NtpReport {
  const none: NtpReport = {
    known: false,
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
  if (checked.facts?.root.ntp.written === false) {
    complain(
      `${file}: the file has no \`ntp\`. Write \`ntp: {tp_spares: 1, num_reduced_tp_dp_ranks: 1}\` to leave out one slot of the first replica; \`parallelism-layout explain ntp\` says more`,
    );
    exitWith(EXIT.findings);
    return none;
  }
  if (!ntp || !degrees || dp === undefined || checked.facts?.heterogeneous) {
    complainOfErrors(file);
    return none;
  }
  if (refusesToList(file, ntp.tpBase * degrees.cp * dp)) {
    return none;
  }
  // what goes wrong is shown too: the conflicts are there to be seen
  const ok = !hasErrors(checked);
  if (!ok) {
    complainOfErrors(file);
  }
  const shape = { cp: degrees.cp, dp };
  return { ...none, known: true, ok, ...topologyOf(ntp, shape), ...splitsOf(file, ntp, options) };
}

function topologyOf(ntp: ResolvedNtp, shape: NtpShape): Omit<NtpReport, 'known' | 'file' | 'ok'> {
  const packed = isPacked(ntp);
  return {
    tp_spares: ntp.tpSpares,
    active: activeSlices(ntp, shape),
    // packed, the spares are not launched, every group is explicit, and no group has a member that leaves
    spares: packed ? [] : spareRanks(ntp, shape),
    groups: packed ? explicitGroups(ntp, shape) : replacementGroups(ntp, shape),
    dp_sync_conflicts: packed ? [] : syncConflicts(ntp, shape),
  };
}

/** One slice after another: a world may have millions. */
function* activeSlices(ntp: ResolvedNtp, shape: NtpShape): Iterable<ActiveSlice> {
  for (const { dp, cp, active } of reducedSlices(ntp, shape)) {
    yield { dp, cp, pp: 0, local_ranks: active };
  }
}

/** One group after another: a world may have millions. */
function* explicitGroups(ntp: ResolvedNtp, shape: NtpShape): Iterable<{ name: string; ranks: readonly number[] }> {
  for (const { name, count, ranks } of packedFamilies(ntp, shape)) {
    for (let index = 0; index < count; index++) {
      yield { name, ranks: ranks(index) };
    }
  }
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

function* textOf({
  file,
  tp_spares,
  active,
  spares,
  groups,
  dp_sync_conflicts,
  send_splits,
}: NtpReport): Iterable<string> {
  yield `${terminalLine(file)}: ${tp_spares} spares a reduced slice, ${spares.length} ranks leave: [`;
  yield* joined(spares, ', ', String);
  yield ']\n';
  for (const { dp, cp, local_ranks } of active) {
    yield `  dp ${dp} cp ${cp}: active slots [${local_ranks.join(', ')}]\n`;
  }
  for (const { name, ranks } of groups) {
    yield `  ${terminalLine(name)}: [${ranks.join(', ')}]\n`;
  }
  yield `  ${dp_sync_conflicts.length} data-parallel groups would hang\n`;
  for (const [slot, row] of (send_splits ?? []).entries()) {
    yield `  slot ${slot} sends [${row.join(', ')}]\n`;
  }
}

/** The report as one line of JSON, list by list. */
function* jsonOf({ known: _, ...report }: NtpReport): Iterable<string> {
  let separator = '{';
  for (const [key, value] of Object.entries(report)) {
    yield `${separator}${JSON.stringify(key)}:`;
    separator = ',';
    if (typeof value === 'object') {
      yield '[';
      yield* joined(value as Iterable<unknown>, ',', (one) => jsonText(one));
      yield ']';
    } else {
      yield jsonText(value);
    }
  }
  yield '}';
}

function* joined<T>(values: Iterable<T>, separator: string, text: (value: T) => string): Iterable<string> {
  let before = '';
  for (const value of values) {
    yield before + text(value);
    before = separator;
  }
}
