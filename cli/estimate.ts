import type { Command } from 'commander';
import { check, countOf, secondsText, terminalLine } from '../layout';
import {
  type Calibrated,
  calibratedBy,
  type Estimate,
  type EstimateResult,
  estimateOf,
  type FailureAnswer,
  failuresOf,
  type StageEstimate,
  TIME_KEYS,
  withMeasuredLinks,
} from '../layout/cost';
import { costHeadline, costOf, memory } from '../picture/cost';
import { traffic } from '../picture/flows';
import { type InputFile, outputOfFiles, soundLayout } from './files';
import { type Measurements, measurementsOf } from './measurements';
import { type Format, layoutFilesCommand, wholeNumber } from './options';
import { EXIT, fail, print, rounded } from './output';
import type { OutputItem } from './outputSchemas';
import { table } from './table';

interface Options {
  readonly format: Format;
  readonly failedGpus?: number;
  readonly measured?: string;
  readonly bandwidths?: string;
}

/** An estimate, and with `--failed-gpus` the answers to failures where they are known. */
interface Answer {
  readonly result: EstimateResult;
  /** Whether it fits, and what travels. */
  readonly headline: string;
  readonly failures: readonly FailureAnswer[] | null;
  /** How far a run of the layout lies from the estimate; null where no log was given. */
  readonly calibrated: Calibrated | null;
}

const HELP = `
Exit status: 0 estimated, 1 the layout has errors or says too little, 2 a file or option cannot be used.

Examples:
  parallelism-layout estimate train.layout.yaml
  parallelism-layout estimate train.layout.yaml --failed-gpus 2
  parallelism-layout estimate train.layout.yaml --measured slurm-42.out`;

/** Adds `estimate`: memory, traffic and step time of every file. */
export function addEstimateCommand(program: Command): void {
  layoutFilesCommand(program, 'estimate', 'estimate memory, traffic and step time, each with its uncertainty')
    .addHelpText('after', HELP)
    .option(
      '--failed-gpus <n>',
      'compare the answers to n failed GPUs: dropped replicas, nonuniform TP, spare nodes',
      wholeNumber(1, 9_999_999),
    )
    .option('--measured <log>', 'the log of a run of the layout: says how far the estimate is off')
    .option('--bandwidths <events>', 'what `smoke --format jsonl` printed: links are as fast as it measured')
    .action((files: string[], { format, failedGpus, ...paths }: Options) => {
      const measurements = measurementsOf(paths);
      return measurements
        ? print(
            outputOfFiles(
              files,
              format,
              (input) => jsonOf(input.file, answerOf(input, failedGpus, measurements)),
              (input) => textOf(input.file, answerOf(input, failedGpus, measurements), failedGpus),
            ),
          )
        : undefined;
    });
}

/** The estimate of a file; null, with the reason on standard error, where the layout has errors. */
function answerOf(given: InputFile, failedGpus: number | undefined, { run, groups }: Measurements): Answer | null {
  const text = groups && 'checked' in given ? withMeasuredLinks(given.checked.text, groups) : null;
  const input = text === null ? given : { file: given.file, checked: check(text) };
  const layout = soundLayout(input);
  if (!layout) {
    return null;
  }
  const result = estimateOf(layout.facts);
  if (!result.ok) {
    fail(`${input.file}: no estimate: ${result.reason}`, EXIT.findings);
  }
  return {
    result,
    headline: costHeadline(layout.resolved, costOf(layout.facts)).title,
    failures: failedGpus === undefined ? null : failuresOf(layout.facts, failedGpus),
    calibrated: run && result.ok ? calibratedBy(run, result.estimate) : null,
  };
}

function jsonOf(file: string, answer: Answer | null): OutputItem<'estimate'> {
  if (!answer) {
    return { file, ok: false, missing: [] };
  }
  const { result, failures, calibrated } = answer;
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
    ...(failures && {
      failures: failures.map(({ answer, computeKept, idleGpus, gpuHoursADay }) => ({
        answer,
        compute_kept: computeKept,
        idle_gpus: idleGpus,
        gpu_hours_a_day: gpuHoursADay,
      })),
    }),
    ...(calibrated && {
      measured: {
        step_time_s: calibrated.measuredSeconds,
        peak_bytes: calibrated.measuredPeakBytes,
        time_over_estimate: calibrated.time,
        memory_over_estimate: calibrated.memory,
      },
    }),
  };
}

function stageJson(stage: StageEstimate) {
  return {
    ...moduleOf(stage.module),
    stage: stage.stage,
    states_bytes: Math.round(stage.statesBytes),
    activations_bytes: Math.round(stage.activationsBytes),
    communicators_bytes: Math.round(stage.communicatorsBytes),
    peak_bytes: Math.round(stage.peakBytes),
    interval: rounded(stage.interval),
    total_bytes: Math.round(stage.totalBytes),
    total_interval: rounded(stage.totalInterval),
  };
}

const moduleOf = (module: string | null): { module?: string } => (module === null ? {} : { module });

function* textOf(file: string, answer: Answer | null, failedGpus = 0): Iterable<string> {
  if (!answer?.result.ok) {
    return;
  }
  const { failures, calibrated, headline } = answer;
  const { estimate } = answer.result;
  yield `${terminalLine(file)}: ${terminalLine(headline)}\n`;
  yield* table([
    ['stage', 'states', 'activations', 'communicators', 'needs', '90 % within'],
    ...estimate.perStage.map((stage) => [
      stage.module === null ? String(stage.stage) : terminalLine(`${stage.module} ${stage.stage}`),
      memory(stage.statesBytes),
      memory(stage.activationsBytes),
      memory(stage.communicatorsBytes),
      memory(stage.totalBytes),
      stage.totalInterval.map(memory).join(' to '),
    ]),
  ]);
  yield* table([
    ['group', 'carries', 'collective', 'bytes a step', 'times a step', 'over'],
    ...estimate.traffic.map(({ module, group, carries, collective, bytesPerStep, timesPerStep, tier }) => [
      module === null ? group : terminalLine(`${module} ${group}`),
      carries,
      collective,
      traffic(bytesPerStep),
      String(timesPerStep),
      tier === 'nvlink' ? 'NVLink' : 'network',
    ]),
  ]);
  yield* failures ? failureTable(failures, failedGpus) : [];
  yield* summary(estimate);
  yield* calibrated ? measuredLines(calibrated) : [];
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
    yield `  step time ${secondsText(stepTimeS.median)} (90 % within ${secondsText(low)} to ${secondsText(high)})\n`;
  }
  const untimed = missing.filter((key) => TIME_KEYS.includes(key));
  if (pipeline && !stepTimeS) {
    yield `  no step time without ${untimed.join(' and ')}\n`;
  }
  if (missing.length > 0) {
    yield `  these keys would narrow it: ${missing.join(', ')}\n`;
  }
  yield `  assumed: ${assumed.join('; ')}\n`;
}

/** What a run says of the estimate, in one line for time and one for memory. */
function* measuredLines({ time, memory: share, measuredSeconds, measuredPeakBytes }: Calibrated): Iterable<string> {
  if (time !== null && measuredSeconds !== null) {
    yield `  measured: ${secondsText(measuredSeconds)} a step, ${time.toFixed(2)} of the estimate\n`;
  }
  if (share !== null && measuredPeakBytes !== null) {
    yield `  measured: ${memory(measuredPeakBytes)} at the peak, ${share.toFixed(2)} of the estimate\n`;
  }
}
