import {
  type CheckpointOutcome,
  type CheckpointPart,
  type CheckpointVerdict,
  markdownText,
  type PartVerdict,
  terminalLine,
} from '../layout';

/** The parts as a column of text names them. */
const NAMES: Readonly<Record<CheckpointPart, string>> = {
  model: 'model',
  optimizer: 'optimizer',
  rng: 'RNG state',
  rerun: 'rerun state',
  data: 'data order',
};

/** What becomes of a part, in a word or two. */
const OUTCOMES: Readonly<Record<CheckpointOutcome, string>> = {
  loads: 'loads',
  after: 'not as it is',
  lost: 'lost',
  unknown: 'not known',
};

/** What of a checkpoint loads, as text: a part a paragraph, with the framework's words and the ways out. */
export function* checkpointText(verdicts: readonly CheckpointVerdict[]): Iterable<string> {
  for (const verdict of verdicts) {
    yield `${terminalLine(titleOf(verdict))}\n`;
    for (const part of verdict.parts) {
      const [first, ...rest] = linesOf(part);
      yield `  ${NAMES[part.part].padEnd(WIDTH)}  ${terminalLine(first ?? '')}\n`;
      yield* rest.map((line) => `  ${' '.repeat(WIDTH)}  ${terminalLine(line)}\n`);
    }
  }
}

const WIDTH = Math.max(...Object.values(NAMES).map(({ length }) => length));

function titleOf({ module, format, sharding }: CheckpointVerdict): string {
  const states = sharding === null || format !== 'torch_dist' ? '' : `, optimizer states ${sharding}`;
  return `Checkpoint${module === null ? '' : ` of ${module}`} (${format}${states}):`;
}

function linesOf({ because, predicts, ways, proof, source }: PartVerdict): string[] {
  return [
    because,
    ...(predicts ? [`It says: "${predicts}"`] : []),
    ...ways.flatMap(({ what, command }) => [`- ${what}`, `    ${command}`]),
    ...(source === '' ? [] : [`Source: ${source}${proof === 'run' ? '; such pairs were saved and loaded' : ''}`]),
  ];
}

/** The same as a table of Markdown. */
export function* checkpointMarkdown(verdicts: readonly CheckpointVerdict[]): Iterable<string> {
  for (const verdict of verdicts) {
    yield `${markdownText(titleOf(verdict))}\n\n| part | | why | way out |\n| --- | --- | --- | --- |\n`;
    for (const { part, outcome, because, ways } of verdict.parts) {
      const out = ways.map(({ what, command }) => `${what} ${command}`).join(' ');
      const cells = [NAMES[part], OUTCOMES[outcome], because, out].map((text) => markdownText(text));
      yield `| ${cells.join(' | ')} |\n`;
    }
  }
}

/** The same as the field `checkpoint` of the JSON output. */
export function checkpointJson({ module, format, sharding, parts }: CheckpointVerdict) {
  return { module, format, optimizer_sharding: sharding, parts };
}
