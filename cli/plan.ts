import type { Command } from 'commander';
import { jsonText, terminalLine } from '../layout';
import { type Plan, type PlannedLayout, planLayouts } from '../layout/cost';
import { inputFiles } from './files';
import { type Format, formatOption, wholeNumber } from './options';
import { complain, EXIT, exitWith, fail, print, records } from './output';
import { memory, seconds, table } from './table';

interface Options {
  readonly format: Format;
  readonly top: number;
  readonly show?: number;
}

/** Adds `plan`: the layouts of a model that fit a machine, ranked. */
export function addPlanCommand(program: Command): void {
  program
    .command('plan')
    .description('list the layouts of the same model, world and batch that fit the GPUs, fastest first')
    .argument('<file>', 'a layout file with cluster.gpu; its degrees do not matter; - is standard input')
    .addOption(formatOption('text', 'json', 'jsonl'))
    .option('--top <n>', 'how many layouts are listed', wholeNumber(1, 1000), 10)
    .option('--show <n>', 'print the n-th layout as a file instead', wholeNumber(1, 1000))
    .action((file: string, options: Options) => print(output(file, options)));
}

function* output(file: string, options: Options): Iterable<string> {
  for (const input of inputFiles([file])) {
    if ('checked' in input) {
      yield* planned(file, planLayouts(input.checked.text, Math.max(options.top, options.show ?? 0)), options);
    }
  }
}

function* planned(file: string, plan: Plan, { format, show }: Options): Iterable<string> {
  const layouts = plan.ok ? plan.layouts : [];
  if (!plan.ok || layouts.length === 0) {
    complain(
      plan.ok
        ? `${file}: none of ${plan.tried} layouts fits; use more GPUs, or larger ones`
        : `${file}: no plan: ${plan.reason}`,
    );
    exitWith(EXIT.findings);
  }
  if (show !== undefined && layouts.length > 0) {
    yield* shown(file, layouts, show);
  } else if (format !== 'text') {
    yield* records(format, layouts, (layout) => [jsonText(jsonOf(layout))]);
  } else if (plan.ok && layouts.length > 0) {
    yield `${terminalLine(file)}: ${plan.fitting} of ${plan.tried} layouts fit; the quickest of each grid, by estimate\n`;
    yield* table([HEAD, ...layouts.map(cells)]);
    yield '  --show 1 prints the first as a file\n';
  }
}

function* shown(file: string, layouts: readonly PlannedLayout[], place: number): Iterable<string> {
  const layout = layouts[place - 1];
  if (layout) {
    yield layout.text;
  } else {
    fail(`${file}: only ${layouts.length} layouts are listed`);
  }
}

const HEAD = [
  '',
  'step',
  'memory',
  'tp',
  'cp',
  'pp',
  'vpp',
  'dp',
  'ep',
  'expt_tp',
  'micro-batch',
  'micro-batches',
  'recompute',
];

function cells(layout: PlannedLayout, index: number): string[] {
  const { tp, cp, pp, dp, ep, exptTp } = layout.degrees;
  const sizes = [tp, cp, pp, layout.vpp, dp, ep, exptTp, layout.micro, layout.microbatches];
  return [
    String(index + 1),
    seconds(layout.seconds),
    memory(layout.totalBytes),
    ...sizes.map(String),
    layout.recompute,
  ];
}

function jsonOf({
  degrees,
  vpp,
  micro,
  recompute,
  seconds: time,
  totalBytes,
  totalInterval,
  microbatches,
  text,
}: PlannedLayout): object {
  const { tp, cp, pp, dp, ep, exptTp } = degrees;
  return {
    degrees: { tp, cp, pp, vpp, dp, ep, expt_tp: exptTp },
    micro_batch_size: micro,
    microbatches,
    recompute,
    step_time_s: time,
    total_bytes: Math.round(totalBytes),
    total_interval: totalInterval.map(Math.round),
    layout: text,
  };
}
