import { type Command, InvalidArgumentError } from 'commander';
import { fileErrorText, readRegularFile } from '../jobs';
import { check, countOf, grouped, jsonText, secondsText, terminalLine, terminalLines } from '../layout';
import {
  alternatives,
  configModel,
  estimateOfChecked,
  type FoundModel,
  gpuKind,
  layoutName,
  modelLayout,
  nearestGpus,
  type Plan,
  type PlannedLayout,
  type PlanWish,
  planLayouts,
  publicModel,
  type RunMark,
  runMark,
  scoreOf,
  withMeasuredLinks,
  withModel,
} from '../layout/cost';
import { memory } from '../picture/cost';
import { DIAGRAM_WIDTH, diagramSvg } from '../picture/svg';
import { scatterOf, tradeoffsHeadline } from '../picture/tradeoffs';
import { complainOfErrors, inputFiles } from './files';
import { measurementsOf } from './measurements';
import { type Format, formatOption, wholeNumber } from './options';
import { EXIT, fail, print, records, rounded } from './output';
import type { OutputItem } from './outputSchemas';
import { saveFile } from './save';
import { table } from './table';

interface Options {
  readonly format: Format;
  readonly top: number;
  readonly show?: number;
  readonly gpus?: readonly number[];
  readonly gpu?: readonly string[];
  readonly model?: string;
  readonly seqLength?: number;
  readonly globalBatchSize?: number;
  readonly risk?: boolean;
  readonly measured?: string;
  readonly bandwidths?: string;
  readonly plot?: string;
}

const HELP = `
Exit status: 0 listed, 1 no layout fits or the file has errors, 2 a file or option cannot be used.

Examples:
  parallelism-layout plan train.layout.yaml
  parallelism-layout plan train.layout.yaml --plot plan.svg
  parallelism-layout plan --model Qwen/Qwen3-32B --gpus 64,128 --gpu H100`;

/** Adds `plan`: the layouts of a model that fit a machine, ranked. */
export function addPlanCommand(program: Command): void {
  program
    .command('plan')
    .description(
      'list the layouts of a model that fit the GPUs, those as quick as one another in groups, the simplest first',
    )
    .argument('[file]', 'a layout file with cluster.gpu; its degrees do not matter; - is standard input')
    .addOption(formatOption('text', 'json', 'jsonl'))
    .option('--top <n>', 'how many layouts are listed', wholeNumber(1, 1000), 10)
    .option('--show <n>', 'print the n-th layout as a file instead', wholeNumber(1, 1000))
    .option('--gpus <n,...>', "numbers of GPUs in place of the file's, such as 64,128,256", numbers)
    .option('--gpu <name,...>', "kinds of GPU in place of the file's, such as H100,B200", gpuNames)
    .option('--model <name>', "a public model or a config.json in place of the file's, such as Qwen/Qwen3-32B")
    .option('--seq-length <n>', 'tokens in a sequence, without a file', wholeNumber(1, 2 ** 31))
    .option('--global-batch-size <n>', 'sequences in a step, without a file', wholeNumber(1, 2 ** 31))
    .option('--risk', 'also layouts that may need more memory than there is, by the upper end of their range')
    .option('--measured <log>', 'the log of a run of the file: times are as much longer or shorter as it was')
    .option('--bandwidths <events>', 'what `smoke --format jsonl` printed: links are as fast as it measured')
    .option('--plot <svg>', 'also draw all layouts that fit, memory against step time, into this file')
    .addHelpText('after', HELP)
    .action((file: string | undefined, options: Options) => print(output(file, options)));
}

const words = (text: string): readonly string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean);

/** Kinds of GPU of the table. */
function gpuNames(text: string): readonly string[] {
  const names = words(text);
  const unknown = names.find((name) => !gpuKind(name));
  if (unknown !== undefined) {
    throw new InvalidArgumentError(
      `The table has no ${unknown}; the nearest are ${nearestGpus(unknown).join(', ')}. 'explain gpu' lists it.`,
    );
  }
  return names;
}

const numbers = (text: string): readonly number[] => words(text).map(wholeNumber(1, 1_000_000));

