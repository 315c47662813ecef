import { type Command, InvalidArgumentError, Option } from 'commander';
import { countOf, jsonText, terminalLine } from '../layout';
import {
  type Estimate,
  type EstimateResult,
  estimateOf,
  type FailureAnswer,
  failuresOf,
  type StageEstimate,
} from '../layout/cost';
import { type InputFile, inputFiles, soundLayout } from './files';
import { complain, EXIT, exitWith, print, records } from './output';
import { gigabytes, seconds, table } from './table';

interface Options {
  readonly format: 'text' | 'json' | 'jsonl';
  /** GPUs whose failure is weighed. */
  readonly failedGpus?: number;
}

/** An estimate with the answers to failures, where they are asked for and can be given. */
interface Answer {
  readonly result: EstimateResult;
  readonly failures: readonly FailureAnswer[] | null;
}

/** Adds `estimate`: memory, traffic and step time of every file. */
export function addEstimateCommand(program: Command): void {
  program
    .command('estimate')
    .description('estimate memory, traffic and step time of layout files, and say how sure that is')
    .argument('<file...>', 'layout files; - is standard input')
    .addOption(new Option('--format <format>', 'form of the output').choices(['text', 'json', 'jsonl']).default('text'))
    .option(
      '--failed-gpus <n>',
      'what the failure of as many GPUs costs: dropped replicas, nonuniform TP, spare nodes',
      gpus,
    )
    .action((files: string[], options: Options) => print(output(files, options)));
}

function gpus(text: string): number {
  const value = Number(text);
  if (!/^\d{1,7}$/.test(text) || value < 1) {
    throw new InvalidArgumentError('Write a whole number from 1 to 9999999.');
  }
  return value;
}

function* output(files: readonly string[], { format, failedGpus }: Options): Iterable<string> {
  if (format !== 'text') {
    yield* records(format, inputFiles(files), (input) => [jsonText(jsonOf(input.file, answerOf(input, failedGpus)))]);
    return;
  }
  for (const input of inputFiles(files)) {
    const answer = answerOf(input, failedGpus);
    yield* answer ? textOf(input.file, answer, failedGpus) : [];
  }
}

/** The estimate of a file; null, with the reason said, where it is no layout without errors. */
function answerOf(input: InputFile, failedGpus: number | undefined): Answer | null {
  const layout = soundLayout(input);
  if (!layout) {
    return null;
  }
  const result = estimateOf(layout.facts, layout.resolved);
  if (!result.ok) {
    complain(`${input.file}: no estimate: ${result.reason}`);
    exitWith(EXIT.findings);
  }
  return { result, failures: failedGpus === undefined ? null : failuresOf(layout.facts, failedGpus) };
}

function jsonOf(file: string, answer: Answer | null): object {
  if (!answer) {
    return { file, ok: false, missing: [] };
  }
  const { result, failures } = answer;
  if (!result.ok) {
    return { file, ok: false, missing: result.missing };
  }
  const { perStage, traffic, pipeline, stepTimeS, gpuMemoryBytes, missing, assumed } = result.estimate;
  return {
    file,
    ok: true,
    memory: { gpu_bytes: gpuMemoryBytes, per_stage: perStage.map(stageJson) },
    traffic: traffic.map(({ module, group, carries, collective, bytesPerStep, timesPerStep, tier }) => ({
      ...moduleOf(module),
      group,
      carries,
      collective,
      bytes_per_step: Math.round(bytesPerStep),
      times_per_step: timesPerStep,
      tier,
    })),
    pipeline,
    step_time_s: stepTimeS,
    missing,
    assumed,
    ...(failures && { failures: failures.map(failureJson) }),
  };
}

function stageJson(stage: StageEstimate): object {
  return {
    ...moduleOf(stage.module),
    stage: stage.stage,
    states_bytes: Math.round(stage.statesBytes),
    activations_bytes: Math.round(stage.activationsBytes),
    communicators_bytes: Math.round(stage.communicatorsBytes),
    peak_bytes: Math.round(stage.peakBytes),
    interval: stage.interval.map(Math.round),
  };
}

const moduleOf = (module: string | null) => (module === null ? {} : { module });

function failureJson({ answer, computeKept, idleGpus, gpuHoursADay }: FailureAnswer): object {
  return { answer, compute_kept: computeKept, idle_gpus: idleGpus, gpu_hours_a_day: gpuHoursADay };
}

function* textOf(file: string, { result, failures }: Answer, failedGpus = 0): Iterable<string> {
  if (!result.ok) {
    return;
  }
  const { estimate } = result;
  yield `${terminalLine(file)}\n`;
  yield* table([
    ['stage', 'states', 'activations', 'peak', '90 % within', 'communicators'],
    ...estimate.perStage.map((stage) => [
      stage.module === null ? String(stage.stage) : terminalLine(`${stage.module} ${stage.stage}`),
      gigabytes(stage.statesBytes),
      gigabytes(stage.activationsBytes),
      gigabytes(stage.peakBytes),
      stage.interval.map(gigabytes).join(' to '),
      gigabytes(stage.communicatorsBytes),
    ]),
  ]);
  yield* table([
    ['group', 'carries', 'collective', 'bytes a step', 'times a step', 'over'],
    ...estimate.traffic.map(({ module, group, carries, collective, bytesPerStep, timesPerStep, tier }) => [
      module === null ? group : terminalLine(`${module} ${group}`),
      carries,
      collective,
      gigabytes(bytesPerStep),
      String(timesPerStep),
      tier === 'nvlink' ? 'NVLink' : 'network',
    ]),
  ]);
  yield* failures ? failureTable(failures, failedGpus) : [];
  yield* summary(estimate);
}

const ANSWERS: Readonly<Record<FailureAnswer['answer'], string>> = {
  'drop-replicas': 'drop the replicas',
  'nonuniform-tp': 'nonuniform TP',
  'spare-nodes': 'spare nodes',
};

function* failureTable(failures: readonly FailureAnswer[], failed: number): Iterable<string> {
  yield* table([
    [`${countOf(failed, 'failed GPU')}, each in another replica`, 'compute kept', 'GPUs idle', 'GPU-hours a day lost'],
    ...failures.map(({ answer, computeKept, idleGpus, gpuHoursADay }) => [
      ANSWERS[answer],
      computeKept === null ? 'not possible' : `${(100 * computeKept).toFixed(1)} %`,
      computeKept === null ? '' : String(idleGpus),
      computeKept === null ? '' : String(gpuHoursADay),
    ]),
  ]);
}

function* summary({ pipeline, stepTimeS, missing, assumed }: Estimate): Iterable<string> {
  if (pipeline) {
    yield `  ${pipeline.microbatches} micro-batches a step; ${(100 * pipeline.bubble).toFixed(0)} % pipeline bubble\n`;
  }
  if (stepTimeS) {
    const [low, high] = stepTimeS.interval;
    yield `  step time ${seconds(stepTimeS.median)} (90 % within ${seconds(low)} to ${seconds(high)})\n`;
  }
  if (missing.length > 0) {
    yield `  these keys would narrow it: ${missing.join(', ')}\n`;
  }
  yield `  assumed: ${assumed.join('; ')}\n\n`;
}
