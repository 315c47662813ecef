import { type Command, Option } from 'commander';
import { type Checked, hasErrors, type ResolvedLayout } from '../layout';
import {
  EXPORT_TARGETS,
  type ExportTarget,
  exportLayout,
  isRecordedTarget,
  RECORDED_TARGETS,
  recorded,
} from '../layout/launch';
import { drawingOf, USUAL_CHOICE } from '../picture/drawing';
import { failedRanks } from '../picture/roles';
import { svgOf } from '../picture/svg';
import { complainOfErrors, type InputFile, inputFiles, soundLayout } from './files';
import { groupsJson } from './groups';
import { complain, EXIT, exitWith, print } from './output';

/** Forms that need the layout's groups or picture rather than its keys. */
const DRAWN_TARGETS = ['groups-json', 'mermaid', 'svg'] as const;

type Target = ExportTarget | (typeof DRAWN_TARGETS)[number];

/** Adds `export`: a layout becomes the flags, recipe or launcher lines that run it. */
export function addExportCommand(program: Command): void {
  program
    .command('export')
    .description('write a layout in the form that a framework, launcher or document takes')
    .argument('<file>', 'a layout file; - is standard input')
    .addOption(
      new Option('--to <form>', 'what is written').choices([...EXPORT_TARGETS, ...DRAWN_TARGETS]).makeOptionMandatory(),
    )
    .option(
      '--record',
      `switch on what verify reads of a run, where launch lines are written: ${RECORDED_TARGETS.join(', ')}`,
    )
    .action((file: string, { to, record = false }: { to: Target; record?: boolean }) => {
      if (record && !isRecordedTarget(to)) {
        complain(`${to} starts no ranks: --record goes with ${RECORDED_TARGETS.join(', ')}`);
        exitWith(EXIT.unusable);
        return undefined;
      }
      return print(output(file, to, record));
    });
}

function* output(file: string, target: Target, record: boolean): Iterable<string> {
  for (const input of inputFiles([file])) {
    if (!('checked' in input)) {
      continue;
    }
    if (target === 'groups-json') {
      yield* groupsJson(input);
      yield '\n';
    } else if (target === 'mermaid' || target === 'svg') {
      yield* drawn(input, target);
    } else {
      yield* written(file, input.checked, target, record);
    }
  }
}

function* written(file: string, checked: Checked, target: ExportTarget, record: boolean): Iterable<string> {
  try {
    const plain = exportLayout(checked.text, target);
    const { text, left } = record ? recorded(plain) : plain;
    if (hasErrors(checked)) {
      complainOfErrors(file, EXIT.clean);
    }
    if (left.length > 0) {
      complain(`${file}: ${target} has no place for ${left.join(', ')}`);
    }
    yield text;
  } catch (error) {
    complain(`${file}: ${error instanceof Error ? error.message : String(error)}`);
    exitWith(EXIT.unusable);
  }
}

function* drawn(input: InputFile, target: 'mermaid' | 'svg'): Iterable<string> {
  const layout = soundLayout(input)?.resolved;
  if (!layout) {
    return;
  }
  if (target === 'mermaid') {
    yield mermaid(layout);
  } else {
    const drawing = drawingOf(layout, 'physical', USUAL_CHOICE);
    yield svgOf({ ...drawing, layout, name: layout.name ?? '', failed: failedRanks(layout) });
  }
}

/** More pipeline stages than a diagram shows one by one. */
const MAX_STAGES = 32;

/** A Mermaid flowchart: the pipeline stages of each module, with the ranks that each has. */
function mermaid({ modules }: ResolvedLayout): string {
  const lines = modules.flatMap(({ name, numRanks, dense }, module) => {
    const [tp = 1, cp = 1, dp = 1, pp = 1] = ['tp', 'cp', 'dp', 'pp'].map(
      (dim) => dense.find((one) => one.name === dim)?.size,
    );
    const stages = Array.from({ length: Math.min(pp, MAX_STAGES) }, (_, stage) => `m${module}s${stage}`);
    const label = (stage: number) => `stage ${stage}: ${numRanks / pp} ranks (tp ${tp}, cp ${cp}, dp ${dp})`;
    return [
      `  subgraph m${module}["${escaped(name ?? 'job')}"]`,
      ...stages.map((id, stage) => `    ${id}["${label(stage)}"]`),
      ...(stages.length > 1 ? [`    ${stages.join(' --> ')}`] : []),
      '  end',
    ];
  });
  return `flowchart LR\n${lines.join('\n')}\n`;
}

/** A text as Mermaid shows it in quotes. */
function escaped(text: string): string {
  return text.replace(/[^\w .-]/gu, (character) => `#${character.codePointAt(0)};`);
}