function* output(file: string | undefined, options: Options): Iterable<string> {
  const model = options.model === undefined ? null : modelOf(options.model);
  const problem = model && 'reason' in model ? model.reason : plotProblem(options);
  if (problem !== null || (model && 'reason' in model)) {
    fail(problem ?? '');
  } else if (file === undefined) {
    yield* planWithoutFile(model, options);
  } else {
    for (const input of inputFiles([file])) {
      if ('checked' in input && !input.checked.facts) {
        complainOfErrors(file, input.checked);
      } else if ('checked' in input) {
        const { text } = input.checked;
        const wanted = model ? withModel(text, model.facts) : text;
        const ready = wanted === null ? null : measuredText(wanted, options);
        if (ready) {
          const plan = planLayouts(ready.text, { ...wishOf(options), ...ready.wish });
          yield* planned(file, plan, options);
          savePlot({ name: file, text: ready.text, run: ready.run }, plan, options);
        }
      }
    }
  }
}

/** The file with measured bandwidths, and by how much its run was slower than the estimate; null where a file cannot be used. */
function measuredText(
  text: string,
  options: Options,
): { readonly text: string; readonly wish: Pick<PlanWish, 'timeFactor'>; readonly run: RunMark | null } | null {
  const found = measurementsOf(options);
  if (!found) {
    return null;
  }
  const { run, groups } = found;
  const linked = (groups && withMeasuredLinks(text, groups)) || text;
  const estimate = run ? estimateOfChecked(check(linked)) : null;
  const mark = run && estimate ? runMark(run, estimate) : null;
  const factor = mark?.timeFactor ?? null;
  if (run && factor === null) {
    return fail('the run cannot be held against the file: it has errors, or the log no step time');
  }
  return { text: linked, wish: factor === null ? {} : { timeFactor: factor }, run: mark };
}

/** A public model, or the model of a file that ends in `.json`. */
function modelOf(name: string): FoundModel {
  if (!name.endsWith('.json')) {
    return publicModel(name);
  }
  try {
    return configModel(readRegularFile(name, MAX_CONFIG_BYTES).toString('utf8'), name);
  } catch (error) {
    return { reason: `${name}: ${fileErrorText(error)}` };
  }
}

/** The largest `config.json` that is read. Bytes. */
const MAX_CONFIG_BYTES = 1024 * 1024;

/** What a plan without a file takes where the command line does not say it. */
const USUAL = { seqLength: 4096, globalBatchSize: 512 };

function* planWithoutFile(model: Exclude<FoundModel, { reason: string }> | null, options: Options): Iterable<string> {
  const { gpus = [], gpu = [] } = options;
  const [count, kind] = [gpus[0], gpu[0]];
  if (!model || count === undefined || kind === undefined) {
    fail('name a layout file, or --model, --gpus and --gpu');
    return;
  }
  const { seqLength = USUAL.seqLength, globalBatchSize = USUAL.globalBatchSize } = options;
  const text = modelLayout(model.facts, { gpu: kind, gpus: count, seqLength, globalBatchSize });
  if (options.format === 'text' && options.show === undefined) {
    yield `${terminalLine(model.source)}: ${grouped(seqLength)} tokens a sequence (--seq-length), ${grouped(globalBatchSize)} sequences a step (--global-batch-size)\n`;
  }
  const name = options.model ?? model.source;
  const plan = { ...planLayouts(text, wishOf(options)), ...{ present: null } };
  yield* planned(name, plan, options);
  savePlot({ name, text: null, run: null }, plan, options);
}

/** Why there can be no plot; null where there can be, or none is asked for. */
function plotProblem({ plot, gpus = [], gpu = [] }: Options): string | null {
  return plot !== undefined && (gpus.length > 1 || gpu.length > 1)
    ? '--plot draws the layouts of one machine; name one number of GPUs and one kind'
    : null;
}

/** What a plan is of. */
interface Planned {
  /** The file or the model. */
  readonly name: string;
  /** The layout itself; null where the plan is of a model alone. */
  readonly text: string | null;
  readonly run: RunMark | null;
}

/** Writes the picture of all layouts on the machine of the plan, where it is asked for. */
function savePlot({ name, text, run }: Planned, plan: Plan, { plot, gpus, gpu }: Options): void {
  const [first] = plan.ok ? plan.layouts : [];
  // on other GPUs than its own, the layout is not one of those that are drawn
  const own = gpus || gpu ? null : text;
  const machine = own ?? first?.text;
  if (plot === undefined || machine === undefined) {
    return;
  }
  const weighed = {
    now: own === null ? null : scoreOf(check(own)),
    alternatives: alternatives(machine),
    base: null,
    change: null,
    run,
  };
  const sub = first ? `${countOf(first.gpus, 'GPU')} of the kind ${first.gpu}` : '';
  const headline = tradeoffsHeadline(weighed, sub);
  saveFile(plot, [diagramSvg({ name, headline, diagram: scatterOf(weighed, DIAGRAM_WIDTH) })]);
}

