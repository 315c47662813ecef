import type { Command } from 'commander';
import { type ModuleSequence, sequencePlans, sequenceShares, terminalLine } from '../layout';
import { type InputFile, outputOfFiles, soundLayout } from './files';
import { type Format, layoutFilesCommand } from './options';
import { EXIT, fail, print, type Streamed } from './output';
import type { OutputItem } from './outputSchemas';

const HELP = `
Exit status: 0 listed, 1 the layout has errors or no sequence, 2 a file cannot be used.

Examples:
  parallelism-layout sequence train.layout.yaml
  parallelism-layout sequence train.layout.yaml --format json`;

/** Adds `sequence`: which tokens of a sequence each rank of a replica holds. */
export function addSequenceCommand(program: Command): void {
  layoutFilesCommand(program, 'sequence', 'list the token positions that each context- and tensor-parallel rank holds')
    .addHelpText('after', HELP)
    .action((files: string[], { format }: { format: Format }) => print(outputOfFiles(files, format, record, fileText)));
}

/** The sequence plans of a file; null, with the reason on standard error, where there are none. */
function plansOf(input: InputFile): ModuleSequence[] | null {
  const layout = soundLayout(input);
  if (!layout) {
    return null;
  }
  const plans = sequencePlans(layout.facts);
  if (plans.length === 0) {
    return fail(`${input.file}: no sequence to split. Write sequence.seq_length`, EXIT.findings);
  }
  return plans;
}

function record(input: InputFile): Streamed<OutputItem<'sequence'>> {
  const plans = plansOf(input);
  return { file: input.file, ok: plans !== null, ranks: ranksOf(plans ?? []) };
}

function* ranksOf(plans: readonly ModuleSequence[]): Iterable<OutputItem<'sequence'>['ranks'][number]> {
  for (const { module, plan } of plans) {
    for (const { cpRank, tpRank, embeddings, labels } of sequenceShares(plan)) {
      yield { ...(module !== null && { module }), cp_rank: cpRank, tp_rank: tpRank, embeddings, labels };
    }
  }
}

function* fileText(input: InputFile): Iterable<string> {
  for (const { module, plan } of plansOf(input) ?? []) {
    const of = module === null ? '' : ` of ${terminalLine(module)}`;
    yield `${terminalLine(input.file)}: ${plan.length} tokens${of} over cp ${plan.cp} x tp ${plan.tp}\n`;
    for (const { cpRank, tpRank, embeddings, labels } of sequenceShares(plan)) {
      const shown = (ranges: typeof labels) => ranges.map(([start, end]) => `[${start}, ${end})`).join(' ');
      yield `  cp ${cpRank} tp ${tpRank}  embeddings ${shown(embeddings)}  labels ${shown(labels)}\n`;
    }
  }
}
