import type { Command } from 'commander';
import {
  hasErrors,
  isPacked,
  type NtpShape,
  packedFamilies,
  type ResolvedNtp,
  reducedSlices,
  replacementGroups,
  reshardSplits,
  spareRanks,
  syncConflicts,
  terminalLine,
} from '../layout';
import { complainOfErrors, type InputFile, outputOfFiles } from './files';
import { type Format, layoutFilesCommand, wholeNumber } from './options';
import { EXIT, fail, joined, print, refusesToList } from './output';
import type { OutputItem } from './outputSchemas';

interface Options {
  readonly format: Format;
  readonly numShards?: number;
  readonly partitionSize?: number;
}

const HELP = `
Exit status: 0 listed, 1 the layout has errors or no ntp, 2 a file or option cannot be used.

Examples:
  parallelism-layout ntp train.layout.yaml
  parallelism-layout ntp train.layout.yaml --num-shards 32 --partition-size 512`;

/** Adds `ntp`: what nonuniform TP changes in a layout. */
export function addNtpCommand(program: Command): void {
  layoutFilesCommand(
    program,
    'ntp',
    'list what nonuniform TP changes: active slots, spares, replacement groups, reshard splits',
  )
    .addHelpText('after', HELP)
    .option('--num-shards <n>', 'units of a parameter, such as heads: print its splits too', wholeNumber(1))
    .option('--partition-size <m>', 'elements of its partition dimension on one rank', wholeNumber(1))
    .action((files: string[], options: Options) => {
      if ((options.numShards === undefined) !== (options.partitionSize === undefined)) {
        fail('--num-shards needs --partition-size, and the other way round');
        return undefined;
      }
      return print(
        outputOfFiles(
          files,
          options.format,
          (input) => reportOf(input, options) ?? { file: input.file, ok: false, ...NOTHING },
          (input) => textOf(reportOf(input, options)),
        ),
      );
    });
}

/** The record of one file in JSON; what a large world has millions of is made one by one. */
type NtpReport = Omit<OutputItem<'ntp'>, 'active' | 'groups'> & {
  readonly active: Iterable<OutputItem<'ntp'>['active'][number]>;
  readonly groups: Iterable<OutputItem<'ntp'>['groups'][number]>;
};

/** What nonuniform TP changes where there is none. */
const NOTHING = { tp_spares: 0, active: [], spares: [], groups: [], dp_sync_conflicts: [] };

/** What the command prints of one file; null, with the reason on standard error, where it has no `ntp` that can be evaluated. */
function reportOf(input: InputFile, options: Options): NtpReport | null {
  if (!('checked' in input)) {
    return null;
  }
  const { file, checked } = input;
  const ntp = checked.resolved?.ntp;
  const degrees = checked.facts?.modules[0]?.degrees;
  const dp = checked.facts?.modules[0]?.dp;
  if (checked.facts?.root.ntp.written === false) {
    fail(
      `${file}: the file has no ntp. Write 'ntp: {tp_spares: 1, num_reduced_tp_dp_ranks: 1}' to leave out one slot of the first replica; 'parallelism-layout explain ntp' says more`,
      EXIT.findings,
    );
    return null;
  }
  if (!ntp || !degrees || dp === undefined || checked.facts?.heterogeneous) {
    complainOfErrors(file, checked);
    return null;
  }
  if (refusesToList(file, ntp.tpBase * degrees.cp * dp)) {
    return null;
  }
  // the output lists the conflicts that the errors are about
  const ok = !hasErrors(checked);
  if (!ok) {
    complainOfErrors(file, checked);
  }
  const shape = { cp: degrees.cp, dp };
  return { file, ok, ...topologyOf(ntp, shape), ...splitsOf(file, ntp, options) };
}

function topologyOf(ntp: ResolvedNtp, shape: NtpShape): Omit<NtpReport, 'file' | 'ok'> {
  const packed = isPacked(ntp);
  return {
    tp_spares: ntp.tpSpares,
    active: activeSlices(ntp, shape),
    // with packed placement the spares are not launched, and no group has a member that leaves
    spares: packed ? [] : spareRanks(ntp, shape),
    groups: packed ? explicitGroups(ntp, shape) : replacementGroups(ntp, shape),
    dp_sync_conflicts: packed ? [] : syncConflicts(ntp, shape),
  };
}

/** A generator, because a world may have millions of slices. */
function* activeSlices(ntp: ResolvedNtp, shape: NtpShape): Iterable<OutputItem<'ntp'>['active'][number]> {
  for (const { dp, cp, active } of reducedSlices(ntp, shape)) {
    yield { dp, cp, pp: 0, local_ranks: active };
  }
}

/** A generator, because a world may have millions of groups. */
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
    fail(`${file}: ${numShards} shards cannot be shared by ${ntp.tpBase - ntp.tpSpares} active slots`, EXIT.findings);
    return { ok: false };
  }
  return { send_splits: splits.send, recv_splits: splits.recv };
}

function* textOf(report: NtpReport | null): Iterable<string> {
  if (!report) {
    return;
  }
  const { file, tp_spares, active, spares, groups, dp_sync_conflicts, send_splits } = report;
  yield `${terminalLine(file)}: ${tp_spares} spares a reduced slice, ${spares.length} ranks leave: [`;
  yield* joined(spares, ', ', (rank) => [String(rank)]);
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