const wishOf = ({ top, show = 0, gpus, gpu, risk }: Options): PlanWish => ({
  wanted: Math.max(top, show),
  ...(gpus && { gpus }),
  ...(gpu && { gpu }),
  ...(risk && { risk }),
});

function* planned(file: string, plan: Plan, { format, show, risk }: Options): Iterable<string> {
  const layouts = plan.ok ? plan.layouts : [];
  if (!plan.ok || layouts.length === 0) {
    fail(`${file}: ${plan.ok ? nothingFits(plan, risk) : `no plan: ${plan.reason}`}`, EXIT.findings);
  }
  if (show !== undefined && layouts.length > 0) {
    yield* shown(file, layouts, show);
  } else if (format !== 'text') {
    const present = plan.ok && plan.present ? [plan.present] : [];
    yield* records(format, [...layouts, ...present], (layout) => [jsonText(plannedJson(layout))]);
  } else if (plan.ok && layouts.length > 0) {
    yield* tableOf(file, plan);
  }
}

function nothingFits({ tried, leastGpus }: Extract<Plan, { ok: true }>, risk = false): string {
  const more = leastGpus === null ? 'use more GPUs, or larger ones' : `on ${grouped(leastGpus)} GPUs some do`;
  return `none of ${tried} layouts fits; ${more}${risk ? '' : ', and --risk lists those that may fit'}`;
}

function* tableOf(file: string, plan: Extract<Plan, { ok: true }>): Iterable<string> {
  yield `${terminalLine(file)}: ${grouped(plan.fitting)} layouts fit, of each grid the quickest (${grouped(plan.tried)} tried)\n`;
  const present = plan.present ? [['now', ...cells(plan.present)]] : [];
  yield* table([HEAD, ...plan.layouts.map((layout, i) => [String(i + 1), ...cells(layout)]), ...present]);
  const least = leastOf(plan.layouts);
  yield least === null ? '' : `  ${least}\n`;
  yield '  Layouts of one group are as quick as one another, by the error of the estimate. --show 1 prints the first as a file.\n';
}

/** How many GPUs are needed at the least, where several numbers are compared. */
function leastOf(layouts: readonly PlannedLayout[]): string | null {
  const counts = [...new Set(layouts.map(({ gpus }) => gpus))];
  const least = Math.min(...counts);
  return counts.length > 1 ? `The least of these numbers of GPUs on which it fits is ${grouped(least)}.` : null;
}

function* shown(file: string, layouts: readonly PlannedLayout[], place: number): Iterable<string> {
  const layout = layouts[place - 1];
  if (layout) {
    yield terminalLines(layout.text);
  } else {
    fail(`${file}: only ${layouts.length} layouts are listed`);
  }
}

const HEAD = ['', 'group', 'step', '90 % within', 'memory', 'up to', 'GPUs', 'GPU', 'layout', 'why', 'needs'];

function cells(layout: PlannedLayout): string[] {
  return [
    layout.group === 0 ? '' : String(layout.group),
    secondsText(layout.seconds),
    layout.secondsInterval.map(secondsText).join(' to '),
    memory(layout.totalBytes),
    memory(layout.totalInterval[1]),
    grouped(layout.gpus),
    terminalLine(layout.gpu),
    layoutName(layout),
    layout.why,
    layout.needs.join(', '),
  ];
}

/** A planned layout as the JSON outputs have it. */
export function plannedJson(layout: PlannedLayout): OutputItem<'plan'> {
  const { tp, cp, pp, dp, ep, exptTp } = layout.degrees;
  return {
    gpus: layout.gpus,
    gpu: layout.gpu,
    degrees: { tp, cp, pp, vpp: layout.vpp, dp, ep, expt_tp: exptTp },
    micro_batch_size: layout.micro,
    microbatches: layout.microbatches,
    recompute: layout.recompute,
    step_time_s: layout.seconds,
    step_time_interval: layout.secondsInterval,
    tokens_per_second_per_gpu: layout.tokensPerSecondPerGpu,
    total_bytes: Math.round(layout.totalBytes),
    total_interval: rounded(layout.totalInterval),
    group: layout.group,
    why: layout.why,
    needs: layout.needs,
    is_present: layout.isPresent,
    layout: layout.text,
  };
}
