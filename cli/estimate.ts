import { type Command, Option } from 'commander';
import { jsonText, terminalLine } from '../layout';
import { type Estimate, type EstimateResult, estimateOf, type StageEstimate } from '../layout/cost';
import { type InputFile, inputFiles, soundLayout } from './files';
import { complain, EXIT, exitWith, print, records } from './output';
import { gigabytes, seconds, table } from './table';

type Format = 'text' | 'json' | 'jsonl';

/** Adds `estimate`: memory, traffic and step time of every file. */
export function addEstimateCommand(program: Command): void {
  program
    .command('estimate')
    .description('estimate memory, traffic and step time of layout files, and say how sure that is')
    .argument('<file...>', 'layout files; - is standard input')
    .addOption(new Option('--format <format>', 'form of the output').choices(['text', 'json', 'jsonl']).default('text'))
    .action((files: string[], { format }: { format: Format }) => print(output(files, format)));
}

function* output(files: readonly string[], format: Format): Iterable<string> {
  if (format !== 'text') {
    yield* records(format, inputFiles(files), (input) => [jsonText(jsonOf(input.file, resultOf(input)))]);
    return;
  }
  for (const input of inputFiles(files)) {
    const result = resultOf(input);
    yield* result ? textOf(input.file, result) : [];
  }
}

/** The estimate of a file; null, with the reason said, where it is no layout without errors. */
function resultOf(input: InputFile): EstimateResult | null {
  const layout = soundLayout(input);
  if (!layout) {
    return null;
  }
  const result = estimateOf(layout.facts, layout.resolved);
  if (!result.ok) {
    complain(`${input.file}: no estimate: ${result.reason}`);
    exitWith(EXIT.findings);
  }
  return result;
}

function jsonOf(file: string, result: EstimateResult | null): object {
  if (!result?.ok) {
    return { file, ok: false, missing: result?.missing ?? [] };
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

function* textOf(file: string, result: EstimateResult): Iterable<string> {
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
  yield* summary(estimate);
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
