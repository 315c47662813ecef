import { type Command, Option } from 'commander';
import { jsonText, type ModuleSequence, sequencePlans, sequenceShares, terminalLine } from '../layout';
import { type InputFile, inputFiles, soundLayout } from './files';
import { complain, EXIT, exitWith, print, records } from './output';

type Format = 'text' | 'json' | 'jsonl';

/** Adds `sequence`: which tokens of a sequence each rank of a replica holds. */
export function addSequenceCommand(program: Command): void {
  program
    .command('sequence')
    .description('print which token positions each context- and tensor-parallel rank holds')
    .argument('<file...>', 'layout files; - is standard input')
    .addOption(new Option('--format <format>', 'form of the output').choices(['text', 'json', 'jsonl']).default('text'))
    .action((files: string[], { format }: { format: Format }) => print(output(files, format)));
}

function* output(files: readonly string[], format: Format): Iterable<string> {
  if (format !== 'text') {
    yield* records(format, inputFiles(files), fileJson);
    return;
  }
  for (const input of inputFiles(files)) {
    yield* fileText(input);
  }
}

/** The plans of a file's grids that describe a sequence; null, with the reason said, where there are none. */
function plansOf(input: InputFile): ModuleSequence[] | null {
  const layout = soundLayout(input);
  if (!layout) {
    return null;
  }
  const plans = sequencePlans(layout.facts);
  if (plans.length === 0) {
    complain(`${input.file}: no \`sequence\` with a \`seq_length\` that its ranks can share is written`);
    exitWith(EXIT.findings);
    return null;
  }
  return plans;
}

function* fileJson(input: InputFile): Iterable<string> {
  const plans = plansOf(input);
  yield `${jsonText({ file: input.file, ok: plans !== null }).slice(0, -1)},"ranks":[`;
  let first = true;
  for (const { module, plan } of plans ?? []) {
    for (const { cpRank, tpRank, embeddings, labels } of sequenceShares(plan)) {
      const rank = { ...(module !== null && { module }), cp_rank: cpRank, tp_rank: tpRank, embeddings, labels };
      yield `${first ? '' : ','}${jsonText(rank)}`;
      first = false;
    }
  }
  yield ']}';
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
